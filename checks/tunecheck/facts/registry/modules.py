"""Kernel modules that the spec names, and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...model.fact import Fact
from ..kernel.modules import LOADED, Module
from .definition import Entry
from .selectors import NOTHING, of_host

if TYPE_CHECKING:
    from ..snapshot import HostFacts

__all__ = ["ENTRIES"]


def _each(select: Callable[[Module], Iterator[tuple[str, Any]]]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: Fact(
        {name: value for module in host.modules.values() for name, value in select(module)}, "modules"))


def _live(module: Module) -> Iterator[tuple[str, Any]]:
    for parameter, fact in module.live.items():
        yield f"{module.name}.{parameter}", fact


def _configured(module: Module) -> Iterator[tuple[str, Any]]:
    configured = module.configured
    for parameter in module.live if configured.value is None else configured.value:
        yield f"{module.name}.{parameter}", configured if configured.value is None else configured.value[parameter]


def _dwords(place: str) -> Callable[[Any], Fact[Any]]:
    def fact_of(host: HostFacts) -> Fact[Any]:
        fact = host.registry_dwords.get(place, NOTHING)
        return fact if fact.value is None else Fact(fact.value.strip(";"), fact.source)

    return of_host(fact_of)


ENTRIES = (
    Entry("module.loaded.", "config", "high", "reboot", "a module that the spec names is loaded",
          _each(lambda module: iter([(module.name, module.loaded)]))),
    Entry("module.installed.", "config", "medium", "reload", "it is there for the running kernel",
          _each(lambda module: iter([(module.name, module.installed)]))),
    Entry("module.parameter.", "config", "high", "reboot", "a parameter as the loaded module has it", _each(_live)),
    Entry("module.configured.", "config", "medium", "reload", "a parameter as modprobe.d sets it at the next load",
          _each(_configured)),
    Entry("driver.registry_dwords", "config", "high", "reboot", "RegistryDwords of the loaded driver", _dwords(LOADED)),
    Entry("driver.registry_dwords_next", "config", "medium", "reload", "RegistryDwords at the driver's next load",
          _dwords("modprobe.d")),
)
