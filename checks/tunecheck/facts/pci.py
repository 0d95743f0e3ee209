"""Accelerators and the bridges above them, from /sys/bus/pci/devices."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass

from ..formats.pci import BDF, Acs, acs, bdf_key, config_gone
from ..formats.pcie_cap import Express, express
from ..formats.topology import Chain, chain
from ..host import Host, Unreadable
from .fact import Fact, absent, known, parsed, text
from .pcie import from_config, read_config

__all__ = ["DEVICES", "Device", "Link", "accelerators", "addresses", "bdf_key", "device", "display_name", "driver",
           "of_nvidia", "of_the_driver"]

DEVICES = "/sys/bus/pci/devices"

#: Without a spec: NVIDIA's display (0300) and 3D (0302) controllers.
_DRIVERS_OWN = "/proc/driver/nvidia/gpus"
_NVIDIA, _DISPLAY = "10de", ("0300", "0302")

_MODEL = re.compile(r"^Model:\s*(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Link:
    """One PCIe link as seen from one end. Widths in lanes, 0 where no link is up; speeds in the kernel's words."""

    speed: Fact[str]
    max_speed: Fact[str]
    width: Fact[int]
    max_width: Fact[int]


@dataclass(frozen=True)
class Device:
    """A PCI device. ``ids`` is "vendor:device" and ``class_code`` the upper four of its six digits, in lower-case
    hex; ``driver`` is None where none is bound; ``express`` is None for conventional PCI."""

    bdf: str
    ids: str
    class_code: str
    chain: Fact[Chain]
    numa_node: Fact[int]
    link: Link
    driver: Fact[str]
    acs: Fact[Acs | None]
    answers: Fact[bool]
    express: Fact[Express | None]

    @property
    def path(self) -> tuple[str, ...]:
        """Addresses from the root port to this device; only itself where its place is unknown."""
        return self.chain.value.devices if self.chain.value else (self.bdf,)


def accelerators(host: Host, wanted: Collection[str]) -> Fact[tuple[Device, ...]]:
    """Devices whose "vendor:device" is in ``wanted`` (nothing wanted: NVIDIA's display and 3D controllers), in
    address order."""
    return parsed(addresses(host, wanted), lambda found: tuple(device(host, bdf) for bdf in found))


def addresses(host: Host, wanted: Collection[str]) -> Fact[tuple[str, ...]]:
    """Only where they are: reading a configuration space costs 20 ms in some virtual machines."""
    try:
        names = [name for name in host.list(DEVICES) if BDF.match(name)]
    except Unreadable as error:
        return absent(DEVICES, error.reason)
    unread = next((fact for name in names if (fact := _id_unread(host, name, wanted))), None)
    if unread is not None:
        return absent(unread.source, unread.reason or "")
    found = [name for name in sorted(names, key=bdf_key) if _is_accelerator(host, name, wanted)]
    return known(tuple(found), DEVICES)


def of_nvidia(host: Host, wanted: Collection[str] = ()) -> tuple[str, ...] | None:
    """Every device of NVIDIA's in the tree, and those whose vendor cannot be read; None where they cannot be listed.
    ``wanted``: what the spec calls an accelerator counts as well, whoever made it."""
    try:
        names = [name for name in host.list(DEVICES) if BDF.match(name)]
    except Unreadable:
        return None
    return tuple(name for name in sorted(names, key=bdf_key)
                 if _hex(host, name, "vendor") in (_NVIDIA, "") or _ids(host, name) in wanted)


def of_the_driver(host: Host) -> tuple[str, ...]:
    """The GPUs that NVIDIA's driver lists itself; empty where it does not say."""
    try:
        return tuple(sorted((name for name in host.list(_DRIVERS_OWN) if BDF.match(name)), key=bdf_key))
    except Unreadable:
        return ()


def _is_accelerator(host: Host, bdf: str, wanted: Collection[str]) -> bool:
    if wanted:
        return _ids(host, bdf) in wanted
    return _hex(host, bdf, "vendor") == _NVIDIA and _hex(host, bdf, "class")[:4] in _DISPLAY


def _id_unread(host: Host, bdf: str, wanted: Collection[str]) -> Fact[str] | None:
    """The fact why a display controller cannot be compared with ``wanted``: it must not count as none of them."""
    if not wanted:
        return None
    fact = text(host, f"{DEVICES}/{bdf}/device")
    blind = not fact.known and not fact.missing and _hex(host, bdf, "class")[:4] in _DISPLAY
    return fact if blind else None


def device(host: Host, bdf: str) -> Device:
    """Everything about one device."""
    folder = f"{DEVICES}/{bdf}"
    config = read_config(host, bdf)
    return Device(
        bdf=bdf, ids=_ids(host, bdf), class_code=_hex(host, bdf, "class")[:4], chain=_chain(host, folder),
        numa_node=parsed(text(host, f"{folder}/numa_node"), int),
        link=_link(host, folder),
        driver=driver(host, bdf), acs=from_config(config, acs),
        answers=from_config(config, lambda data: not config_gone(data)), express=from_config(config, express))


def _link(host: Host, folder: str) -> Link:
    current, most = (parsed(text(host, f"{folder}/{side}_link_width"), _lanes) for side in ("current", "max"))
    return Link(text(host, f"{folder}/current_link_speed"), text(host, f"{folder}/max_link_speed"), current, most)


def display_name(host: Host, target: Device) -> str:
    """What to call an accelerator: the driver's model name, a known board, else its ids."""
    if target.driver.value == "nvidia":
        model = _MODEL.search(text(host, f"/proc/driver/nvidia/gpus/{target.bdf}/information").value or "")
        if model:
            return model.group(1).strip()
    # Imported where it is needed: reading the boards' data takes some milliseconds.
    from ..spec.boards import board

    known_board = board(target.ids)
    return known_board.name if known_board else target.ids


def _hex(host: Host, bdf: str, name: str) -> str:
    return (text(host, f"{DEVICES}/{bdf}/{name}").value or "").lower().removeprefix("0x")


def _ids(host: Host, bdf: str) -> str:
    return f"{_hex(host, bdf, 'vendor')}:{_hex(host, bdf, 'device')}"


def _lanes(value: str) -> int:
    lanes = int(value)
    # 63 and 255 are a register full of ones: the device behind it is gone.
    if not 0 <= lanes <= 32:
        raise ValueError(f"{lanes} lanes")
    return lanes


def _chain(host: Host, folder: str) -> Fact[Chain]:
    try:
        path = host.realpath(folder)
    except Unreadable as error:
        return absent(folder, error.reason)
    return parsed(known(path, folder), chain)


def driver(host: Host, bdf: str) -> Fact[str]:
    """The kernel driver that is bound to a device; not present where none is."""
    folder = f"{DEVICES}/{bdf}"
    try:
        return known(posixpath.basename(host.realpath(f"{folder}/driver")), f"{folder}/driver")
    except Unreadable as error:
        return absent(f"{folder}/driver", error.reason)
