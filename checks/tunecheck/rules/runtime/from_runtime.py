"""What the checks of the container runtime have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts.nvidia.packages import ENGINES
from ...facts.runtime.runtime import CdiSpec, Runtime
from ...model.command import file, run
from ...model.fact import Absence, Fact, absent_as, known
from ...model.finding import Finding, Remedy
from ..codes import NO_CDI_SPEC, NO_TOOLKIT, NOTHING_TO_SERVE
from ..context import Case
from ..nvidia import from_driver

__all__ = ["declared", "defined_twice", "engine", "engines_unlisted", "gpu_specs", "made_again", "no_specs",
           "no_toolkit", "numbers", "perhaps_unwanted", "read", "unlisted"]


def read(case: Case, check: str, subject: str) -> Iterator[Finding]:
    """Yield the finding that ends a check early: what there is of the container runtime was not read. Nothing where it
    was."""
    fact = case.host.runtime
    if fact.value is None and fact.absence is Absence.NOT_ASKED:
        yield Finding(check, NOTHING_TO_SERVE, subject, "skip", "effective",
                      "neither a GPU of NVIDIA's nor an engine in the spec")
    elif fact.value is None:
        yield from_driver.unread(check, subject, "the container runtime", fact)


def declared(case: Case) -> bool:
    """Whether the spec asks for an engine. If so, what is missing is a failure, else a warning."""
    return case.spec.runtime.engine != "leave"


def engine(case: Case) -> str:
    """The declared engine, else the one that is installed, podman before docker; empty where there is none."""
    if declared(case):
        return case.spec.runtime.engine
    return next((name for name in ENGINES if case.host.packages.engine(name)), "")


def unlisted(case: Case, check: str, subject: str) -> Iterator[Finding]:
    """Yield the finding that ends a check early: the packages of NVIDIA's container toolkit cannot be listed, or were
    not."""
    fact = case.host.packages.installed
    if fact.absence is Absence.NOT_ASKED:
        yield Finding(check, NOTHING_TO_SERVE, subject, "skip", "configured",
                      "neither a GPU of NVIDIA's nor an engine in the spec")
    elif not fact.known and not fact.missing:
        yield from_driver.unread(check, subject, "the packages of the container toolkit", fact)


def no_toolkit(case: Case) -> bool:
    """Whether the container toolkit is known not to be installed. False where the packages could not be listed."""
    packages = case.host.packages
    return not packages.toolkit and (packages.installed.known or packages.installed.missing)


def engines_unlisted(case: Case, check: str) -> Iterator[Finding]:
    """Yield the finding that ends a check early: nobody could say whether a container engine is installed."""
    others = case.host.packages.others
    if others.known or others.missing:
        return
    if no_toolkit(case):
        yield Finding(check, NO_TOOLKIT, "engine", "skip", "configured", "no container toolkit is installed")
    else:
        yield from_driver.unread(check, "engine", "whether a container engine is installed", others)


def perhaps_unwanted(case: Case, check: str) -> Iterator[Finding]:
    """Yield the finding that ends a check early: no specification is there, and nobody could say whether one is
    needed."""
    if not (declared(case) or gpu_specs(case).value or from_driver.loaded(case).missing):
        yield from unlisted(case, check, "nvidia.com/gpu")


def no_specs(specs: Fact[tuple[CdiSpec, ...]]) -> tuple[str, str]:
    """Return code and sentence of why there is no CDI specification to judge."""
    if specs.known or specs.absence is Absence.NOT_ASKED:
        return NO_CDI_SPEC, "there is no CDI specification of GPUs"
    return NO_TOOLKIT, "no container toolkit is installed"


def gpu_specs(case: Case) -> Fact[tuple[CdiSpec, ...]]:
    """Return the CDI specifications of NVIDIA's GPUs. Where two define the same device, the later one wins."""
    runtime: Fact[Runtime] = case.host.runtime
    if runtime.value is None:
        return absent_as(runtime)
    cdi = runtime.value.cdi
    if cdi.value is None:
        return cdi
    return known(tuple(spec for spec in cdi.value if spec.kind == "nvidia.com/gpu"), cdi.source)


def defined_twice(specs: tuple[CdiSpec, ...]) -> list[str]:
    """Return pairs of files in one folder that define the same device: engines then refuse it (CDI SPEC.md)."""
    seen: dict[tuple[str, str], str] = {}
    twice: list[str] = []
    for spec in specs:
        folder = spec.file.rpartition("/")[0]
        twice += [f"{first} and {spec.file}" for name in spec.devices
                  if (first := seen.setdefault((folder, name), spec.file)) != spec.file]
    return list(dict.fromkeys(twice))


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a package's version: ``5:28.2.0-1~ubuntu.24.04`` -> (28, 2, 0); empty for a text without
    them."""
    match = re.match(r"(?:\d{1,3}:)?(\d{1,6}(?:\.\d{1,6}){0,3})", version)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def made_again(place: str) -> Remedy:
    """Return how the CDI specification at this path is made again."""
    if place.startswith("/var/run/"):
        return Remedy.of("run: ", run("systemctl restart nvidia-cdi-refresh"))
    known = file(place)
    return Remedy.of("run: ", run("nvidia-ctk cdi generate", f"--output={known}")) if known else Remedy(
        "make it again with nvidia-ctk cdi generate")
