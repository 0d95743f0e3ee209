"""GPUs that the kernel found at boot, by its own lines about each PCI device:

    pci 0000:76:00.0: [10de:2bb5] type 00 class 0x030200 PCIe Legacy Endpoint

drivers/pci/probe.c, pci_setup_device(); newer kernels say behind it what kind of device it is."""

from __future__ import annotations

from dataclasses import field

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["Boards"]

#: NVIDIA's display and 3D controllers. The first function of the first device: a virtual function is none, and comes
#: and goes.
_BOARD = regex(r"pci ([0-9a-f]{4,8}:[0-9a-f]{2}:00\.0): \[10de:[0-9a-f]{4}\] type 00 class 0x030[02]00\b")
_MOST = 64


@dataclass
class Boards:
    """The addresses, each once, in the order of the log."""

    found: dict[str, None] = field(default_factory=dict)

    def feed(self, line: Line) -> None:
        """Keep the GPU that the line tells of, if it does."""
        board = _BOARD.match(line.text)
        if board is not None and len(self.found) < _MOST:
            self.found.setdefault(board[1])
