"""Makes the sysfs tree that `lspci -vvv` speaks of: paths from the bridges' bus numbers, a configuration space from
what the text shows of it. What it does not show becomes a reason, never a value."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.absence import Absence, Reason
from ...parsers.pci.acs import ACS_NOT_GIVEN, Acs
from ...parsers.pci.aer_status import status_bytes
from ...parsers.pci.lspci import LspciDevice
from ...parsers.pci.lspci_express import express_bytes
from ...parsers.pci.switch_chips import EMULATED

__all__ = ["FULL", "RAW", "BusTree", "config", "gaps", "has_no_link"]

FULL = "add: sudo lspci -nnvvv"
RAW = "add: sudo lspci -xxxx"

_EXTENDED_AT = 0x100
_AER, _ACS = 0x01, 0x0D
#: Of one function only: ACS has nothing to decide there (PCIe 6.12.1; pci_acs_enabled() in drivers/pci/pci.c).
_WITHOUT_ACS = "Upstream Port"
#: QEMU's pxb and pxb-pcie.
_EXPANDERS = ("1b36:0009", "1b36:000b")
#: Display controllers and processing accelerators: their classes.
_ACCELERATORS = ("0300", "0302", "1200")
_NO_LINK = ("", "Root Complex Integrated Endpoint", "Root Complex Event Collector")


def has_no_link(device: LspciDevice) -> bool:
    """Return whether the device is known to have no PCIe link of its own."""
    return device.listed and device.port in _NO_LINK


def config(device: LspciDevice) -> bytes | str:
    """Return the configuration space as far as it is known, or a text on why nothing of it is. Where its capabilities
    are shown, a part that is not is marked as not given (parsers.pci.config_space.NotGiven); ``gaps`` tells why."""
    if device.all_ones:
        return b"\xff" * 4096
    if len(device.raw) >= 4096 or (len(device.raw) >= 256 and device.acs is None and not device.listed):
        return device.raw
    if device.acs is None and (device.denied or 0 < len(device.raw) < 256):
        return f"not in the import (lspci ran without root); {FULL}"
    if device.acs is None and not (device.listed or device.codes):
        return f"not in the import (its capabilities are not shown); {FULL}"
    return _built(device)


def gaps(device: LspciDevice) -> Iterator[tuple[str, str]]:
    """Yield the parts of its configuration space that the text does not tell ("acs", "express", "aer"), and why. That
    it shows no capability proves nothing: a text that went through grep, or lost a line, looks the same. Bytes prove
    it."""
    if device.all_ones or len(device.raw) >= 4096:
        return
    ends = f"not in the import (the text ends inside this device); {FULL}"
    if device.port != "":
        beginning = "" if device.port else ": the line that begins them is missing"
        yield "express", ends if device.cut else (
            f"not in the import (its PCI Express registers are not given, or not all{beginning}); {FULL}")
        yield "aer", ends if device.cut else (
            f"not in the import (no AER registers are shown, and only its bytes prove that it has none); {RAW}"
            if device.port and not device.aer and device.codes and not device.denied else
            f"not in the import (its error registers are not shown); {FULL}")
    if device.acs is None:
        yield "acs", ends if device.cut else (
            f"not in the import (the ACS registers are not shown); {FULL}"
            if device.acs_offset is not None or device.acs_cap is not None else
            f"not in the import (no ACS capability is shown, which only its bytes prove); {RAW}" if device.extended else
            f"not in the import (no extended capability is shown); {RAW}")


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
        # Without the line that names the port its kind is not known.
        at, content = express_bytes(device.codes if device.port else {}, device.port or "", device.slot, links)
        data[0x34] = at
        data[at:at + len(content)] = content
        _extended(data, device)
    return bytes(data)


def _extended(data: bytearray, device: LspciDevice) -> None:
    """Write the list of capabilities from 0x100 on into ``data``: AER and ACS with what the text shows of their
    registers, else marked as not given."""
    found = device.acs
    if found is None and not (device.port == _WITHOUT_ACS and device.extended and not device.cut):
        found = Acs(0, ACS_NOT_GIVEN & 0xFFFF, ACS_NOT_GIVEN >> 16)
    at = 0
    if found:
        free = found.offset % 4 == 0 and _EXTENDED_AT + 0x14 <= found.offset <= 4088
        at = found.offset if free else _EXTENDED_AT + 0x48
        data[at:at + 4] = (_ACS | 1 << 16).to_bytes(4, "little")
        data[at + 4:at + 8] = found.cap.to_bytes(2, "little") + found.ctl.to_bytes(2, "little")
    data[_EXTENDED_AT:_EXTENDED_AT + 4] = (_AER | 1 << 16 | at << 20).to_bytes(4, "little")
    shown = status_bytes(device.codes)
    data[_EXTENDED_AT + 4:_EXTENDED_AT + 4 + len(shown)] = shown


class BusTree:
    """The tree of buses: which device is above which. A device whose way up is not whole has no place: half a listing
    must not look like a machine with more root ports."""

    def __init__(self, devices: dict[str, LspciDevice]) -> None:
        self._devices = devices
        self._above: dict[tuple[str, int], list[LspciDevice]] = {}
        self._blind = {_bus(device)[0]: device.bdf for device in devices.values()
                       if device.class_code == "0604" and device.buses is None}
        self._inside: set[tuple[str, int]] = set()
        self._headless: set[tuple[str, int]] = set()
        # Bus 0, device 0 is a host bridge, also where its first line cannot be read.
        # A list without details shows no bridge's bus numbers: it tells who is there, and not where.
        detailed = any(device.listed or device.buses or device.raw for device in devices.values())
        self._lacks = "no host bridge is listed" if detailed else "it is a list without details"
        self._whole = detailed and any(
            device.class_code == "0600" or (device.bdf.endswith(":00:00.0") and device.class_code is None)
            for device in devices.values())
        self._roots: set[tuple[str, int]] = set()
        #: A root port is on no bus but a root bus, whatever numbers a bridge has that does not show them.
        self._sure: set[tuple[str, int]] = set()
        self._common: str | None = None
        # A machine has other root buses by its expander bridges alone where its ports are QEMU's.
        expanded = any(f"{device.vendor}:{device.device}" in _EXPANDERS for device in devices.values())
        for device in devices.values():
            domain, bus = _bus(device)
            if device.port in ("Upstream Port", "Downstream Port"):
                self._headless.add((domain, bus))
            emulated = f"{device.vendor}:{device.device}" in EMULATED and not expanded
            if bus == 0 or device.class_code == "0600" or (device.port == "Root Port" and not emulated) or (
                    device.port or "").startswith("Root Complex "):
                self._roots.add((domain, bus))
            if device.port == "Root Port" and not emulated:
                self._sure.add((domain, bus))
            if device.buses and device.buses[0]:        # 0: a bridge that nobody set up
                first, last = device.buses
                self._above.setdefault((domain, first), []).append(device)
                self._inside.update((domain, number) for number in range(first, last + 1))

    def path(self, bdf: str) -> tuple[str | None, Reason | None]:
        """Return the device's directory below /sys/devices; None with the reason where its place is not known."""
        domain, bus = _bus(self._devices[bdf])
        parts = [bdf]
        while True:
            parents = self._above.get((domain, bus), [])
            if len(parents) > 1 or len(parts) > 256 or any(parent.bdf in parts for parent in parents):
                return None, Absence.NOT_DERIVABLE.because(
                    f"not derivable: bus {domain}:{bus:02x} has several bridges above it in this text")
            if not parents:
                why = self._not_a_root(domain, bus, self._devices[parts[0]])
                if why:
                    return None, Absence.NOT_IN_IMPORT.because(why)
                return "/".join(["/sys/devices", f"pci{domain}:{bus:02x}", *parts]), None
            parts.insert(0, parents[0].bdf)
            bus = _bus(parents[0])[1]

    def _joined(self) -> str:
        """Return the topmost port above all accelerators, where they meet below another port under it; "" where the
        text does not show that. How they are joined does not depend on what is above that port."""
        if self._common is None:
            ways = [self._up(device) for device in self._devices.values()
                    if (device.class_code or "").startswith(_ACCELERATORS)]
            shared = ways and all(len(way) > 1 and way[:2] == ways[0][:2] for way in ways)
            self._common = ways[0][0] if shared else ""
        return self._common

    def _up(self, device: LspciDevice) -> list[str]:
        """Return the bridges above a device, the topmost first; [] where the way up is ambiguous."""
        found: list[str] = []
        while (parents := self._above.get(_bus(device), [])) and len(found) < 256:
            if len(parents) > 1 or parents[0].bdf in found:
                return []
            device = parents[0]
            found.insert(0, device.bdf)
        return found

    def settle(self) -> None:
        """Decide about each device of which nothing of PCI Express is shown: it is a conventional one, or its text lost
        that part. It is conventional where nothing contradicts: on a root bus and no bridge, or behind a bridge to
        conventional PCI."""
        for device in self._devices.values():
            if device.port != "" or device.bytes_only:
                continue
            place = _bus(device)
            above = self._above.get(place, [])
            fits = place in self._roots if not above else above[0].port == "PCI-Express to PCI/PCI-X Bridge"
            if not fits or device.class_code == "0604":
                device.port = None

    def missing(self) -> str:
        """Return why there must be devices that are not in the texts; "" where nothing tells so."""
        if not self._whole:
            return f"lspci shows only some devices, or too little of them ({self._lacks}); {FULL}"
        buses = {_bus(device) for device in self._devices.values()}
        # Every PC and every server of one has a host bridge at 0000:00:00.0, and lspci begins there.
        if any(domain == "0000" for domain, _ in buses) and ("0000", 0) not in buses:
            return f"lspci shows no device of bus 00: what comes before its first device is missing; {FULL}"
        for (domain, first), ports in self._above.items():
            last = max(port.buses[1] for port in ports if port.buses)
            if any((domain, bus) in buses for bus in range(first, last + 1)):
                continue
            if any(port.occupied for port in ports):
                return (f"lspci shows no device behind {ports[0].bdf}, whose link is up or whose slot is occupied: the "
                        "text was cut, or the machine lost the device (`tunecheck explain accelerator-count`)")
            if any(self._perhaps(port) for port in ports):
                return f"whether a device is behind {ports[0].bdf} is not told, and lspci shows none"
        for above, bus in self._holes():
            return f"the port of bus {bus:02x} below {above} is not in lspci"
        return next((f"the bridge above {device.bdf} is not in lspci" for device in self._devices.values()
                     if not self._above.get(_bus(device)) and self._below(*_bus(device))), "")

    def _holes(self) -> Iterator[tuple[str, int]]:
        """Yield bus numbers that no port has though they must be below a switch, or lie before those of another port of
        the same root bus: the firmware deals them out without a gap. Each stands behind the name of what it is
        below."""
        places: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for device in self._devices.values():
            if device.buses and device.buses[0]:
                places.setdefault(_bus(device), []).append(device.buses)
        for device in self._devices.values():
            if device.port == "Upstream Port" and device.buses and device.buses[0]:
                domain, (first, last) = _bus(device)[0], device.buses
                yield from ((device.bdf, bus) for bus in _between(first, last, places.get((domain, first), [])))
        for domain, first in sorted(self._roots - self._inside):     # one text has one answer
            below = places.get((domain, first), [])
            last = max((high for _, high in below), default=first)
            yield from ((f"root bus {first:02x}", bus) for bus in _between(first, last, below))

    def _perhaps(self, port: LspciDevice) -> bool:
        """Return whether there may be a device behind a port that does not say that its link is up: an old or an
        emulated one does not say it at all, of some it is not known what they are, of others the line that says it is
        gone. At x0 there is none."""
        unnamed = port.vendor is None and any(device.vendor for device in self._devices.values())
        link_known = port.tells_link and port.link_shown
        silent = not link_known or unnamed or f"{port.vendor}:{port.device}" in EMULATED
        return port.port in ("Root Port", "Downstream Port", None) and silent and port.width != 0

    def _not_a_root(self, domain: str, bus: int, top: LspciDevice) -> str:
        # lspci without root does not say what kind of port it is: the accelerators' common one stands for the root.
        if not self._whole and top.denied and top.bdf == self._joined() and (domain, bus) not in self._inside:
            return ""
        # A way that ends at a root port is whole, also where the text lost the host bridge above it.
        if not self._whole and not (top.port == "Root Port" and (domain, bus) in self._roots):
            return f"not in the import ({self._lacks}, so these may be only some devices); {FULL}"
        if self._below(domain, bus):
            return f"not in the import (the bridge above bus {domain}:{bus:02x} is not listed); {FULL}"
        if bus and domain in self._blind and (domain, bus) not in self._sure:
            return f"not in the import (the bus numbers of {self._blind[domain]} are not shown); {FULL}"
        return ""

    def _below(self, domain: str, bus: int) -> bool:
        """Return whether a bus that no bridge of the text has must be below one."""
        place = domain, bus
        return place in self._headless or place in self._inside or place not in self._roots


def _between(first: int, last: int, ports: list[tuple[int, int]]) -> Iterator[int]:
    return (bus for bus in range(first + 1, last + 1) if not any(low <= bus <= high for low, high in ports))


def _bus(device: LspciDevice) -> tuple[str, int]:
    domain, bus, _ = device.bdf.split(":")
    return domain, int(bus, 16)
