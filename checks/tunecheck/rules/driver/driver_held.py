"""driver-held: no upgrade moves a part of the driver on its own."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "driver-held", "no upgrade moves a part of the driver on its own",
    Heading.DRIVER, 40, Family.DRIVER, DRIVER, judges=("held.*",),
)
_ID = CHECK.id
CODES = {
    "no-package": "No package holds the driver.",
    "not-held": "An upgrade would move packages of the driver on its own.",
}


def judge(case: Case) -> Iterator[Finding]:
    packages = case.host.packages
    if not packages.driver and (early := list(from_driver.nothing(case, _ID))):
        yield from early
        return
    evidence, parts = (packages.installed.source,), packages.driver
    if not packages.installed.known and not packages.installed.missing:
        yield from_driver.unread(_ID, "packages", "the driver's packages", packages.installed)
        return
    loose = [package.name for package in parts if not packages.pinned(package)]
    if not loose:
        yield Finding(_ID, OK if parts else "no-package", "packages", "pass" if parts else "skip", "configured",
                      f"all {len(parts)} packages of the "
                      "driver are held" if parts else "no package holds the driver", "", "", evidence)
        return
    runs = ", and unattended upgrades run" if packages.unattended else ""
    yield Finding(_ID, "not-held", "packages", "fail" if case.spec.driver.version else "warn", "configured",
                  f"{len(loose)} of "
                  f"{len(parts)} packages of the driver are not held{runs}: {', '.join(loose[:8])}"
                  f"{', ...' if len(loose) > 8 else ''}", "not held", "held", evidence,
                  from_driver.hold(packages.manager, loose))

