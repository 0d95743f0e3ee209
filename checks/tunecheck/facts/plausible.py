"""Checks that a snapshot holds what a host can hold: so many GPUs, and names that are names. Whoever wrote the file
wrote the facts; the readers of a live host keep to the same limits (parsers/text/bounds.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..parsers.text.bounds import MOST_GLOBS, MOST_GPUS, MOST_PACKAGES, MOST_PATTERNS, MOST_PCI, few, name_of
from ..parsers.text.damage import Damage, DamagedError
from ..parsers.text.incidents import MOST as MOST_INCIDENTS

if TYPE_CHECKING:
    from ..model.fact import Fact
    from .nvidia.packages import Packages
    from .snapshot import HostFacts, Snapshot

__all__ = ["check"]


def check(found: Snapshot) -> None:
    """Look through a snapshot for what no host has. DamagedError says what it is."""
    tree = found.topology
    few("accelerators", len(tree.devices), MOST_GPUS)
    if len({device.bdf for device in tree.devices}) < len(tree.devices) or len(tree.names) != len(tree.devices):
        raise DamagedError(Damage.TWICE, "an accelerator is listed twice, or has no name")
    few("pairs", len(tree.pairs), MOST_GPUS * (MOST_GPUS - 1) // 2)
    few("PCI devices", max(len(tree.bridges), len(tree.listed or ()), len(tree.unlisted), len(tree.unidentified)),
        MOST_PCI)
    gpus = found.nvml.value.gpus if found.nvml.value else ()
    few("GPUs of NVML", len(gpus), MOST_GPUS)
    if len({gpu.bdf for gpu in gpus}) < len(gpus):
        raise DamagedError(Damage.TWICE, "a GPU of NVML is listed twice")
    for pair in tree.pairs:
        if not (0 <= pair.a < len(tree.devices) and 0 <= pair.b < len(tree.devices)):
            raise DamagedError(Damage.CONTRADICTS,
                               f"a pair of accelerators {pair.a} and {pair.b}, of {len(tree.devices)}")
    for name in tree.names:
        name_of("GPU", name)
    _name("host", found.hostname)
    if found.host is not None:
        _of_host(found.host)


def _of_host(host: HostFacts) -> None:
    _name("host", host.kernel.hostname)
    _name("kernel", host.kernel.release)
    _name("kernel", host.boot.release)
    for unit in host.services:
        name_of("unit", unit)
    told = host.incidents.value
    few("incidents", len(told.found) if told else 0, MOST_INCIDENTS)
    for unit in told.units if told else ():
        name_of("unit", unit)
    few("PCI devices with error counters", len(host.errors), MOST_PCI)
    _packages(host.packages)


def _packages(found: Packages) -> None:
    for listing in (found.installed, found.others):
        few("packages", len(listing.value or ()), MOST_PACKAGES)
        for package in listing.value or ():
            name_of("package", package.name)
            name_of("package version", package.version)
    few("patterns of unattended-upgrades", len(found.spared), MOST_PATTERNS)
    few("globs in apt's pins", sum(len(globs.split()) for globs, _, _ in found.pins), MOST_GLOBS)


def _name(kind: str, fact: Fact[str]) -> None:
    if fact.value is not None:
        name_of(kind, fact.value)
