"""kernel-panic: the kernel did not stop. After a panic its text is in the log of a serial console or in pstore."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "kernel-panic", "the kernel did not stop", Heading.KERNEL, 80, Family.ERRORS,
)
CODES = {
    "panic": "The kernel stopped with a panic.",
}
_ID = CHECK.id
_LOOK = Remedy("look at the lines before it for what was running, and at xid and aer-events for the hardware")


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    panics = [each for each in log.failures if each.kind == "panic"]
    for each in panics:
        yield Finding(_ID, "panic", "kernel", "fail", "behaviour", f"{each.text}{from_log.at(each.last)}", each.text,
                      "no panic", (case.host.kernel.log.source,), _LOOK)
    if not panics:
        yield from_log.nothing_logged(case, _ID, "panic")
