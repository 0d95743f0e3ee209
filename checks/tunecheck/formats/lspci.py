"""What ``lspci -vvv`` and ``lspci -xxxx`` print, device by device; see lspci_raw.py for the second.

Lines are known by their words, never by their indentation: forums eat tabs. What the text does not say stays None, and
a register that is not shown is never taken for zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional

from .aer_status import read_status
from .lspci_express import read_express
from .lspci_names import class_code, ids_of
from .pci import ACS_NAMES, Acs

__all__ = ["HEADER", "LspciDevice", "parse_lspci"]

#: ``0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation ...`` with or without domain and -nn.
HEADER = re.compile(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (\S.*?): (\S.*)$")
#: ``0000:01:00.0`` and what cannot be read: a device is there, though nothing is known of it.
_BARE = re.compile(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s|$)")
#: What only a header has behind its address: ``3D controller [0302]: ... [10de:2bb1]``.
_LOST = re.compile(r"^\S+ .{1,60} \[[0-9a-f]{4}\]: .*\[[0-9a-f]{4}:[0-9a-f]{4}\]")
_HEX = re.compile(r"^([0-9a-f]{2,3}):((?: [0-9a-f]{2}){16})$")
_BUS = re.compile(r"^Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})\b")
_EXPRESS = re.compile(r"^Capabilities: \[[0-9a-f]{2}\] Express (?:\(v\d+\) )?([^,(]+)")
_EXTENDED = re.compile(r"^Capabilities: \[([0-9a-f]{3})(?: v\d+)?\] (.*)$")
_LINK = re.compile(r"^Lnk(Cap|Sta):.*?Speed ([\d.]+GT/s|unknown)[^,]*, Width x(\d+)(?![\d])")
_ACS = re.compile(r"^ACS(Cap|Ctl):\s*" + r"\s+".join(name + "([+-])" for name in ACS_NAMES))
_LONGEST = 1000
_GONE = "!!! Unknown header type 7f"


@dataclass
class LspciDevice:
    """One device as one text shows it. Ids and codes in lower-case hex without 0x; speeds in sysfs' words.

    ``port`` is the Express type ("Root Port", "Endpoint", ...; "" for a conventional device, None where the
    capabilities are not shown), ``codes`` its registers as far as shown. ``extended`` says whether any extended
    capability is listed, ``aer`` whether Advanced Error Reporting is, ``cut`` that the text ends inside this device,
    ``denied`` that it was made without root, ``lost``
    the header of a device beside it where that cannot be read."""

    bdf: str
    vendor: Optional[str] = None
    device: Optional[str] = None
    class_code: Optional[str] = None
    buses: "Optional[tuple[int, int]]" = None
    numa_node: Optional[int] = None
    driver: Optional[str] = None
    driver_shown: bool = False
    iommu_group: Optional[str] = None
    port: Optional[str] = None
    slot: bool = False
    codes: Dict[str, int] = field(default_factory=dict)
    speed: Optional[str] = None
    width: Optional[int] = None
    max_speed: Optional[str] = None
    max_width: Optional[int] = None
    acs_offset: Optional[int] = None
    acs_cap: Optional[int] = None
    acs_ctl: Optional[int] = None
    listed: bool = False
    extended: bool = False
    aer: bool = False
    denied: bool = False
    cut: bool = False
    gone: bool = False
    lost: str = ""
    raw: bytes = b""

    @property
    def acs(self) -> Optional[Acs]:
        """The ACS capability, where the text shows both its registers."""
        if self.acs_offset is None or self.acs_cap is None or self.acs_ctl is None:
            return None
        return Acs(self.acs_offset, self.acs_cap, self.acs_ctl)


def parse_lspci(text: str) -> List[LspciDevice]:
    """Every device of the text, in its order. A last line without its end may be half a number: it is not read."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    devices = list(_devices(lines[:-1]))
    if devices:
        last = devices[-1]
        # A complete text ends with an empty line, or at least reached what lspci prints last.
        last.cut = not (ended and (last.driver_shown or not lines[-2].strip()))
    return devices


