"""gpu-start: the driver brought every GPU up: no failed adapter, firmware (GSP) or probe since boot."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ...parsers.nvidia.driver_failures import KINDS, Failure
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "gpu-start", "the driver brought every GPU up: adapter, firmware (GSP), probe",
    Heading.KERNEL, 20, Family.ERRORS, happening=True,
)
_ID = CHECK.id
_RESET = Remedy.typed("look at what the kernel log says just before (`sudo journalctl -k -b -g nvrm`); reset the GPU, "
                      "or power-cycle the host where that does not help", (), True)
_FIXES = {
    "gsp": Remedy("compare the firmware package with the driver (driver-coherence); where they fit: power-cycle the "
                  "host", (), True),
    "wpr2": Remedy("power-cycle the host, a reboot keeps the region; then look for what failed first", (), True,
                   Place.MACHINE),
}


def judge(case: Case) -> Iterator[Finding]:
    found = from_log.events(case)
    if found is None:
        yield from_log.unread(case, _ID)
        return
    failures = [each for each in found.failures if each.kind != "panic"]
    for each in failures:
        yield _judge(case, each, each.load == found.loads)
    if not failures:
        yield from_log.nothing(case, _ID, "failed start of a GPU")


def _judge(case: Case, found: Failure, current: bool) -> Finding:
    subject = from_log.name(case, found.gpu) or "driver"
    times = f", {found.count} times, last" if found.count > 1 else ""
    text = (f"{subject}: {KINDS[found.kind]}{times}{from_log.at(found.last)}"
            + ("" if current else ", before the driver was loaded again"))
    return Finding(_ID, f"{subject} {found.kind}", "fail" if current else "warn", "behaviour", text, found.text,
                   "every GPU brought up by the driver", (f"{case.host.kernel.log.source}: {found.text}",),
                   _FIXES.get(found.kind, _RESET))
