"""Reads a device's configuration space, and its error counters in sysfs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ...host import Host, Unreadable
from ...host.base import doubt
from ...model.fact import Fact, absent, absent_as, known, parsed
from ...parsers.pci.aer_counters import FILES, parse_counters
from ...parsers.pci.aer_status import latched
from ...parsers.pci.config_space import ConfigUnreadable, NotGiven
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["Config", "Counters", "counters", "from_config", "read_config"]

_DEVICES = "/sys/bus/pci/devices"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Counters:
    """The kernel's AER counts of one device, {name: count} by severity ("correctable", "nonfatal", "fatal"). A missing
    file is a kernel without AER, or a device that cannot report. ``latched``: where counts cannot be read, the errors
    that the device itself holds ("UESta DLP"), which is a state and no count."""

    bdf: str
    by_severity: Mapping[str, Fact[dict[str, int]]]
    latched: Fact[tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Config:
    """A device's configuration space: 4096 bytes with root, 64 without. ``gap(part)`` tells why a part of it ("acs",
    "express", "aer") was not given."""

    bytes: Fact[bytes]
    gap: Callable[[str], str]


def read_config(host: Host, bdf: str) -> Config:
    """Read a device's configuration space, and what the host says is missing of it."""
    source = f"{_DEVICES}/{bdf}/config"
    try:
        content = known(host.read_bytes(source), source)
    except Unreadable as error:
        content = absent(source, error.reason)
    return Config(content, lambda part: doubt(host, f"{source} {part}"))


def from_config(config: Config, parse: Callable[[bytes], _T]) -> Fact[_T]:
    """Return what ``parse`` reads in the configuration space. A part that the bytes do not reach is absent, with the
    parser's reason."""
    found = config.bytes
    if found.value is None:
        return absent_as(found)
    try:
        return known(parse(found.value), found.source)
    except NotGiven as error:
        return absent(found.source, error.absence.because(config.gap(error.part) or str(error)))
    except ConfigUnreadable as error:
        return absent(found.source, error.absence.because(str(error)))


def counters(host: Host, bdfs: Iterable[str]) -> dict[str, Counters]:
    """Read the AER counters of every device of ``bdfs``."""
    return {bdf: _counters(host, bdf) for bdf in bdfs}


def _counters(host: Host, bdf: str) -> Counters:
    found = {severity: parsed(text(host, f"{_DEVICES}/{bdf}/{name}"), parse_counters)
             for severity, name in FILES.items()}
    dark = any(not fact.known and not fact.missing for fact in found.values())
    # Reading a configuration space takes time; where there are counters they say more.
    return Counters(bdf, found, from_config(read_config(host, bdf), latched) if dark else None)
