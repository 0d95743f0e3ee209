"""PCI addresses: domain:bus:device.function (BDF), as sysfs and lspci -D write them."""

from __future__ import annotations

from ...util.at_first_use import regex

__all__ = ["BDF", "bdf_key", "same_slot"]

#: A PCI address. The domain may have more than four digits (Intel VMD: 10000:e1:00.0).
BDF = regex(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


def bdf_key(bdf: str) -> "tuple[int, int, int, int]":
    """Return the sort key of an address. It gives address order: a domain of five digits comes after all of four."""
    domain, bus, rest = bdf.split(":")
    device, function = rest.split(".")
    return int(domain, 16), int(bus, 16), int(device, 16), int(function, 16)


def same_slot(slot: str, bdf: str) -> bool:
    """Return whether ``bdf`` has this device and function, ``slot`` is "00.0". False where either is no address."""
    try:
        return bdf_key("0000:00:" + slot)[2:] == bdf_key(bdf)[2:]
    except ValueError:
        return False
