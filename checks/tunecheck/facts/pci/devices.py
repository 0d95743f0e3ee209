"""Accelerators and the bridges above them, from /sys/bus/pci/devices."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from ...host import Host, Unreadable
from ...model.fact import Fact, absent, known, not_understood, parsed
from ...parsers.pci.acs import Acs, acs
from ...parsers.pci.bdf import BDF, bdf_key
from ...parsers.pci.config_space import config_is_all_ones
from ...parsers.pci.pcie_cap import Express, express
from ...parsers.pci.topology import Chain, chain
from ...parsers.text.bounds import MOST_GPUS, MOST_PCI, NAMES, few
from ...util.at_first_use import dataclass, regex
from ..file_text import text
from .pcie import from_config, read_config

__all__ = ["DEVICES", "Device", "Link", "accelerators", "addresses", "bdf_key", "device", "display_name", "driver",
           "listed", "of_nvidia", "of_the_driver", "unidentified"]

DEVICES = "/sys/bus/pci/devices"

_DRIVERS_OWN = "/proc/driver/nvidia/gpus"
#: Without a spec: NVIDIA's display (0300) and 3D (0302) controllers.
_NVIDIA, _DISPLAY = "10de", ("0300", "0302")
#: What else a specification may call an accelerator: any display controller, processing accelerators.
_DISPLAYS_ALL = ("03", "12")
#: The drivers that may hold a GPU of NVIDIA's. Drivers bind by ids: what another one holds is something else.
_HOLDERS = frozenset({"nvidia", "nouveau", "nova_core", "NovaCore", "nvidiafb", "vfio-pci", "pci-stub", "pciback"})
_HEADER_TYPE = 0x0E

_MODEL = regex(r"^Model:[ \t]*(\S.*)$", re.MULTILINE)


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
        """Return the addresses from the root port to this device. It is only the device itself where its place is
        unknown."""
        return self.chain.value.devices if self.chain.value else (self.bdf,)


def accelerators(host: Host, wanted: Collection[str]) -> Fact[tuple[Device, ...]]:
    """Read the devices whose "vendor:device" is in ``wanted`` (nothing wanted: NVIDIA's display and 3D controllers), in
    address order."""
    return parsed(addresses(host, wanted), lambda found: tuple(device(host, bdf) for bdf in found))


def addresses(host: Host, wanted: Collection[str]) -> Fact[tuple[str, ...]]:
    """Return only the addresses of the accelerators, in address order; ``wanted`` as for ``accelerators``. The devices
    are not read: reading a configuration space costs 20 ms in some virtual machines."""
    try:
        names = [name for name in host.list(DEVICES) if BDF.match(name)]
    except Unreadable as error:
        return absent(DEVICES, error.reason)
    try:
        few("PCI devices", len(names), MOST_PCI)
        found = [name for name in sorted(set(names), key=bdf_key) if _is_accelerator(host, name, wanted)]
        few("accelerators", len(found), MOST_GPUS)
    except ValueError as error:
        return not_understood(DEVICES, error)
    return known(tuple(found), DEVICES)


def listed(host: Host) -> tuple[str, ...] | None:
    """Return the addresses of all PCI devices, in order. None where they cannot be listed, or are too many to be
    believed: accelerators() says why."""
    try:
        names = [name for name in host.list(DEVICES) if BDF.match(name)]
    except Unreadable:
        return None
    return tuple(sorted(names, key=bdf_key)) if len(names) <= MOST_PCI else None


def of_nvidia(host: Host, wanted: Collection[str] = ()) -> tuple[str, ...] | None:
    """Return the addresses of NVIDIA's devices in the PCI tree, and of those whose vendor cannot be read. None where
    the devices cannot be listed. What the spec calls an accelerator (``wanted``) counts as well, whoever made it."""
    names = listed(host)
    return None if names is None else tuple(name for name in names if _hex(host, name, "vendor") in (_NVIDIA, "")
                                            or _ids(host, name) in wanted)


def of_the_driver(host: Host) -> tuple[str, ...]:
    """Return the addresses of the GPUs that NVIDIA's driver lists itself. The tuple is empty where the driver does not
    say."""
    try:
        return tuple(sorted((name for name in host.list(_DRIVERS_OWN)[:MOST_PCI] if BDF.match(name)), key=bdf_key))
    except Unreadable:
        return ()


def _is_accelerator(host: Host, bdf: str, wanted: Collection[str]) -> bool:
    if wanted:
        return _ids(host, bdf) in wanted
    return _hex(host, bdf, "vendor") == _NVIDIA and _hex(host, bdf, "class")[:4] in _DISPLAY


def unidentified(host: Host, wanted: Collection[str]) -> tuple[Fact[str], ...]:
    """Return one fact for each device that cannot be told from an accelerator; it says why, and ``source`` is the
    device's file. Such devices must not count as none. What is known of a device (vendor, class, another board's
    driver) may rule it out."""
    return tuple(fact for name in listed(host) or () if (fact := _unread(host, name, wanted)) is not None)


def _unread(host: Host, bdf: str, wanted: Collection[str]) -> Fact[str] | None:
    vendor, number, kind = (text(host, f"{DEVICES}/{bdf}/{leaf}") for leaf in ("vendor", "device", "class"))
    needed = (vendor, number) if wanted else (vendor, kind)
    blind = next((fact for fact in needed if not fact.known), None)
    if blind is None or vendor.missing or number.missing:
        return None     # its ids decide; a device without these files left while they were read
    maker, model = (_plain(fact) for fact in (vendor, number))
    ids = [each.split(":") for each in wanted] or [[_NVIDIA, model]]
    fits = any((not maker or maker == each[0]) and (not model or model == each[-1]) for each in ids)
    shows = not kind.known or _plain(kind).startswith(_DISPLAYS_ALL if wanted else _DISPLAY)
    held = driver(host, bdf).value
    other = held is not None and held not in _HOLDERS and all(each[0] == _NVIDIA for each in ids)
    return blind if fits and shows and not other and not _is_bridge(host, bdf) else None


def _is_bridge(host: Host, bdf: str) -> bool:
    """Return whether the device is a bridge, by the header type in its configuration space. False where that is not
    known."""
    found = read_config(host, bdf).bytes
    return found.value is not None and len(found.value) > _HEADER_TYPE and found.value[_HEADER_TYPE] & 0x7F == 1


def _plain(fact: Fact[str]) -> str:
    return (fact.value or "").lower().removeprefix("0x")


def device(host: Host, bdf: str) -> Device:
    """Read everything about one device."""
    folder = f"{DEVICES}/{bdf}"
    config = read_config(host, bdf)
    return Device(
        bdf=bdf, ids=_ids(host, bdf), class_code=_hex(host, bdf, "class")[:4], chain=_chain(host, folder),
        numa_node=parsed(text(host, f"{folder}/numa_node"), int),
        link=_link(host, folder),
        driver=driver(host, bdf), acs=from_config(config, acs),
        answers=from_config(config, lambda data: not config_is_all_ones(data)), express=from_config(config, express))


def _link(host: Host, folder: str) -> Link:
    current, most = (parsed(text(host, f"{folder}/{side}_link_width"), _lanes) for side in ("current", "max"))
    return Link(text(host, f"{folder}/current_link_speed"), text(host, f"{folder}/max_link_speed"), current, most)


def display_name(host: Host, target: Device) -> str:
    """Return what to call an accelerator: the driver's model name, else the name of a known board, else its ids."""
    if target.driver.value == "nvidia":
        model = _MODEL.search(text(host, f"/proc/driver/nvidia/gpus/{target.bdf}/information").value or "")
        if model and NAMES["GPU"].fullmatch(model.group(1).strip()):
            return model.group(1).strip()
    # Imported where it is needed: reading the boards' data takes some milliseconds.
    from ...spec.boards import board

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
    """Return the kernel driver that is bound to a device. The fact is "not present" where none is."""
    folder = f"{DEVICES}/{bdf}"
    try:
        return known(posixpath.basename(host.realpath(f"{folder}/driver")), f"{folder}/driver")
    except Unreadable as error:
        return absent(f"{folder}/driver", error.reason)
