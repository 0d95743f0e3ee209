"""Links that are narrower or slower than a device, as the kernel says it once when it finds the device:
__pcie_print_link_status() of drivers/pci/pci.c. Lines of the driver nvidia tell which devices are GPUs, and
those of the kernel that found a display or 3D controller of NVIDIA's."""

from __future__ import annotations

from dataclasses import field
from typing import Dict, Iterable, Set, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line
from .pcie_cap import generation

__all__ = ["Limited", "Limits"]

_BDF = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_LINK = r"([0-9.]{1,6} GT/s)(?: PCIe)? x(\d{1,2}) link"
_LIMITED = regex(rf"(\S{{1,32}}) ({_BDF}): [0-9.]{{1,9}} Gb/s available PCIe bandwidth, limited by {_LINK} at ({_BDF}) "
                 rf"\(capable of [0-9.]{{1,9}} Gb/s with {_LINK}\)")
_GPU = regex(rf"(?:nvidia ({_BDF}): |pci ({_BDF}): \[10de:[0-9a-f]{{4}}\] type 00 class 0x030[02])")
_MOST = 512


@dataclass(frozen=True)
class Limited:
    """A device whose way to the root has fewer lanes or a lower generation than itself, first at ``port``; ``gpu``: the
    log says that it is a GPU of NVIDIA's. Generations are 0 where the speed is none that is known."""

    bdf: str
    port: str
    width: int
    gen: int
    max_width: int
    max_gen: int
    when: str
    gpu: bool = False


@dataclass
class Limits:
    """Collects such lines of a log. The last one on a device counts."""

    _found: Dict[str, Limited] = field(default_factory=dict)
    _gpus: Set[str] = field(default_factory=set)

    def feed(self, line: Line) -> bool:
        """Take one message in. Return whether it was about the bandwidth of a device."""
        gpu = _GPU.match(line.text)
        if gpu and len(self._gpus) < _MOST:
            self._gpus.add(gpu[1] or gpu[2])
        found = _LIMITED.match(line.text)
        if found is None:
            return False
        bdf = found[2]
        if bdf in self._found or len(self._found) < _MOST:
            self._found[bdf] = Limited(bdf, found[5], int(found[4]), generation(found[3]) or 0, int(found[7]),
                                       generation(found[6]) or 0, line.when)
        return True

    def result(self, gpus: Iterable[str]) -> Tuple[Limited, ...]:
        """Return all, in the order of first appearance. ``gpus``: addresses without function that are GPUs as well."""
        known = self._gpus | {gpu + ".0" for gpu in gpus}
        return tuple(Limited(each.bdf, each.port, each.width, each.gen, each.max_width, each.max_gen, each.when,
                             each.bdf in known) for each in self._found.values())
