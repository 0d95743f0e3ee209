"""kernel-log-complete: the log covers this boot to the time of reading, so that "nothing found" means something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents

CHECK = Check(
    "kernel-log-complete", "the kernel log holds this whole boot",
    Heading.KERNEL, 100, Family.ERRORS, happening=True,
)
_ID = CHECK.id
_KEEP = Remedy("let the journal keep the whole boot (Storage=persistent, SystemMaxUse= in journald.conf), or add "
               "log_buf_len=16M to the command line")
_RECORD = Remedy.of("on the box run: ", run("sudo tunecheck record"), "; it reads the log itself, to its end")


def judge(case: Case) -> Iterator[Finding]:
    found, source = from_log.events(case), case.host.kernel.log.source
    if found is None:
        yield from_log.unread(case, _ID)
    elif found.complete:
        yield Finding(_ID, "kernel log", "pass", "behaviour", "the kernel log holds this whole boot",
                      evidence=(source,))
    else:
        what, remedy = _lacks(found)
        yield Finding(_ID, "kernel log", "warn", "behaviour", f"the kernel log {what}; what happened there is not seen",
                      "incomplete", "a log from the first line of the boot to the time of reading", (source,), remedy)


def _lacks(found: KernelEvents) -> tuple[str, Remedy]:
    span = f" (from {found.first} to {found.last})" if found.first and found.last else ""
    if not found.start:
        return f"lost its start: the line `Linux version` is missing{span}", _RECORD if found.doubt else _KEEP
    if found.cut:
        return f"is too long to be read whole, or lost lines: its middle was left out{span}", _KEEP
    return f"begins at the boot, and {found.doubt}{span}", _RECORD
