"""Accelerators of other makers than NVIDIA. tunecheck judges none of them: it names them, so that a report of their
machine does not say only that no GPU is there."""

from __future__ import annotations

from collections.abc import Collection

from ...host import Host
from ...util.at_first_use import dataclass
from ..file_text import text
from .devices import DEVICES, listed

__all__ = ["Other", "other_makers"]

_NVIDIA, _INTEL = "10de", "8086"
#: Makers of GPUs and accelerators, by the PCI vendor id (https://pci-ids.ucw.cz, 2026-11).
_MAKERS = {"1002": "AMD", "8086": "Intel", "1da3": "Habana (Intel Gaudi)", "17cb": "Qualcomm", "1e52": "Tenstorrent",
           "1ed5": "Moore Threads", "10ee": "Xilinx (AMD)", "1d0f": "Amazon", "1ae0": "Google"}
#: Boards that people run models on, from the same list.
_MODELS = {
    "1002:738c": "Instinct MI100", "1002:740c": "Instinct MI250", "1002:7408": "Instinct MI250X",
    "1002:740f": "Instinct MI210", "1002:74a0": "Instinct MI300A", "1002:74a1": "Instinct MI300X",
    "1002:74a2": "Instinct MI308X", "1002:74a5": "Instinct MI325X", "1002:75a0": "Instinct MI350X",
    "1002:75a3": "Instinct MI355X", "1002:744c": "Radeon RX 7900", "1002:7448": "Radeon Pro W7900",
    "1002:7551": "Radeon AI PRO R9700", "1da3:1000": "Goya", "1da3:1010": "Gaudi", "1da3:1020": "Gaudi2",
    "1da3:1060": "Gaudi3", "8086:0bd5": "Data Center GPU Max 1550", "8086:56c0": "Data Center GPU Flex 170",
    "8086:e20b": "Arc B580",
}
_PROCESSING = "12"
#: Display, 3D and other display controllers of makers that build GPUs. A server's own graphics chip is of none of them.
_DISPLAY, _BUILDERS = ("0300", "0302", "0380"), ("1002", "8086", "1ed5")
#: Where Intel's processors have what is part of them.
_OF_THE_CPU = ":00:"


@dataclass(frozen=True)
class Other:
    """An accelerator of another maker. ``maker`` and ``model`` are "" where its ids are not known."""

    bdf: str
    maker: str
    model: str

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.maker, self.model) if part)


def other_makers(host: Host, wanted: Collection[str]) -> tuple[Other, ...]:
    """Return the accelerators of other makers, in address order. What the spec calls an accelerator (``wanted``) is
    judged, so it is none of them."""
    found = (_other(host, name, wanted) for name in listed(host) or ())
    return tuple(each for each in found if each is not None)


def _other(host: Host, bdf: str, wanted: Collection[str]) -> Other | None:
    kind, vendor, number = ((text(host, f"{DEVICES}/{bdf}/{leaf}").value or "").lower().removeprefix("0x")
                            for leaf in ("class", "vendor", "device"))
    builds = vendor in _BUILDERS and kind[:4] in _DISPLAY
    own = vendor == _NVIDIA or (vendor == _INTEL and _OF_THE_CPU in bdf)
    if own or f"{vendor}:{number}" in wanted or not (builds or kind.startswith(_PROCESSING)):
        return None
    return Other(bdf, _MAKERS.get(vendor, ""), _MODELS.get(f"{vendor}:{number}", ""))
