"""Reads the bytes of ``lspci -xxxx``: they hold what the text part of a dump leaves out.

Layout: PCIe base specification and include/uapi/linux/pci_regs.h.
"""

from __future__ import annotations

from typing import Optional

from .config_space import config_is_all_ones, find_capability
from .lspci import LspciDevice

__all__ = ["complete_from_bytes"]

_EXPRESS = 0x10
_PORTS = {0: "Endpoint", 1: "Legacy Endpoint", 4: "Root Port", 5: "Upstream Port", 6: "Downstream Port",
          7: "PCI-Express to PCI/PCI-X Bridge", 8: "PCI/PCI-X to PCI-Express Bridge",
          9: "Root Complex Integrated Endpoint", 10: "Root Complex Event Collector"}
_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}


def complete_from_bytes(device: LspciDevice) -> None:
    """Take the ids and the class, and whatever is still None, from ``device.raw``, as far as it reaches (64 bytes
    without root)."""
    raw = device.raw
    if config_is_all_ones(raw):
        device.all_ones = True
    if device.all_ones or len(raw) < 64:
        return
    device.vendor = "%02x%02x" % (raw[1], raw[0])
    device.device = "%02x%02x" % (raw[3], raw[2])
    device.class_code = "%02x%02x" % (raw[0x0B], raw[0x0A])
    if device.buses is None and raw[0x0E] & 0x7F == 1:
        device.buses = raw[0x19], raw[0x1A]
    if len(raw) >= 256:
        device.bytes_only = True
        _express(device, find_capability(raw, _EXPRESS))


def _express(device: LspciDevice, at: Optional[int]) -> None:
    raw = device.raw
    if at is None or at + 0x14 > 256:
        device.port = device.port or ""
        return
    kind = raw[at + 2] >> 4
    device.port = device.port or _PORTS.get(kind, "type %d" % kind)
    if kind in (9, 10):         # inside the root complex: no link
        return
    most, now = _word(raw, at + 0x0C), _word(raw, at + 0x12)
    if device.max_width is None:
        device.max_speed, device.max_width = _speed(most), most >> 4 & 0x3F
    if device.width is None:
        device.speed, device.width = _speed(now), now >> 4 & 0x3F


def _word(raw: bytes, at: int) -> int:
    return raw[at] | raw[at + 1] << 8


def _speed(register: int) -> str:
    number = _SPEEDS.get(register & 0xF)
    return number + " GT/s PCIe" if number else "Unknown"
