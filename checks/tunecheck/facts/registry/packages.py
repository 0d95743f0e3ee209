"""Packages of the driver, the container toolkit, engines and kernels, and what holds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact
from ..nvidia.packages import ENGINES, Packages
from .definition import Entry
from .selectors import of_host, through

if TYPE_CHECKING:
    from ...parsers.packages.packages import Package
    from ..snapshot import HostFacts

__all__ = ["ENTRIES"]


def _every(select: Callable[[Packages, Package], str]) -> Callable[[Any], Fact[Any]]:
    """Make a selector of one text for each package, by name. Where one of the two listings failed, its reason stands
    beside the values: there may be more."""

    def fact_of(host: HostFacts) -> Fact[Any]:
        packages = host.packages
        values: dict[str, str] = {}
        unread: Fact[Any] | None = None
        for fact in (packages.installed, packages.others):
            if fact.absence not in (None, Absence.NOT_PRESENT, Absence.NOT_ASKED):
                unread = fact
            for package in fact.value or ():
                values[package.name] = select(packages, package)
        return Fact(values, "packages") if unread is None else Fact(values, unread.source, unread.reason)

    return of_host(fact_of)


def _held(packages: Packages, package: Package) -> str:
    return "held" if package.held else "pinned" if packages.pinned(package) else "no"


def _engines(host: HostFacts) -> Fact[Any]:
    others = host.packages.others
    if not (others.known or others.missing):
        return others
    found = {name: host.packages.engine(name) for name in ENGINES}
    return Fact({name: engine.version if engine else None for name, engine in found.items()}, others.source)


def _beside(select: Callable[[Packages], Any]) -> Callable[[Any], Fact[Any]]:
    """Make a selector of what was read together with the list of packages. Where the list was not read, its reason
    stands."""
    return of_host(lambda host: through(host.packages.installed, lambda _: select(host.packages)))


ENTRIES = (
    Entry("package.", "config", "medium", "reload", "version of a package as its manager writes it",
          _every(lambda _, package: package.version), pin=True),
    Entry("held.", "config", "medium", "reload", "a package is held, pinned (apt's preferences) or no", _every(_held),
          pin=True),
    Entry("engine.", "config", "high", "reload", "version of a container engine's package", of_host(_engines),
          pin=True),
    Entry("packages.manager", "config", "low", "none", "dpkg or rpm",
          _beside(lambda packages: packages.manager or None)),
    Entry("packages.unattended", "config", "high", "reload", "upgrades run by themselves",
          _beside(lambda packages: packages.unattended)),
    Entry("packages.spared", "config", "medium", "reload", "what those leave alone",
          _beside(lambda packages: sorted(packages.spared))),
    Entry("packages.preferences", "config", "medium", "reload", "pins of apt's preferences",
          _beside(lambda packages: sorted(f"{names}: {pin} {priority}" for names, pin, priority in packages.pins))),
)
