"""driver-version: the loaded kernel driver is exactly the declared one."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import DRIVER, Check, Family, Heading
from ..context import Case

CHECK = Check(
    "driver-version", "the loaded driver is the declared one",
    Heading.DRIVER, 10, Family.DRIVER, DRIVER, judges=("driver.loaded",),
)
_ID = CHECK.id
_INSTALL = Remedy("install modules and libraries of exactly that release together, hold their packages, reboot")


def judge(case: Case) -> Iterator[Finding]:
    wanted, driver = case.spec.driver.version, case.host.driver
    if wanted is None:
        seen = f"; {driver.version.value} is loaded" if driver.version.value else ""
        asked = "the spec pins no driver version" if case.frozen else "no spec given"
        yield Finding(_ID, "nvidia", "skip", "declared", f"{asked}{seen}")
        return
    found, evidence = driver.version, (driver.version.source, f"flavour {driver.flavour.value or 'unknown'}")
    if found.value is None:
        outcome = "fail" if found.missing else "unknown"
        reason = ("no NVIDIA kernel driver is loaded" if found.missing
                  else f"the driver's version is unknown: {found.why()}")
        yield Finding(_ID, "nvidia", outcome, "effective", reason, "", wanted, evidence,
                      case.play("driver", by_hand=_INSTALL) if found.missing else None)
        return
    good = found.value == wanted
    yield Finding(_ID, "nvidia", "pass" if good else "fail", "effective", f"driver {found.value} is loaded",
                  found.value, wanted, evidence, None if good else case.play("driver", True, by_hand=_INSTALL))
