"""The PCI Express registers in the words of ``lspci -vvv``, and back into bytes.

pciutils (ls-caps.c: cap_express) prints DevCap, DevCtl, LnkCap, LnkCtl, LnkSta and, for version 2, LnkCap2 and LnkCtl2.
What a text does not show is not in the result; codes of it are never filled in with zero.
"""

from __future__ import annotations

from typing import Dict, Optional

from ...util.at_first_use import regex
from .pcie_cap import ASPM, CUT_AT, PORTS, REGISTERS, SPEEDS, generation

__all__ = ["express_bytes", "read_express"]

_DEVCAP = regex(r"^DevCap:\s*MaxPayload (\d{1,5}) bytes\b")
_DEVCTL = regex(r"^MaxPayload (\d{1,5}) bytes, MaxReadReq (\d{1,5}) bytes$")
_ORDER = regex(r"^RlxdOrd([+-]) ExtTag([+-])")
_ASPM_ABLE = regex(r"^LnkCap:.{0,80}?, ASPM (not supported|L0s L1|L0s|L1)\b")
_ASPM = regex(r"^LnkCtl:\s*ASPM (Disabled|(L0s L1|L0s|L1) Enabled);")
_TARGET = regex(r"^LnkCtl2:\s*Target Link Speed: (\d{1,3}(?:\.\d)?GT/s)")
_SIZES = {128 << code: code for code in range(6)}
_NAMES = {name: number for number, name in PORTS.items()}
#: Without these a capability is not rebuilt: the registers would look like zeros.
_DEVICE = ("payload_max", "payload", "read_request", "relaxed", "tags")
_LINK = ("aspm_able", "aspm")


def read_express(codes: Dict[str, int], line: str) -> None:
    """Add to ``codes`` what one line shows: register codes by name."""
    if line.startswith(("MaxPayload ", "DevCap:")):
        for pattern, names in ((_DEVCAP, ("payload_max",)), (_DEVCTL, ("payload", "read_request"))):
            found = pattern.match(line)
            for name, size in zip(names, found.groups() if found else ()):  # noqa: B905
                if int(size) in _SIZES:
                    codes[name] = _SIZES[int(size)]
    elif line.startswith("RlxdOrd"):
        found = _ORDER.match(line)
        if found:
            codes["relaxed"], codes["tags"] = (int(sign == "+") for sign in found.groups())
    elif line.startswith("LnkCap:"):
        found = _ASPM_ABLE.match(line)
        if found:
            codes["aspm_able"] = 0 if found.group(1) == "not supported" else ASPM.index(found.group(1))
    elif line.startswith("LnkCtl:"):
        found = _ASPM.match(line)
        if found:
            codes["aspm"] = ASPM.index(found.group(2) or "")
    elif line.startswith("LnkCtl2:"):
        found = _TARGET.match(line)
        if found:
            # lspci says 2.5GT/s for 0 as well, which many devices have and which limits nothing.
            gen = generation(found.group(1)) or 0
            codes["target"] = gen if gen > 1 else 0


def express_bytes(codes: Dict[str, int], port: str, slot: bool, links: "tuple[tuple[Optional[str], Optional[int]], ...]"
                  ) -> "tuple[int, bytes]":
    """Return where the capability goes in 256 bytes, and its content. ``links``: speed and width of LnkCap and of
    LnkSta. A text that does not show every register gives a capability whose registers lie beyond the 256 bytes: not
    given."""
    kind = _NAMES.get(port, 0)
    inside = port.startswith("Root Complex ")
    data = bytearray(0x3C)
    data[0] = 0x10
    data[2:4] = ((2 if "target" in codes else 1) | kind << 4 | int(slot) << 8).to_bytes(2, "little")
    shown = all(name in codes for name in _DEVICE)
    if not inside:
        shown = shown and all(name in codes for name in _LINK) and all(width is not None for _, width in links)
    if not shown:
        return CUT_AT, bytes(data[:4])
    control = codes["relaxed"] << 4 | codes["payload"] << 5 | codes["tags"] << 8 | codes["read_request"] << 12
    able, now = (_link(speed, width) for speed, width in links)
    for at, value in ((0x04, codes["payload_max"]), (0x08, control), (0x0C, able | codes.get("aspm_able", 0) << 10),
                      (0x0A, codes.get("DevSta", 0)), (0x10, codes.get("aspm", 0)), (0x12, now),
                      (0x30, codes.get("target", 0))):
        data[at:at + 2] = value.to_bytes(2, "little")
    return 0x40, bytes(data) if "target" in codes else bytes(data[:REGISTERS])


def _link(speed: Optional[str], width: Optional[int]) -> int:
    gen = generation(speed or "") or 0
    return (gen if gen in SPEEDS else 0) | ((width or 0) & 0x3F) << 4
