"""What stands in a device's configuration space, and its error counters in sysfs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ..formats.aer_counters import FILES, parse_counters
from ..formats.aer_status import latched
from ..formats.pci import ConfigUnreadable
from ..host import Host, Unreadable
from .fact import Fact, absent, known, parsed, text

__all__ = ["Counters", "counters", "from_config", "read_config"]

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


def read_config(host: Host, bdf: str) -> Fact[bytes]:
    """A device's configuration space: 4096 bytes with root, 64 without."""
    source = f"{_DEVICES}/{bdf}/config"
    try:
        return known(host.read_bytes(source), source)
    except Unreadable as error:
        return absent(source, error.reason)


def from_config(config: Fact[bytes], parse: Callable[[bytes], _T]) -> Fact[_T]:
    """One part of it. What the bytes do not reach is absent, with the parser's reason."""
    if config.value is None:
        return absent(config.source, config.reason or "")
    try:
        return known(parse(config.value), config.source)
    except ConfigUnreadable as error:
        return absent(config.source, str(error))


def counters(host: Host, bdfs: Iterable[str]) -> dict[str, Counters]:
    """The AER counters of every device of ``bdfs``."""
    return {bdf: _counters(host, bdf) for bdf in bdfs}


def _counters(host: Host, bdf: str) -> Counters:
    found = {severity: parsed(text(host, f"{_DEVICES}/{bdf}/{name}"), parse_counters)
             for severity, name in FILES.items()}
    dark = any(not fact.known and not fact.missing for fact in found.values())
    # Reading a configuration space takes time; where there are counters they say more.
    return Counters(bdf, found, from_config(read_config(host, bdf), latched) if dark else None)
