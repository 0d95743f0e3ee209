"""The NVIDIA driver in all its parts, and how its module comes to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent
from .definition import Entry
from .selectors import asked, of_host, through

if TYPE_CHECKING:
    from ..nvidia.driver_parts import ModuleFile
    from ..snapshot import HostFacts
    from ..snapshot_file import Stored

__all__ = ["ENTRIES"]


def _firmware(host: HostFacts) -> Fact[Any]:
    fact = host.driver_parts.firmware
    # A folder without a version in it stays an empty list, as it came.
    return Fact(" ".join(sorted(fact.value)), fact.source) if fact.value else fact


def _modules(host: HostFacts) -> Fact[Any]:
    return Fact({release: through(fact, _module) for release, fact in host.driver_parts.modules.items()}, "modinfo")


def _module(file: ModuleFile) -> str:
    return f"{file.version} {file.flavour}"


def _signer(host: HostFacts) -> Fact[Any]:
    """Return who signed the running kernel's module."""
    if host.kernel.release.reason is not None:
        return host.kernel.release
    fact = host.driver_parts.modules.get(host.kernel.release.value or "")
    if fact is None or fact.absence is Absence.ELSEWHERE:
        return absent("modinfo", Absence.NOT_PRESENT)
    return through(fact, lambda file: file.signer or None)


def _library(stored: Stored) -> Fact[Any]:
    said = asked(stored, stored.snapshot.nvml)
    return said if said.value is None else said.value.library


def _next_headers(host: HostFacts) -> Fact[Any]:
    """Return whether the running kernel's headers are there."""
    return through(host.module_build, lambda build: host.kernel.release.value in build.headers)


ENTRIES = (
    Entry("driver.loaded", "config", "high", "reboot", "version of the loaded kernel module",
          of_host(lambda host: host.driver.version), pin=True),
    Entry("driver.flavour", "config", "high", "reboot", "open or proprietary",
          of_host(lambda host: host.driver.flavour), pin=True),
    Entry("driver.module.", "config", "high", "reboot", "version and flavour of the module installed for that kernel",
          of_host(_modules), pin=True),
    Entry("driver.library.", "config", "high", "reload", "version of a user library, from its file's name",
          of_host(lambda host: Fact(host.driver_parts.libraries, "libraries")), pin=True),
    Entry("driver.firmware", "config", "high", "reload", "versions of the GSP firmware that is there",
          of_host(_firmware), pin=True),
    Entry("driver.nvml", "config", "medium", "reload", "version of the NVML library that answered", _library),
    Entry("driver.signer", "config", "medium", "reload", "who signed the running kernel's module", of_host(_signer)),
    Entry("driver.dkms", "config", "medium", "reload", "driver sources that DKMS keeps",
          of_host(lambda host: through(host.module_build, lambda build: sorted(
              f"{tree.name}/{tree.version}" for tree in build.trees)))),
    Entry("driver.headers", "config", "medium", "reload", "headers of the running kernel are there",
          of_host(_next_headers)),
    Entry("driver.keys", "config", "medium", "hands-on", "keys that a kernel under Secure Boot takes modules by",
          of_host(lambda host: through(host.module_keys, lambda keys: sorted(keys.trusted)))),
    Entry("driver.key_waits", "config", "medium", "hands-on", "a key waits for the console at the next boot",
          of_host(lambda host: through(host.module_keys, lambda keys: keys.pending))),
)
