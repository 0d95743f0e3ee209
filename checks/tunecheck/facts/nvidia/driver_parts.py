"""The driver's parts beside the loaded module: user libraries, GSP firmware, and the module that the next load brings.

Files only, and modinfo, which reads files: asking the driver itself can hang behind a dead GSP."""

from __future__ import annotations

import re

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, Reason, absent, known, not_understood
from ...parsers.kernel.modprobe import file_names
from ...util.at_first_use import dataclass

__all__ = ["DriverParts", "ModuleFile", "driver_parts"]

_LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1")
_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_FIRMWARE = "/lib/firmware/nvidia"
_VERSION = r"\d{3}\.\d{1,4}(?:\.\d{1,4})?"


@dataclass(frozen=True)
class ModuleFile:
    """The file nvidia.ko for one kernel, as modinfo describes it. ``flavour`` is "open" or "proprietary"; ``signer`` is
    the name in the certificate that it is signed with, empty where it is not signed."""

    version: str
    flavour: str
    signer: str = ""


@dataclass(frozen=True)
class DriverParts:
    """The parts of the driver beside the loaded module. ``libraries`` maps library names to versions; ``modules`` maps
    kernel releases to the module installed for each, the running kernel's first; ``firmware`` are the versions in
    /lib/firmware/nvidia."""

    libraries: dict[str, Fact[str]]
    modules: dict[str, Fact[ModuleFile]]
    firmware: Fact[tuple[str, ...]]

    @property
    def library(self) -> Fact[str]:
        """Return the version of the first library that is there. Where none is, the fact says why the first one is
        not."""
        facts = list(self.libraries.values())
        return next((fact for fact in facts if fact.known), facts[0])


def driver_parts(host: Host, wanted: bool, releases: tuple[str, ...]) -> DriverParts:
    """Read the driver's parts. ``releases`` are the running kernel's and, where it differs, the next one's. Not
    ``wanted``: nothing is read."""
    if not wanted:
        none: Fact[str] = absent("driver", Absence.NOT_ASKED)
        return DriverParts(dict.fromkeys(_LIBRARIES, none), {}, absent("driver", Absence.NOT_ASKED))
    return DriverParts({name: _library(host, name) for name in _LIBRARIES},
                       {release: _module(host, release) for release in dict.fromkeys(releases) if release},
                       _firmware(host))


def _library(host: Host, name: str) -> Fact[str]:
    """Return the version of a library, from the name of the file that its link leads to."""
    worst: Fact[str] = absent(f"{_FOLDERS[0]}/{name}", Absence.NOT_PRESENT)
    for folder in _FOLDERS:
        path = f"{folder}/{name}"
        try:
            file = host.realpath(path)
        except Unreadable as error:
            if error.absence is not Absence.NOT_PRESENT and worst.missing:
                worst = absent(path, error.reason)
            continue
        found = re.search(rf"\.so\.({_VERSION})$", file)
        return known(found[1], file) if found else not_understood(file, "its name holds no version")
    return worst


def _module(host: Host, release: str) -> Fact[ModuleFile]:
    """Ask modinfo for each of the names that the module's file may have. Where none is there, return what was said of
    the first."""
    asked = (_named(host, release, name) for name in file_names("nvidia"))
    first = next(asked)
    return next((fact for fact in asked if fact.known), first) if first.missing else first


def _named(host: Host, release: str, name: str) -> Fact[ModuleFile]:
    argv = ("modinfo", "-k", release, name)
    source = " ".join(argv)
    try:
        done = host.run(argv, 5.0)
    except Unreadable as error:
        return absent(source, _without_modinfo(host) if error.absence is Absence.NOT_PRESENT else error.reason)
    version = re.search(rf"^version:[ \t]*({_VERSION})[ \t]*$", done.stdout, re.MULTILINE)
    if version is None:
        return absent(source, Absence.NOT_PRESENT) if "not found" in done.stderr else not_understood(
            source, "no version line")
    licence = re.search(r"^license:[ \t]*(.*)$", done.stdout, re.MULTILINE)
    signer = re.search(r"^signer:[ \t]*(\S.*)$", done.stdout, re.MULTILINE)
    return known(ModuleFile(version[1], "open" if licence and "MIT" in licence[1] else "proprietary",
                            signer[1].strip()[:200] if signer else ""), source)


def _without_modinfo(host: Host) -> Reason:
    try:
        host.list("/lib/modules")
    except Unreadable as error:
        if error.absence is Absence.NOT_PRESENT:
            # This system is a container, or boots a kernel from outside: nothing is known about the next module.
            return Reason(Absence.ELSEWHERE)
    return Absence.NOT_INSTALLED.because("modinfo is not installed")


def _firmware(host: Host) -> Fact[tuple[str, ...]]:
    try:
        names = host.list(_FIRMWARE)
    except Unreadable as error:
        return absent(_FIRMWARE, error.reason)
    return known(tuple(name for name in names if re.fullmatch(_VERSION, name)), _FIRMWARE)
