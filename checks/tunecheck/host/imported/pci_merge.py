"""Makes one device of what several lspci texts show of it: of two values that change while a machine runs the worse
one. Texts that contradict each other in what stays are of two machines or boots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...parsers.pci.acs import acs
from ...parsers.pci.lspci import LspciDevice
from ...parsers.pci.lspci_raw import complete_from_bytes
from ...parsers.pci.pcie_cap import generation
from ...parsers.pci.worse_registers import codes_of, moved, with_codes, worse

__all__ = ["gone", "merge"]

_HOST_BRIDGE, _ACCELERATORS = "0600", ("0300", "0302", "1200")


def merge(known: dict[str, LspciDevice], found: Iterable[LspciDevice]) -> str | None:
    """Add what one more text says. Return a sentence where it speaks of another machine, else None."""
    for device in found:
        complete_from_bytes(device)
        other = known.get(device.bdf)
        if other is None:
            known[device.bdf] = device
            continue
        if _differ(device.vendor, other.vendor) or _differ(device.device, other.device):
            return (f"{device.bdf} is {other.vendor}:{other.device} in one text and {device.vendor}:{device.device} "
                    "in another")
        one, two = _control(device), _control(other)
        if one is not None and two is not None and one != two:
            return f"{device.bdf} has ACSCtl=0x{two:04x} in one text and 0x{one:04x} in another"
        for name, what in (("driver", "bound to"), ("numa_node", "of NUMA node"), ("iommu_group", "in IOMMU group")):
            first, second = getattr(other, name), getattr(device, name)
            if _differ(first, second):
                return f"{device.bdf} is {what} {first} in one text and {second} in another"
        if _differ(device.buses, other.buses) or _differ(device.port or None, other.port or None):
            return f"{device.bdf} is another port, or has other buses below it, in one text than in another"
        if moved(device.raw, other.raw):
            return f"{device.bdf} has its memory at other addresses in one text than in another"
        # A link that one of them shows slow was slow, and what one of them says that it can do, it can do.
        links = {"width": min(_known(device.width, other.width), default=None),
                 "max_width": max(_known(device.max_width, other.max_width), default=None),
                 "speed": min(_known(device.speed, other.speed), key=_rate, default=None),
                 "max_speed": max(_known(device.max_speed, other.max_speed), key=_rate, default=None)}
        best, rest = (device, other) if _rank(device) > _rank(other) else (other, device)
        for name in ("vendor", "device", "class_code", "buses", "numa_node", "driver", "iommu_group", "port"):
            if getattr(best, name) is None:
                setattr(best, name, getattr(rest, name))
        for name, value in links.items():
            setattr(best, name, value)
        best.codes = worse(worse(rest.codes, codes_of(rest.raw)), worse(best.codes, codes_of(best.raw)))
        best.slot |= rest.slot
        best.aer |= rest.aer
        best.express |= rest.express
        best.occupied |= rest.occupied
        best.bytes_only |= rest.bytes_only
        best.driver_shown |= rest.driver_shown
        best.all_ones |= rest.all_ones
        best.unread_header = best.unread_header or rest.unread_header
        best.raw = with_codes(max(best.raw, rest.raw, key=len), best.codes, generation(best.speed or ""), best.width)
        known[device.bdf] = best
    return None


def gone(given: Sequence[Mapping[str, LspciDevice]]) -> str | None:
    """Return a sentence where one of these texts of lspci has an accelerator and another, which is a whole list there,
    has none in its place: to keep it would hide that it was lost."""
    boards = {bdf for each in given for bdf, device in each.items() if device.class_code in _ACCELERATORS}
    for bdf in sorted(boards):
        for each in given:
            if bdf not in each and _looked(each, bdf):
                return (f"{bdf} is in one text of lspci, and another shows the port above it and what follows, "
                        f"but not {bdf}")
    return None


def _looked(text: Mapping[str, LspciDevice], bdf: str) -> bool:
    """Whether a text that does not have the device is a whole list there: with host bridges, the port above the device,
    and what follows it."""
    bus = int(bdf.split(":")[1], 16)
    return (any(device.class_code == _HOST_BRIDGE for device in text.values())
            and any(device.buses is not None and device.buses[0] == bus and name.split(":")[0] == bdf.split(":")[0]
                    for name, device in text.items())
            and any(name > bdf for name in text) and not any(name.rpartition(".")[0] == bdf.rpartition(".")[0]
                                                            for name in text))


def _known(*values: Any) -> list[Any]:
    return [value for value in values if value is not None]


def _rate(speed: str) -> float:
    try:
        return float(speed.split()[0])
    except (ValueError, IndexError):
        return 0.0


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def _control(device: LspciDevice) -> int | None:
    if device.acs is not None:
        return device.acs.ctl
    found = acs(device.raw) if len(device.raw) >= 4096 and not device.all_ones else None
    return found.ctl if found is not None else None


def _rank(device: LspciDevice) -> tuple[bool, bool, bool, int]:
    whole = device.listed and not device.denied and not device.cut
    return device.acs is not None, whole and device.extended, whole, len(device.raw)
