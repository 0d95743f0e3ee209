"""unattended-upgrades: upgrades that run by themselves leave driver and container toolkit alone."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import Finding
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "unattended-upgrades", "upgrades by themselves spare driver and toolkit",
    Heading.DRIVER, 50, Family.DRIVER, DRIVER, judges=("packages.unattended", "packages.spared"),
)
_ID = CHECK.id
CODES = {
    "no-unattended-upgrades": "Nothing lets upgrades run by themselves.",
    "no-package": "No package holds driver or toolkit.",
    "not-spared": "Unattended upgrades may move packages of driver or toolkit.",
}


def judge(case: Case) -> Iterator[Finding]:
    packages = case.host.packages
    parts = [*packages.driver, *packages.toolkit]
    if not parts and not packages.installed.known and packages.installed.absence not in (
            Absence.NOT_PRESENT, Absence.NOT_ASKED):
        yield from_driver.unread(_ID, "packages", "the driver's packages", packages.installed)
        return
    if not parts or not packages.unattended:
        yield Finding(_ID, "no-unattended-upgrades" if parts else "no-package", "packages", "skip", "configured",
                      "nothing lets upgrades run by themselves" if parts else
                      "no package holds driver or toolkit")
        return
    loose = [each.name for each in parts if not (packages.pinned(each) or packages.left_alone(each))]
    if not loose:
        yield Finding(_ID, "ok", "packages", "pass", "configured",
                      f"unattended upgrades leave all {len(parts)} packages of "
                      "driver and toolkit alone", evidence=(packages.installed.source,))
        return
    strict = case.spec.driver.source != "leave" and case.spec.driver.hold
    yield Finding(_ID, "not-spared", "packages", "fail" if strict else "warn", "configured",
                  f"unattended upgrades may move "
                  f"{len(loose)} of {len(parts)} packages: {', '.join(loose[:8])}", "",
                  "held or on Unattended-Upgrade::Package-Blacklist", (packages.installed.source,),
                  from_driver.hold("dpkg", loose))
