"""kernel-held: where the driver's modules come precompiled, no upgrade brings a kernel before its modules are there."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import Finding
from ...util.at_first_use import regex
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "kernel-held", "the kernel waits for precompiled driver modules",
    Heading.DRIVER, 60, Family.DRIVER, DRIVER,
)
_ID = CHECK.id
CODES = {
    "no-precompiled-modules": "No package brings precompiled modules of the driver.",
    "not-held": "An upgrade may bring a kernel before the driver has modules for it.",
}
_MODULES = regex(r"linux-(?:modules|objects)-nvidia-|kmod-nvidia-\d")
#: A package with a kernel's version in its name never becomes another kernel; these do.
_MOVES = regex(r"(?:linux-(?:image|headers|generic|virtual)(?!.*\d\.\d+\.\d)|kernel$|kernel-core$)")


def judge(case: Case) -> Iterator[Finding]:
    packages = case.host.packages
    modules = [each.name for each in packages.installed.value or () if _MODULES.match(each.name)]
    if not modules:
        unknown = not packages.installed.known and packages.installed.absence not in (
            Absence.NOT_PRESENT, Absence.NOT_ASKED)
        yield from_driver.unread(_ID, "kernel", "the driver's packages", packages.installed) if unknown else Finding(
            _ID, "no-precompiled-modules", "kernel", "skip", "configured",
            "no package brings precompiled modules of the driver")
        return
    if packages.others.value is None:
        yield from_driver.unread(_ID, "kernel", "the kernel's packages", packages.others)
        return
    loose = [each.name for each in packages.others.value if _MOVES.match(each.name) and not packages.pinned(each)]
    strict = case.spec.driver.modules == "precompiled" and case.spec.driver.source != "leave"
    yield Finding(_ID, "not-held" if loose else OK, "kernel", "pass" if not loose else "fail" if strict else "warn",
                  "configured",
                  f"an upgrade may bring a kernel before {modules[0]} has modules for it: {', '.join(loose[:6])} not "
                  "held" if loose else "no upgrade brings another kernel", ", ".join(loose), "held" if loose else "",
                  (packages.others.source,), from_driver.hold(packages.manager, loose) if loose else None)
