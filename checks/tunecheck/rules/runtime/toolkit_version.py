"""toolkit-version: the packages of the NVIDIA container toolkit are of one version, and that is the declared one."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..codes import NO_TOOLKIT, OK
from ..context import Case
from . import from_runtime

CHECK = Check(
    "toolkit-version", "the toolkit is of one version, the declared one",
    Heading.RUNTIME, 30, Family.RUNTIME, RUNTIME,
)
_ID = CHECK.id
CODES = {
    "several-versions": "The packages of the container toolkit are of several versions.",
    "other-version": "The container toolkit is of another version than declared.",
}


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_runtime.unlisted(case, _ID, "toolkit")):
        yield from early
        return
    want, installed = case.spec.runtime.toolkit, case.host.packages.toolkit
    evidence = (case.host.packages.installed.source,)
    names: dict[str, list[str]] = {}
    for package in installed:
        names.setdefault(package.version.partition("-")[0], []).append(package.name)
    fix = case.play("runtime", by_hand=Remedy("install all packages of nvidia-container-toolkit in one release, and "
                                              "hold them"))
    if not installed:
        yield Finding(_ID, NO_TOOLKIT, "toolkit", "fail" if want else "skip", "effective",
                      "the NVIDIA container toolkit is not "
                      "installed", "none", want or "", evidence, fix if want else None)
    elif len(names) > 1:
        each = "; ".join(f"{version}: {', '.join(sorted(packages))}" for version, packages in sorted(names.items()))
        yield Finding(_ID, "several-versions", "toolkit", "fail", "effective",
                      f"the container toolkit is of several versions ({each})",
                      each, want or "one version", evidence, fix)
    else:
        (version,) = names
        good = want in (None, version)
        yield Finding(_ID, OK if good else "other-version", "toolkit", "pass" if good else "fail", "effective",
                      f"{len(installed)} packages of the "
                      f"container toolkit are {version}", version, want or "", evidence, None if good else fix)
