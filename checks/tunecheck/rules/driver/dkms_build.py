"""dkms-build: DKMS has the sources of this driver, and the headers of the kernel that the next boot starts."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "dkms-build", "DKMS can build the module for the next kernel",
    Heading.DRIVER, 70, Family.DRIVER, DRIVER,
)
_ID, _REMOVE = CHECK.id, Remedy.of("run for each old one: ", run("dkms remove nvidia/OLD --all"))
CODES = {
    "no-sources": "DKMS holds no sources of the driver.",
    "other-version": "DKMS holds other versions than the driver's.",
    "no-headers": "The headers of the next kernel are not installed, so DKMS cannot build for it.",
    "several-versions": "DKMS holds several versions of the driver.",
}


def judge(case: Case) -> Iterator[Finding]:
    fact, parts, listed = case.host.module_build, case.host.driver_parts, case.host.packages.installed
    if fact.value is None and fact.absence is not Absence.NOT_ASKED and (
            listed.value is None or any("dkms" in each.name for each in listed.value)):
        yield from_driver.unread(_ID, "dkms", "what DKMS holds", fact)
        return
    if fact.value is None or not fact.value.trees or not parts.modules:
        yield Finding(_ID, "no-sources", "dkms", "skip", "generated", "DKMS holds no sources of the driver")
        return
    versions = sorted({tree.version for tree in fact.value.trees})
    want = parts.library.value or from_driver.loaded(case).value
    release, module = list(parts.modules.items())[-1]
    if want and want not in versions:
        yield Finding(_ID, "other-version", "dkms", "fail", "generated",
                      f"DKMS holds {', '.join(versions)}, the driver is {want}",
                      versions[0], want, (fact.source,), Remedy("install the dkms package of the driver's version"))
    elif release not in fact.value.headers:
        fix = from_driver.build(release, f"install linux-headers-{release} (kernel-devel-{release}); ")
        yield Finding(_ID, "no-headers", release, "warn" if module.value else "fail", "generated",
                      f"the headers of kernel {release} "
                      "are not installed; DKMS cannot build for it", "none", "headers",
                      (f"/lib/modules/{release}/build",), fix)
    elif len(versions) > 1:
        yield Finding(_ID, "several-versions", "dkms", "warn", "generated",
                      f"DKMS holds several versions: {', '.join(versions)}; which "
                      "one a new kernel gets is open", remedy=_REMOVE)
    else:
        yield Finding(_ID, "ok", "dkms", "pass", "generated",
                      f"DKMS holds {versions[0]}, and kernel {release} has its headers")
