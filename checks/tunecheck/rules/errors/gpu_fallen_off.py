"""gpu-fallen-off: no GPU fell off the bus, neither in operation (Xid 79) nor when the driver looked (no Xid), and none
locked up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...model.finding import Finding
from ...parsers.nvidia.driver_failures import KINDS, Failure
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log, gpu_trouble

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents

CHECK = Check(
    "gpu-fallen-off", "no GPU fell off the bus, in operation or at probe",
    Heading.KERNEL, 40, Family.ERRORS,
)
CODES = {
    "fell-off-bus": "A GPU fell off the bus in operation.",
    "no-answer-at-probe": "A GPU did not answer when the driver looked for it.",
    "lost": "The driver or the kernel says without an Xid that a GPU does not answer any more.",
    "locked-up": "The driver's watchdog says that a GPU is probably locked up.",
    "needs-reset": "The driver says that a GPU requires a reset.",
    "quoted": "A sentence or another program says that a GPU fell off the bus, and no line of the kernel that is here.",
}
_ID = CHECK.id
_CODES = {"gone": "lost", "locked": "locked-up", "reset": "needs-reset"}


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
                      + ("" if current else ", before the driver was loaded again")
                      + from_log.not_listed(case, gpu.gpu), "fallen off the bus",
                      "every GPU on the bus", (case.host.kernel.log.source,), gpu_trouble.remedy(log, gpu))
    silent = list(_without_xid(log))
    for each in silent:
        current = each.load == log.loads
        subject = from_log.name(case, each.gpu) or "a GPU that the log does not name"
        yield Finding(_ID, _CODES[each.kind], each.gpu or each.kind, "fail" if current else "warn", "behaviour",
                      f"{subject}: {KINDS[each.kind]}{from_log.at(each.last)}"
                      + ("" if current else ", before the driver was loaded again")
                      + from_log.not_listed(case, each.gpu), each.text,
                      "every GPU on the bus and at work", (case.host.kernel.log.source,),
                      gpu_trouble.remedy(log, each))
    quoted = from_log.quoted(case, _ID, 79)
    if quoted:
        yield quoted
    elif not log.fallen and not silent:
        yield from_log.nothing_logged(case, _ID, "GPU that fell off the bus")


def _without_xid(log: KernelEvents) -> Iterator[Failure]:
    """Yield what the driver says of such GPUs without an Xid, each GPU once. A line that names no GPU tells nothing new
    beside one that does."""
    fell = {(gpu.load, gpu.gpu) for gpu in log.fallen}
    ill = [each for each in log.failures if each.kind in _CODES]
    named = {each.load for each in ill if each.kind == "gone" and each.gpu} | {load for load, _ in fell}
    for each in ill:
        if each.kind != "gone" or ((each.load, each.gpu) not in fell and (each.gpu or each.load not in named)):
            yield each
