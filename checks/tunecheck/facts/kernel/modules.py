"""Kernel module parameters: what modprobe.d asks for, what the loaded module really has."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, absent_as, known, parsed
from ...parsers.kernel.modprobe import NVIDIA_PARAMS, normalise_module, nvidia_shows, parse_options
from ...util.at_first_use import dataclass, regex
from ..file_text import text

__all__ = ["LOADED", "Module", "modules", "registry_dwords"]

#: Highest priority first: a file hides one of the same name further down (modprobe.d(5)).
_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
            "/lib/modprobe.d")
_DWORDS = regex(r"^RegistryDwords(?:PerDevice)?:(.*)$", re.MULTILINE)
#: The place of `registry_dwords` that counts now.
LOADED = "the loaded driver"


@dataclass(frozen=True)
class Module:
    """One kernel module. ``configured`` and ``live`` map parameter names to texts: as modprobe.d sets them at the next
    load, and as the loaded module has them. ``live`` holds only the parameters asked for."""

    name: str
    installed: Fact[bool]
    loaded: Fact[bool]
    configured: Fact[dict[str, str]]
    live: dict[str, Fact[str]]


def modules(host: Host, wanted: dict[str, tuple[str, ...]], release: str) -> dict[str, Module]:
    """Read the modules of the spec. ``wanted`` maps module names to parameter names; ``release`` is the running
    kernel's."""
    if not wanted:
        return {}
    options = _options(host)
    return {name: _module(host, name, parameters, release, options) for name, parameters in wanted.items()}


def registry_dwords(host: Host, wanted: bool) -> dict[str, Fact[str]]:
    """Return the RegistryDwords of nvidia.ko, for all boards and for single ones, by place: what the loaded driver runs
    with, and what modprobe.d sets at the next load. sysfs shows both empty. Not ``wanted``: nothing is read."""
    if not wanted:
        return {}
    return {LOADED: parsed(text(host, NVIDIA_PARAMS), lambda listing: ";".join(
                line.strip().strip('"') for line in _DWORDS.findall(listing))),
            "modprobe.d": parsed(_options(host), lambda every: ";".join(
                every.get("nvidia", {}).get(f"NVreg_RegistryDwords{which}", "") for which in ("", "PerDevice")))}


def _module(host: Host, name: str, parameters: Iterable[str], release: str,
            options: Fact[dict[str, dict[str, str]]]) -> Module:
    kernel_name = normalise_module(name)
    folder = f"/sys/module/{kernel_name}"
    try:
        host.list(folder)
        loaded: Fact[bool] = known(True, folder)
    except Unreadable as error:
        loaded = known(False, folder) if error.absence is Absence.NOT_PRESENT else absent(folder, error.reason)
    configured = parsed(options, lambda every: every.get(kernel_name, {}))
    live = {parameter: _live(host, kernel_name, parameter) for parameter in parameters} if loaded.value else {}
    return Module(name, _installed(host, kernel_name, release, loaded), loaded, configured, live)


def _live(host: Host, module: str, parameter: str) -> Fact[str]:
    # nvidia.ko shows its parameters not at all or empty in sysfs; its own list is the truth.
    if module == "nvidia" and parameter.startswith("NVreg_"):
        listing = text(host, NVIDIA_PARAMS)
        own = nvidia_shows(listing.value or "", parameter)
        if own is not None:
            return known(own, NVIDIA_PARAMS)
        if not listing.known and not listing.missing:
            return listing
    return text(host, f"/sys/module/{module}/parameters/{parameter}")


def _installed(host: Host, module: str, release: str, loaded: Fact[bool]) -> Fact[bool]:
    if loaded.value:
        return known(True, loaded.source)
    reasons = []
    for name in ("modules.dep", "modules.builtin"):
        listing = text(host, f"/lib/modules/{release}/{name}")
        if listing.value is None:
            reasons.append(listing)
            continue
        # modules.dep: "path/nvidia-uvm.ko.xz: dependencies"; the part before the colon is the module itself.
        files = (line.partition(":")[0].rpartition("/")[2] for line in listing.value.splitlines())
        if any(normalise_module(file.partition(".ko")[0]) == module for file in files):
            return known(True, listing.source)
    if len(reasons) == 2:
        return absent_as(reasons[0])
    return known(False, f"/lib/modules/{release}/modules.dep")


def _options(host: Host) -> Fact[dict[str, dict[str, str]]]:
    """Return what the ``options`` lines of all files set: module -> parameter -> text. The files count in the order in
    which modprobe reads them, and a later value wins."""
    files: dict[str, str] = {}
    for folder in _FOLDERS:
        try:
            names = host.list(folder)
        except Unreadable as error:
            if error.absence is not Absence.NOT_PRESENT:
                return absent(folder, error.reason)
            continue
        for name in names:
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    merged: dict[str, dict[str, str]] = {}
    for name in sorted(files):
        content = text(host, files[name])
        if content.value is None:
            return absent_as(content)
        for module, values in parse_options(content.value).items():
            merged.setdefault(module, {}).update(values)
    return known(merged, "modprobe.d")
