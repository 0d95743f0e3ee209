"""The box under its accelerators, its identity, and which checker looked at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent
from ..same_machine import STANDS_FOR
from .definition import Entry
from .selectors import of_host, through

if TYPE_CHECKING:
    from ..identity import Identity
    from ..snapshot_file import Stored

__all__ = ["ENTRIES"]


def _identity(select: Callable[[Identity], Fact[Any]]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: host.identity if host.identity.value is None else select(host.identity.value))


def _hostname(stored: Stored) -> Fact[Any]:
    name = stored.snapshot.hostname
    if name.value is not None and STANDS_FOR.fullmatch(name.value):
        return absent(name.source, Absence.LEFT_OUT)
    return name


def _spec(select: Callable[[Any], str]) -> Callable[[Stored], Fact[Any]]:
    return lambda stored: Fact(select(stored.frozen) if stored.frozen else None, "/etc/tunecheck/spec.json")


ENTRIES = (
    Entry("tunecheck", "config", "low", "reload", "version of the checker",
          lambda stored: Fact(stored.tunecheck, "snapshot"), pin=True),
    Entry("spec", "config", "medium", "reload", "digest of the spec, null without one",
          _spec(lambda frozen: frozen.digest), pin=True),
    Entry("spec.profile", "config", "low", "reload", "profile that the spec is made of",
          _spec(lambda frozen: frozen.profile)),
    Entry("platform.vendor", "config", "medium", "hands-on", "who made the box", _identity(lambda each: each.vendor)),
    Entry("platform.product", "config", "medium", "hands-on", "model of the box", _identity(lambda each: each.product)),
    Entry("platform.board", "config", "medium", "hands-on", "model of the mainboard",
          _identity(lambda each: each.board_name)),
    Entry("platform.bios_vendor", "config", "low", "firmware", "who made the firmware",
          _identity(lambda each: each.bios_vendor)),
    Entry("platform.bios", "config", "high", "firmware", "version of the firmware (BIOS)",
          _identity(lambda each: each.bios_version)),
    Entry("platform.bios_date", "config", "low", "firmware", "date of the firmware",
          _identity(lambda each: each.bios_date)),
    Entry("platform.cpu", "config", "high", "hands-on", "model of the processors",
          _identity(lambda each: each.cpu_model)),
    Entry("platform.memory", "config", "high", "hands-on", "installed memory, as near as the kernel tells it",
          _identity(lambda each: each.memory_gib), unit="GiB"),
    Entry("platform.arch", "config", "high", "hands-on", "x86_64 or aarch64", _identity(lambda each: each.arch)),
    Entry("platform.guest", "config", "low", "hands-on",
          "hypervisor that this machine is a guest of, empty on bare metal", lambda stored: stored.snapshot.guest),
    Entry("platform.dgx_os", "config", "high", "reboot", "version of DGX OS, null on any other system",
          of_host(lambda host: host.hgx.dgx_os)),
    Entry("platform.secure_boot", "config", "medium", "firmware", "Secure Boot is on",
          of_host(lambda host: host.platform.secure_boot)),
    Entry("platform.acpi_tables", "config", "low", "firmware", "ACPI tables that the firmware brings",
          of_host(lambda host: through(host.platform.acpi_tables, sorted))),
    Entry("identity.machine", "identity", "high", "hands-on", "machine id, as systemd makes it for one application",
          _identity(lambda each: each.machine)),
    Entry("identity.board", "identity", "high", "hands-on", "digest of the board's serial number",
          _identity(lambda each: each.board)),
    Entry("identity.hostname", "identity", "low", "reload", "what the box calls itself", _hostname),
)
