"""unattended-upgrades: upgrades that run by themselves leave driver and container toolkit alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import from_driver
from .finding import Case, Finding, Remedy

_ID = "unattended-upgrades"


def judge(case: Case) -> Iterator[Finding]:
    found = case.host.packages
    parts = [*found.driver, *found.toolkit]
    if not parts and not found.installed.known and found.installed.reason not in ("not present", "not asked for"):
        yield from_driver.unread(_ID, "packages", "the driver's packages", found.installed)
        return
    if not parts or not found.unattended:
        yield Finding(_ID, "packages", "skip", "configured", "nothing lets upgrades run by themselves" if parts else
                      "no package holds driver or toolkit")
        return
    loose = [part.name for part in parts if not (found.pinned(part) or any(_spares(each, part.name) for each in found.spared))]
    strict = case.spec.driver.source != "leave" and case.spec.driver.hold
    yield Finding(_ID, "packages", "pass" if not loose else "fail" if strict else "warn", "configured",
                  f"unattended upgrades may move {len(loose)} of {len(parts)} packages: {', '.join(loose[:8])}" if loose else
                  f"unattended upgrades leave all {len(parts)} packages of driver and toolkit alone", "", "held or on "
                  "Unattended-Upgrade::Package-Blacklist" if loose else "", (found.installed.source,),
                  Remedy("run: apt-mark hold " + " ".join(loose[:40])) if loose else None)


def _spares(pattern: str, name: str) -> bool:
    """A Python expression that the name begins with (re.match); of those only what a list of packages needs is tried:
    whoever recorded the host wrote it."""
    plain = re.fullmatch(r"\^?((?:[\w+-]|\\?\.(?!\*))*)(\.\*|\*)?(\$?)", pattern)
    if plain is None:
        return False
    start = plain[1].replace("\\", "")
    return name == start if plain[3] and not plain[2] else name.startswith(start)
