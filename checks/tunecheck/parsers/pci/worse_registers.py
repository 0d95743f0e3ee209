"""Of two readings of one device's registers the worse value of each: what one of them shows latched was latched, what
one shows slow was slow. Names of the codes: lspci_express.py and aer_status.py.

Layout: include/uapi/linux/pci_regs.h.
"""

from __future__ import annotations

from typing import Dict, Iterator, Optional, Tuple

from .aer_status import NOT_GIVEN
from .config_space import config_is_all_ones, find_capability, find_extended

__all__ = ["codes_of", "moved", "with_codes", "worse"]

_EXPRESS, _AER = 0x10, 0x0001
_CONVENTIONAL, _EXTENDED = 256, 4096
#: In the PCI Express capability: name -> (offset, lowest bit, mask).
_FIELDS = {"payload_max": (0x04, 0, 7), "relaxed": (0x08, 4, 1), "payload": (0x08, 5, 7), "tags": (0x08, 8, 1),
           "read_request": (0x08, 12, 7), "DevSta": (0x0A, 0, 7), "aspm_able": (0x0C, 10, 3), "aspm": (0x10, 0, 3),
           "target": (0x30, 0, 0xF)}
#: In AER: name -> offset of 32 bits.
_STATUS = {"UESta": 0x04, "CESta": 0x10}
#: Where every bit that is set is the worse; of the others the lower value is.
_SET_IS_WORSE = ("DevSta", "UESta", "CESta", "aspm", "aspm_able")


def worse(one: Dict[str, int], two: Dict[str, int]) -> Dict[str, int]:
    """Return what either shows, and of what both show the worse value."""
    found = {**one, **two}
    for name in set(one) & set(two):
        if name in _SET_IS_WORSE:
            found[name] = one[name] | two[name]
        elif name == "target":      # 0 limits nothing
            found[name] = min((value for value in (one[name], two[name]) if value), default=0)
        else:
            found[name] = min(one[name], two[name])
    return found


def codes_of(raw: bytes) -> Dict[str, int]:
    """Return the codes that a configuration space holds; none where it is too short or the device does not answer."""
    if len(raw) < _CONVENTIONAL or config_is_all_ones(raw):
        return {}
    found = {name: _number(raw, at, 2) >> low & mask for name, at, low, mask in _places(raw)}
    found.update((name, value) for name, at in _aer(raw) if (value := _number(raw, at, 4)) != NOT_GIVEN)
    return found


def with_codes(raw: bytes, codes: Dict[str, int], gen: Optional[int], width: Optional[int]) -> bytes:
    """Return a configuration space that says ``codes``, and a link of this generation and width (None: as it is)."""
    if len(raw) < _CONVENTIONAL or config_is_all_ones(raw):
        return raw
    data = bytearray(raw)
    for name, at, low, mask in _places(raw):
        if name in codes and name not in ("payload_max", "aspm_able"):
            _put(data, at, low, mask, codes[name])
    for name, at in _aer(raw):
        if name in codes and _number(raw, at, 4) != NOT_GIVEN:
            data[at:at + 4] = codes[name].to_bytes(4, "little")
    express = find_capability(raw, _EXPRESS)
    if express is not None and express + 0x14 <= _CONVENTIONAL:
        for value, low, mask in ((gen, 0, 0xF), (width, 4, 0x3F)):
            if value is not None:
                _put(data, express + 0x12, low, mask, value)
    return bytes(data)


def moved(one: bytes, two: bytes) -> bool:
    """Return whether the device's memory lies at other addresses in the two: another boot gave it its place."""
    if min(len(one), len(two)) < 64 or config_is_all_ones(one) or config_is_all_ones(two):
        return False
    last = 0x28 if one[0x0E] & 0x7F == 0 else 0x18
    places = [(_number(one, at, 4), _number(two, at, 4)) for at in range(0x10, last, 4)]
    return any(a >> 4 and b >> 4 and a != b for a, b in places)


def _places(raw: bytes) -> Iterator[Tuple[str, int, int, int]]:
    """Yield (name, offset, lowest bit, mask) of the registers that are there."""
    at = find_capability(raw, _EXPRESS)
    if at is None:
        return
    second = raw[at + 2] & 0xF >= 2 if at + 3 <= _CONVENTIONAL else False
    inside = raw[at + 2] >> 4 in (9, 10) if at + 3 <= _CONVENTIONAL else False      # root complex: no link
    for name, (offset, low, mask) in _FIELDS.items():
        if at + offset + 2 <= _CONVENTIONAL and not (inside and offset >= 0x0C) and (name != "target" or second):
            yield name, at + offset, low, mask


def _aer(raw: bytes) -> Iterator[Tuple[str, int]]:
    at = find_extended(raw, _AER) if len(raw) >= _EXTENDED else None
    if at is not None:
        yield from ((name, at + offset) for name, offset in _STATUS.items())


def _number(raw: "bytes | bytearray", at: int, size: int) -> int:
    return int.from_bytes(raw[at:at + size], "little")


def _put(data: bytearray, at: int, low: int, mask: int, value: int) -> None:
    data[at:at + 2] = (_number(data, at, 2) & ~(mask << low) & 0xFFFF | (value & mask) << low).to_bytes(2, "little")
