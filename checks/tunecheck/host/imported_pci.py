"""The sysfs tree that `lspci -vvv` speaks of: paths from the bridges' bus numbers, a configuration space from what the
text shows of it. What it does not show becomes a reason, never a value."""

from __future__ import annotations

from collections.abc import Iterable

from ..formats.aer_status import status_bytes
from ..formats.lspci import LspciDevice
from ..formats.lspci_express import express_bytes
from ..formats.lspci_raw import complete_from_bytes
from ..formats.pci import acs, find_capability

__all__ = ["FULL", "RAW", "BusTree", "config", "has_no_link", "merge"]

FULL = "add: sudo lspci -vvv"
RAW = "add: sudo lspci -xxxx"

_EXTENDED_AT = 0x100
_AER, _ACS, _VENDOR = 0x01, 0x0D, 0x0B
#: They have no ACS that matters to peer traffic; their other registers do.
_ENDPOINTS = ("Endpoint", "Legacy Endpoint")
_NO_LINK = ("", "Root Complex Integrated Endpoint", "Root Complex Event Collector")


def merge(known: dict[str, LspciDevice], found: Iterable[LspciDevice]) -> str | None:
    """Add what one more text says. Returns a sentence where it speaks of another machine."""
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
        best, rest = (device, other) if _rank(device) > _rank(other) else (other, device)
        for name in ("vendor", "device", "class_code", "buses", "numa_node", "driver", "iommu_group", "port", "speed",
                     "width", "max_speed", "max_width"):
            if getattr(best, name) is None:
                setattr(best, name, getattr(rest, name))
        best.codes = {**rest.codes, **best.codes}
        best.slot |= rest.slot
        best.aer |= rest.aer
        best.driver_shown |= rest.driver_shown
        best.gone |= rest.gone
        best.lost = best.lost or rest.lost
        best.raw = max(best.raw, rest.raw, key=len)
        known[device.bdf] = best
    return None


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other


def _control(device: LspciDevice) -> int | None:
    if device.acs is not None:
        return device.acs.ctl
    found = acs(device.raw) if len(device.raw) >= 4096 and not device.gone else None
    return found.ctl if found is not None else None


def _rank(device: LspciDevice) -> tuple[bool, bool, bool, int]:
    whole = device.listed and not device.denied and not device.cut
    return device.acs is not None, whole and device.extended, whole, len(device.raw)


def has_no_link(device: LspciDevice) -> bool:
    """Whether the device is known to have no PCIe link of its own."""
    return device.listed and device.port in _NO_LINK


def config(device: LspciDevice) -> bytes | str:
    """The configuration space as far as it is known, or why its ACS capability cannot be told."""
    if device.gone:
        return b"\xff" * 4096
    if len(device.raw) >= 4096:
        return device.raw
    if device.acs is not None:
        return _built(device)
    if device.denied or 0 < len(device.raw) < 256:
        return f"not in the import (lspci ran without root); {FULL}"
    if device.acs_offset is not None:
        return f"not in the import (the ACS registers are not shown); {FULL}"
    if device.cut:
        return f"not in the import (the text ends inside this device); {FULL}"
    if device.listed and (device.port == "" or device.extended):
        return _built(device)
    if device.listed and device.port in _ENDPOINTS:
        return _built(device)[:256]
    if len(device.raw) >= 256 and find_capability(device.raw, 0x10) is None:
        return device.raw
    return f"not in the import (no extended capability is shown); {RAW}"


def _built(device: LspciDevice) -> bytes:
    express = device.port != ""
    data = bytearray(4096 if express else 256)
    for at, number in ((0, device.vendor), (2, device.device), (0x0A, device.class_code)):
        data[at:at + 2] = int(number or "0", 16).to_bytes(2, "little")
    data[6], data[0x0E] = (0x10 if express else 0), (1 if device.buses else 0)
    if device.buses:
        data[0x19], data[0x1A] = device.buses
    if express:
        links = (device.max_speed, device.max_width), (device.speed, device.width)
        at, content = express_bytes(device.codes, device.port or "", device.slot, links)
        data[0x34] = at
        data[at:at + len(content)] = content
        _extended(data, device)
    return bytes(data)


