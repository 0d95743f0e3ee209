"""driver-version: the loaded kernel driver is exactly the declared one."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..codes import NO_DRIVER, NOT_DECLARED, OK, UNREAD
from ..context import Case

CHECK = Check(
    "driver-version", "the loaded driver is the declared one",
    Heading.DRIVER, 10, Family.DRIVER, DRIVER, judges=("driver.loaded",),
)
_ID = CHECK.id
CODES = {
    "other-version": "The loaded driver is of another version than declared.",
}
_INSTALL = Remedy("install modules and libraries of exactly that release together, hold their packages, reboot")


def judge(case: Case) -> Iterator[Finding]:
    wanted, driver = case.spec.driver.version, case.host.driver
    if wanted is None:
        seen = f"; {driver.version.value} is loaded" if driver.version.value else ""
        asked = "the spec pins no driver version" if case.frozen else "no spec given"
        yield Finding(_ID, NOT_DECLARED, "nvidia", "skip", "declared", f"{asked}{seen}")
        return
    version, evidence = driver.version, (driver.version.source, f"flavour {driver.flavour.value or 'unknown'}")
    if version.value is None:
        outcome = "fail" if version.missing else "unknown"
        reason = ("no NVIDIA kernel driver is loaded" if version.missing
                  else f"the driver's version is unknown: {version.why()}")
        yield Finding(_ID, NO_DRIVER if version.missing else UNREAD, "nvidia", outcome, "effective", reason, "",
                      wanted, evidence,
                      case.play("driver", by_hand=_INSTALL) if version.missing else None)
        return
    good = version.value == wanted
    yield Finding(_ID, OK if good else "other-version", "nvidia", "pass" if good else "fail", "effective",
                  f"driver {version.value} is loaded",
                  version.value, wanted, evidence, None if good else case.play("driver", True, by_hand=_INSTALL))
