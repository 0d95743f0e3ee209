"""Containers: CDI specifications, the engines' settings, services and their environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...model.fact import Fact
from ...parsers.text import secrets
from .definition import Entry
from .kernel import suspect
from .selectors import of_host, through

if TYPE_CHECKING:
    from ..nvidia.services import Service
    from ..runtime.runtime import Runtime
    from ..runtime.service_env import ServiceEnv
    from ..snapshot import HostFacts

__all__ = ["ENTRIES"]


def _runtime(select: Callable[[Runtime], Fact[Any]]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: host.runtime if host.runtime.value is None else select(host.runtime.value))


def _specs(select: Callable[[Any], tuple[str, ...]]) -> Callable[[Any], Fact[Any]]:
    """Make a selector of what all CDI specifications together name, sorted."""
    return _runtime(lambda runtime: through(runtime.cdi, lambda specs: sorted(
        {each for spec in specs for each in select(spec)})))


def _fields(settings: Any) -> dict[str, Any]:
    return dict(vars(settings)) if dataclasses.is_dataclass(settings) else {}


def _services(select: Callable[[Service], Fact[bool]]) -> Callable[[Any], Fact[Any]]:
    def fact_of(host: HostFacts) -> Fact[Any]:
        every = {name.removesuffix(".service"): select(service) for name, service in host.services.items()}
        if host.runtime.value is not None:
            every["docker"] = select(host.runtime.value.daemon)
        return Fact(every, "services")

    return of_host(fact_of)


def _environment(found: ServiceEnv) -> dict[str, list[str]]:
    """Map each variable to its values in files, sorted. Those of processes are left out: they hold for the moment
    only."""
    values: dict[str, set[str]] = {}
    for path, variables in islice(found.found.items(), 256):
        if not path.startswith("/proc/"):
            for name, value in islice(variables.values.items(), 256):
                text = f"{name}={value[:1000]}"
                masked = secrets.mask(text) if suspect(text) else text
                values.setdefault(name, set()).add(masked.partition("=")[2])
    return {name: sorted(each) for name, each in sorted(values.items())}


def _switches(found: ServiceEnv) -> list[str]:
    return sorted({option for path, variables in found.found.items() if not path.startswith("/proc/")
                   for option in variables.options})


ENTRIES = (
    Entry("cdi.files", "config", "medium", "reload", "CDI specifications", _specs(lambda spec: (spec.file,))),
    Entry("cdi.devices", "config", "high", "reload", "devices that they name", _specs(lambda spec: tuple(
        f"{spec.kind}={device}" for device in spec.devices))),
    Entry("cdi.drivers", "config", "high", "reload", "driver versions in them", _specs(lambda spec: spec.drivers)),
    Entry("cdi.missing", "config", "high", "reload", "files that they name and that are not there",
          _specs(lambda spec: spec.missing)),
    Entry("cdi.refresh", "config", "medium", "reload", "enabled units that write the specification anew",
          _runtime(lambda runtime: through(runtime.refresh, sorted))),
    Entry("runtime.mode", "config", "medium", "reload", "mode of nvidia-container-runtime",
          _runtime(lambda runtime: runtime.mode)),
    Entry("runtime.docker.", "config", "medium", "reload", "a setting of docker's daemon.json",
          _runtime(lambda runtime: through(runtime.docker, _fields))),
    Entry("runtime.podman.", "config", "medium", "reload", "a setting of podman's containers.conf",
          _runtime(lambda runtime: through(runtime.podman, _fields))),
    Entry("runtime.storage", "config", "low", "none", "the folder that the images are in",
          _runtime(lambda runtime: through(runtime.storage, lambda storage: storage.path))),
    Entry("runtime.storage_free", "gauge", "low", "none", "free space there",
          _runtime(lambda runtime: through(runtime.storage, lambda storage: storage.free)), unit="KiB"),
    Entry("service.present.", "config", "medium", "reload", "a unit of the driver or of docker is there",
          _services(lambda service: service.present)),
    Entry("service.active.", "config", "high", "reload", "it runs", _services(lambda service: service.active)),
    Entry("service.inference", "gauge", "low", "none", "the inference unit runs",
          _runtime(lambda runtime: runtime.serving)),
    Entry("environment.", "config", "high", "reload", "a variable of NCCL or CUDA in files of services: its values",
          of_host(lambda host: through(host.service_env, _environment))),
    Entry("service.switches", "config", "medium", "reload", "all-reduce switches in unit files",
          of_host(lambda host: through(host.service_env, _switches))),
)
