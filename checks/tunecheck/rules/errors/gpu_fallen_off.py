"""gpu-fallen-off: no GPU fell off the bus, neither in operation (Xid 79) nor when the driver looked (no Xid)."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "gpu-fallen-off", "no GPU fell off the bus, in operation or at probe",
    Heading.KERNEL, 40, Family.ERRORS, happening=True,
)
CODES = {
    "fell-off-bus": "A GPU fell off the bus in operation.",
    "no-answer-at-probe": "A GPU did not answer when the driver looked for it.",
}
_ID = CHECK.id
_FIX = Remedy("reboot the host, power-cycle it if the GPU stays away; again: look at power, seating, riser", (), True,
              Place.MACHINE)
_SEE = Remedy("do what xid recommends for it; if it happens again: look at power, seating, riser", place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    for gpu in log.fallen:
        current = gpu.load == log.loads
        code, how = (("no-answer-at-probe", "did not answer when the driver looked for it (no Xid)") if gpu.at_probe
                     else ("fell-off-bus", "fell off the bus"))
        yield Finding(_ID, code, gpu.gpu, "fail" if current else "warn", "behaviour",
                      f"{from_log.name(case, gpu.gpu)} {how}{from_log.at(gpu.when)}"
                      + ("" if current else ", before the driver was loaded again"), "fallen off the bus",
                      "every GPU on the bus", (case.host.kernel.log.source,), _FIX if gpu.at_probe else _SEE)
    if not log.fallen:
        yield from_log.nothing_logged(case, _ID, "GPU that fell off the bus")