def _extended(data: bytearray, device: LspciDevice) -> None:
    """The list from 0x100 on: AER where the text lists it, and ACS with its registers."""
    found = device.acs
    at = found.offset if found and found.offset % 4 == 0 and _EXTENDED_AT < found.offset <= 4088 else 0
    if found and not at:
        at = _EXTENDED_AT if not device.aer else _EXTENDED_AT + 0x48
    if at != _EXTENDED_AT and (at or device.aer):
        # Some capability has to come first: where it is not AER, an empty vendor-specific one.
        first = _AER if device.aer else _VENDOR
        data[_EXTENDED_AT:_EXTENDED_AT + 4] = (first | 1 << 16 | at << 20).to_bytes(4, "little")
        if device.aer:
            shown = status_bytes(device.codes if not at or at >= _EXTENDED_AT + 0x14 else {})
            data[_EXTENDED_AT + 4:_EXTENDED_AT + 4 + len(shown)] = shown
    if found:
        data[at:at + 4] = (_ACS | 1 << 16).to_bytes(4, "little")
        data[at + 4:at + 8] = found.cap.to_bytes(2, "little") + found.ctl.to_bytes(2, "little")


class BusTree:
    """Who is above whom. A device whose way up is not whole has no place: half a listing must not look like a machine
    with more root ports."""

    def __init__(self, devices: dict[str, LspciDevice]) -> None:
        self._devices = devices
        self._above: dict[tuple[str, int], list[LspciDevice]] = {}
        self._blind = {_bus(device)[0]: device.bdf for device in devices.values()
                       if device.class_code == "0604" and device.buses is None}
        self._inside: set[tuple[str, int]] = set()
        self._headless: set[tuple[str, int]] = set()
        # Bus 0, device 0 is a host bridge, also where its first line cannot be read.
        # A list without details shows no bridge's bus numbers: it tells who is there, and not where.
        self._whole = any(device.listed or device.buses or device.raw for device in devices.values()) and any(
            device.class_code == "0600" or (device.bdf.endswith(":00:00.0") and device.class_code is None)
            for device in devices.values())
        for device in devices.values():
            domain, bus = _bus(device)
            if device.port in ("Upstream Port", "Downstream Port"):
                self._headless.add((domain, bus))
            if device.buses and device.buses[0]:        # 0: a bridge that nobody set up
                first, last = device.buses
                self._above.setdefault((domain, first), []).append(device)
                self._inside.update((domain, number) for number in range(first, last + 1))

    def path(self, bdf: str) -> tuple[str | None, str]:
        """The device's directory below /sys/devices; None with the reason where its place is not known."""
        domain, bus = _bus(self._devices[bdf])
        parts = [bdf]
        while True:
            parents = self._above.get((domain, bus), [])
            if len(parents) > 1 or len(parts) > 256 or any(parent.bdf in parts for parent in parents):
                return None, f"not derivable: bus {domain}:{bus:02x} has several bridges above it in this text"
            if not parents:
                why = self._not_a_root(domain, bus)
                return (None, why) if why else ("/".join(["/sys/devices", f"pci{domain}:{bus:02x}", *parts]), "")
            parts.insert(0, parents[0].bdf)
            bus = _bus(parents[0])[1]

    def _not_a_root(self, domain: str, bus: int) -> str:
        if not self._whole:
            return f"not in the import (no host bridge is listed, so these are only some devices); {FULL}"
        if (domain, bus) in self._headless or (domain, bus) in self._inside:
            return f"not in the import (the bridge above bus {domain}:{bus:02x} is not listed); {FULL}"
        if bus and domain in self._blind:
            return f"not in the import (the bus numbers of {self._blind[domain]} are not shown); {FULL}"
        return ""


def _bus(device: LspciDevice) -> tuple[str, int]:
    domain, bus, _ = device.bdf.split(":")
    return domain, int(bus, 16)