def _devices(lines: List[str]) -> Iterator[LspciDevice]:
    current: Optional[LspciDevice] = None
    raw = bytearray()
    lost = first = ""
    for line in lines:
        line = line.rstrip() if len(line) <= _LONGEST else ""
        header = HEADER.match(line)
        bare = None if header else _BARE.match(line)
        if header or bare:
            if current:
                current.raw = bytes(raw)
                yield current
            current, raw = _start(header) if header else _nameless(bare), bytearray()
            current.lost, lost = first, ""
            first = ""
        elif _LOST.match(line):
            # Whose lines follow cannot be told: not the device's before.
            lost = line[:60]
            if current:
                current.lost = lost
            else:
                first = lost
        elif lost:
            continue
        elif current and line:
            dumped = _HEX.match(line.strip())
            if dumped is None:
                _read(current, line.strip())
            elif int(dumped.group(1), 16) == len(raw):      # a line is missing: what follows would be misplaced
                raw += bytes.fromhex(dumped.group(2))
    if current:
        current.raw = bytes(raw)
        yield current


def _start(header: "re.Match[str]") -> LspciDevice:
    domain, slot, kind, name = header.groups()
    vendor, device = ids_of(name)
    # lspci prints four digits at least; -D on some versions prints eight.
    number = "%04x" % int(domain or "0", 16)
    return LspciDevice("%s:%s" % (number, slot), vendor, device, class_code(kind), gone="(rev ff)" in name)


def _nameless(found: "Optional[re.Match[str]]") -> LspciDevice:
    assert found is not None
    return LspciDevice("%04x:%s" % (int(found.group(1) or "0", 16), found.group(2)))


def _read(device: LspciDevice, line: str) -> None:
    if line.startswith("Capabilities: "):
        _capability(device, line)
    elif line.startswith("ACS"):
        _acs(device, line)
    elif line.startswith(("DevSta:", "UESta:", "CESta:")):
        read_status(device.codes, line)
    elif line.startswith(("Lnk", "DevCap:", "MaxPayload ", "RlxdOrd")):
        _link(device, line)
        if device.port:
            read_express(device.codes, line)
    elif line.startswith("Bus: "):
        found = _BUS.match(line)
        if found:
            device.buses = int(found.group(2), 16), int(found.group(3), 16)
    elif line.startswith("Status: Cap-"):
        device.listed, device.port = True, ""
    elif line.startswith("NUMA node: "):
        number = line[len("NUMA node: "):]
        device.numa_node = int(number) if re.match(r"^\d{1,5}$", number) else None
    elif line.startswith("IOMMU group: "):
        number = line[len("IOMMU group: "):]
        device.iommu_group = number if re.match(r"^\d{1,6}$", number) else None
    elif line.startswith("Kernel driver in use: "):
        name = line[len("Kernel driver in use: "):]
        device.driver = name if re.match(r"^[\w-]+$", name) else None
        device.driver_shown = True
    elif line.startswith("Kernel modules: "):
        device.driver_shown = True
    elif line.startswith(_GONE):
        device.gone = True


def _capability(device: LspciDevice, line: str) -> None:
    if "<access denied>" in line:
        device.denied = True
        return
    device.listed = True
    if device.port is None:
        device.port = ""
    express = _EXPRESS.match(line)
    if express:
        device.port, device.slot = express.group(1).strip(), "(Slot+)" in line
    extended = _EXTENDED.match(line)
    if extended:
        device.extended = True
        device.aer |= extended.group(2).startswith("Advanced Error Reporting")
        # Very old versions print its number, and never its registers.
        if extended.group(2).startswith(("Access Control Services", "#0d")):
            device.acs_offset = int(extended.group(1), 16)


def _acs(device: LspciDevice, line: str) -> None:
    found = _ACS.match(line)
    if found and device.acs_offset is not None:
        value = sum((sign == "+") << bit for bit, sign in enumerate(found.groups()[1:]))
        if found.group(1) == "Cap":
            device.acs_cap = value
        else:
            device.acs_ctl = value


def _link(device: LspciDevice, line: str) -> None:
    found = _LINK.match(line)
    if not found:
        return
    speed = "Unknown" if found.group(2) == "unknown" else _sysfs_speed(found.group(2))
    if found.group(1) == "Cap":
        device.max_speed, device.max_width = speed, int(found.group(3))
    else:
        device.speed, device.width = speed, int(found.group(3))


def _sysfs_speed(text: str) -> str:
    """``32GT/s`` -> ``32.0 GT/s PCIe``, the kernel's words (pci_speed_string)."""
    return "%.1f GT/s PCIe" % float(text[:-len("GT/s")])
