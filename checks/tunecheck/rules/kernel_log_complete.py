"""kernel-log-complete: the log reaches back to the first line of this boot, so that "nothing found" means something."""

from __future__ import annotations

from collections.abc import Iterator

from . import from_log
from .finding import Case, Finding, Remedy

_ID = "kernel-log-complete"
_KEEP = Remedy("let the journal keep the whole boot (Storage=persistent, SystemMaxUse= in journald.conf), or add "
               "log_buf_len=16M to the command line")


def judge(case: Case) -> Iterator[Finding]:
    found, source = from_log.events(case), case.host.kernel.log.source
    if found is None:
        yield from_log.unread(case, _ID)
    elif found.complete:
        yield Finding(_ID, "kernel log", "pass", "behaviour", "the kernel log holds this whole boot",
                      evidence=(source,))
    else:
        what = ("is too long to be read whole: its middle was left out" if found.start else
                "lost its start: the line `Linux version` is missing")
        yield Finding(_ID, "kernel log", "warn", "behaviour", f"the kernel log {what}; what happened there is not seen",
                      "incomplete", "a log from the first line of the boot on", (source,), _KEEP)
