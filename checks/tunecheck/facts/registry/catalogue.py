"""The list of every drift fact, and what a name in a store belongs to."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from . import cpu, driver, events, gpu, kernel, measured, modules, packages, pcie, platform, runtime, serving

if TYPE_CHECKING:
    from .definition import Entry

__all__ = ["CATALOGUE", "ENTRIES", "SUBJECTS", "entry_of"]

#: Raise it where the same state of a box gets another value than before (a normaliser changed, a fact changed its
#: class). A new fact needs none: nothing was known of it. Stores take the new values as the old ones' place then, and
#: show no drift.
CATALOGUE = 1

#: In the order of the page.
SUBJECTS: dict[str, tuple[Entry, ...]] = {
    "The box and who looked": platform.ENTRIES, "Kernel and boot": kernel.ENTRIES,
    "Processors and memory": cpu.ENTRIES, "PCI Express, ACS, IOMMU": pcie.ENTRIES, "GPUs": gpu.ENTRIES,
    "Driver": driver.ENTRIES, "Modules": modules.ENTRIES, "Packages": packages.ENTRIES,
    "Containers and services": runtime.ENTRIES, "What is served": serving.ENTRIES,
    "What was measured": measured.ENTRIES, "Events": events.ENTRIES}
ENTRIES: tuple[Entry, ...] = tuple(entry for entries in SUBJECTS.values() for entry in entries)

_SINGLE = {entry.name: entry for entry in ENTRIES if not entry.family}
_FAMILIES = {entry.name: entry for entry in ENTRIES if entry.family}


@lru_cache(4096)
def entry_of(name: str) -> Entry | None:
    """Return the entry of a fact's name, or of a family's beginning ("package."). None for a name that this version
    does not know."""
    found = _SINGLE.get(name) or _FAMILIES.get(name)
    at = len(name)
    while found is None and (at := name.rfind(".", 0, at)) > 0:
        found = _FAMILIES.get(name[:at + 1])
    return found
