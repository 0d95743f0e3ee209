"""toolkit-held: no upgrade moves a part of the NVIDIA container toolkit on its own."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import RUNTIME, Check, Family, Heading
from ..codes import NO_TOOLKIT, OK
from ..context import Case
from ..nvidia import from_driver
from . import from_runtime

CHECK = Check(
    "toolkit-held", "no upgrade moves a part of the toolkit on its own",
    Heading.RUNTIME, 40, Family.RUNTIME, RUNTIME, judges=("held.*",),
)
_ID = CHECK.id
CODES = {
    "not-held": "An upgrade would move packages of the container toolkit on its own.",
}


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_runtime.unlisted(case, _ID, "toolkit")):
        yield from early
        return
    packages, evidence = case.host.packages, (case.host.packages.installed.source,)
    loose = [package.name for package in packages.toolkit if not packages.pinned(package)]
    if not loose:
        text = "every package of the container toolkit is held" if packages.toolkit else "no container toolkit is there"
        yield Finding(_ID, OK if packages.toolkit else NO_TOOLKIT, "toolkit", "pass" if packages.toolkit else "skip",
                      "configured", text, evidence=evidence)
        return
    yield Finding(_ID, "not-held", "toolkit", "fail" if case.spec.runtime.toolkit else "warn", "configured",
                  "not held: "
                  + ", ".join(loose), "not held", "held", evidence, from_driver.hold(packages.manager, loose))
