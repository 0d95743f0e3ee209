"""What ``lspci -vvv`` and ``lspci -xxxx`` print, device by device; see lspci_raw.py for the second.

Lines are known by their words, never by their indentation: forums eat tabs. What the text does not say stays None, and
a register that is not shown is never taken for zero.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Dict, Iterator, List, Optional, Set

from ...util.at_first_use import dataclass, regex
from .acs import ACS_NAMES, Acs
from .aer_status import read_status
from .lspci_express import read_express
from .lspci_names import HEADER, class_code, ids_of

__all__ = ["LspciDevice", "parse_lspci"]

#: ``0000:01:00.0`` and what cannot be read: a device is there, though nothing is known of it.
_BARE = regex(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s|$)")
#: What only a header has behind its address: ``3D controller [0302]: ... [10de:2bb1]``.
_LOST = regex(r"^\S+ .{1,60} \[[0-9a-f]{4}\]: .*\[[0-9a-f]{4}:[0-9a-f]{4}\]")
#: A line below a header.
_DETAIL = regex(r"^\s+(?:[A-Z][A-Za-z0-9 ]{1,30}:|[0-9a-f]{2}:(?: [0-9a-f]{2}){16}$)")
_HEX = regex(r"^([0-9a-f]{2,3}):((?: [0-9a-f]{2}){16})$")
_BUS = regex(r"^Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})\b")
_EXPRESS = regex(r"^Capabilities: \[[0-9a-f]{2}\] Express (?:\(v\d+\) )?([^,(]+)")
_EXTENDED = regex(r"^Capabilities: \[([0-9a-f]{3})(?: v\d+)?\] (.*)$")
#: Behind LnkCap's width always more follows: one at the end of a line may be half a number.
_LINK = regex(r"^Lnk(?:(Cap):.*?Speed (\d{1,3}(?:\.\d)?GT/s|unknown)[^,]*, Width x(\d+),"
              r"|(Sta):.*?Speed (\d{1,3}(?:\.\d)?GT/s|unknown)[^,]*, Width x(\d+)(?![\d]))")
_FLAGS = regex(r"^(?:[A-Z][\w-]*[+-] ?)+$")
#: What lspci prints once for a device. A second one belongs to another device, whose first line is gone.
_ONCE = regex(r"^(?:Control: I/O|Status: Cap|Flags: .*devsel|Subsystem:|Interrupt: pin|NUMA node:"
              r"|IOMMU group:|Bus: primary"
              r"|Kernel driver in use:|Kernel modules:|DevCap:|DevCtl:|DevSta:|LnkCap:|LnkCtl:|LnkSta:|ACSCap:"
              r"|ACSCtl:|UESta:|CESta:|00: [0-9a-f]{2} )")
#: Only a PCI Express device has these.
_OF_EXPRESS = ("LnkCap", "LnkCtl", "LnkSta", "DevCap", "DevCtl", "DevSta", "ACSC", "UESta:", "CESta:")
_ACS = regex(r"^ACS(Cap|Ctl):\s*" + r"\s+".join(name + "([+-])" for name in ACS_NAMES))
_LONGEST = 1000
_GONE = "!!! Unknown header type 7f"


@dataclass
class LspciDevice:
    """One device as one text shows it. Ids and codes in lower-case hex without 0x; speeds in sysfs' words.

    ``port`` is the Express type ("Root Port", "Endpoint", ...; "" where nothing of PCI Express is shown, None where the
    capabilities are not shown or their beginning is missing), ``codes`` its registers as far as shown. ``extended``
    says whether any extended capability is listed, ``aer`` whether Advanced Error Reporting is, ``cut`` that the text
    ends inside this device, ``denied`` that it was made without root, ``unread_header`` the header of a device beside
    it where that cannot be read. ``all_ones``: its configuration space reads as ones only: it does not answer.
    ``express``: something only PCI Express has is shown; ``occupied``: the slot or link behind this port reports a
    device, which a port only tells with ``tells_link``, in the line that ``link_shown`` says is shown; ``bytes_only``:
    only its bytes count, so no text can have lost a part."""

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
    express: bool = False
    occupied: bool = False
    tells_link: bool = False
    link_shown: bool = False
    bytes_only: bool = False
    denied: bool = False
    cut: bool = False
    all_ones: bool = False
    unread_header: str = ""
    raw: bytes = b""

    @property
    def acs(self) -> Optional[Acs]:
        """Return the ACS capability, where the text shows its control register; else None. The line that names the
        capability, or what it is able to, may be missing."""
        if self.acs_ctl is None:
            return None
        return Acs(self.acs_offset or 0, self.acs_ctl if self.acs_cap is None else self.acs_cap, self.acs_ctl)


def parse_lspci(text: str) -> List[LspciDevice]:
    """Return every device of the text, in its order. A last line without its end may be half a number: it is not
    read."""
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
    lost = first = status = ""
    once: Set[str] = set()
    for line in lines:
        line = line.rstrip() if len(line) <= _LONGEST else ""
        header = HEADER.match(line)
        bare = None if header else _BARE.match(line)
        if header or bare:
            if current:
                yield _ended(current, raw)
            status, once = "", set()
            current, raw = _start(header) if header else _nameless(bare), bytearray()
            current.unread_header, lost = first, ""
            first = ""
        elif _LOST.match(line):
            # Whose lines follow cannot be told: not the device's before.
            lost = line[:60]
            if current:
                current.unread_header = lost
            else:
                first = lost
        elif lost:
            continue
        elif current is None and _DETAIL.match(line):
            first = line.strip()[:60]       # of a device whose first line is not in the text
        elif current and line:
            plain = line.strip()
            mark = _ONCE.match(plain)
            if mark and mark.group() in once:
                lost = current.unread_header = plain[:60]
                continue
            once.add(mark.group() if mark else "")
            # A register that goes on in the next line.
            status = "%s %s" % (status, plain) if status and _FLAGS.match(plain) else plain
            dumped = _HEX.match(plain)
            if dumped is None:
                _read(current, plain)
                if status is not plain:
                    read_status(current.codes, status)
            elif int(dumped.group(1), 16) == len(raw):      # a line is missing: what follows would be misplaced
                raw += bytes.fromhex(dumped.group(2))
    if current:
        yield _ended(current, raw)


def _ended(device: LspciDevice, raw: bytearray) -> LspciDevice:
    device.raw = bytes(raw)
    if device.listed and device.port is None and not device.express:
        device.port = ""
    return device


def _start(header: "re.Match[str]") -> LspciDevice:
    domain, slot, kind, name = header.groups()
    vendor, device = ids_of(name)
    # lspci prints four digits at least; -D on some versions prints eight.
    number = "%04x" % int(domain or "0", 16)
    return LspciDevice("%s:%s" % (number, slot), vendor, device, class_code(kind), all_ones="(rev ff)" in name)


def _nameless(found: "Optional[re.Match[str]]") -> LspciDevice:
    assert found is not None
    return LspciDevice("%04x:%s" % (int(found.group(1) or "0", 16), found.group(2)))


def _read(device: LspciDevice, line: str) -> None:
    if line.startswith(_OF_EXPRESS):
        device.express = True
    if "DLActive+" in line or (line.startswith("SltSta:") and "PresDet+" in line):
        device.occupied = True
    if "LLActRep+" in line:
        device.tells_link = True
    if "DLActive" in line:
        device.link_shown = True
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
        device.all_ones = True


def _capability(device: LspciDevice, line: str) -> None:
    if "<access denied>" in line:
        device.denied = True
        return
    device.listed = True
    express = _EXPRESS.match(line)
    if express:
        device.port, device.slot, device.express = express.group(1).strip(), "(Slot+)" in line, True
    extended = _EXTENDED.match(line)
    if extended:
        device.extended = device.express = True
        device.aer |= extended.group(2).startswith("Advanced Error Reporting")
        # Very old versions print its number, and never its registers.
        if extended.group(2).startswith(("Access Control Services", "#0d")):
            device.acs_offset = int(extended.group(1), 16)


def _acs(device: LspciDevice, line: str) -> None:
    found = _ACS.match(line)
    if found:
        value = sum((sign == "+") << bit for bit, sign in enumerate(found.groups()[1:]))
        if found.group(1) == "Cap":
            device.acs_cap = value
        else:
            device.acs_ctl = value


def _link(device: LspciDevice, line: str) -> None:
    found = _LINK.match(line)
    if not found:
        return
    register, speed_text, lanes = found.groups()[:3] if found.group(1) else found.groups()[3:]
    speed = "Unknown" if speed_text == "unknown" else _sysfs_speed(speed_text)
    if register == "Cap":
        device.max_speed, device.max_width = speed, int(lanes)
    else:
        device.speed, device.width = speed, int(lanes)


def _sysfs_speed(text: str) -> str:
    """Return a speed in the kernel's words (pci_speed_string): ``32.0 GT/s PCIe`` for ``32GT/s``."""
    return "%.1f GT/s PCIe" % float(text[:-len("GT/s")])
