"""kernel-log-complete: the log covers this boot to the time of reading, so that "nothing found" means something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case
from ..running_words import runs
from . import from_log

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents

CHECK = Check(
    "kernel-log-complete", "the kernel log holds this whole boot",
    # How much of the log is there is no event: a text that never tells where it ends is no news every night.
    Heading.KERNEL, 100, Family.ERRORS, happening=False,
)
CODES = {
    "start-missing": "The kernel log lost its start: it does not hold the first line of the boot.",
    "lines-missing": "The kernel log lost lines, or its middle was left out.",
    "end-unknown": "Whether the log reaches up to now is not known.",
}
_ID = CHECK.id
_KEEP = "let the journal keep the whole boot (Storage=persistent, SystemMaxUse= in journald.conf)"
_BUFFER = "log_buf_len=16M"
_RECORD = Remedy.of("a text of a log shows faults, and cannot prove that there were none: on the box run: ",
                    run("sudo tunecheck record"), ", which reads the log itself, to its end; then judge what it ",
                    "wrote: ", run("tunecheck preflight --from FILE"))


def judge(case: Case) -> Iterator[Finding]:
    log, source = from_log.events(case), case.host.kernel.log.source
    if log is None:
        yield from_log.unread(case, _ID)
    elif log.complete:
        yield Finding(_ID, "ok", "kernel log", "pass", "behaviour", "the kernel log holds this whole boot",
                      evidence=(source,))
    else:
        code, what, remedy = _lacks(case, log)
        yield Finding(_ID, code, "kernel log", "warn", "behaviour", f"{what}; what happened there is not seen",
                      "incomplete", "a log from the first line of the boot to the time of reading",
                      (source,), remedy)


def _lacks(case: Case, log: KernelEvents) -> tuple[str, str, Remedy]:
    span = f" (from {log.first} to {log.last})" if log.first and log.last else ""
    if not log.start:
        text = f"the kernel log lost its start; the line `Linux version` is missing{span}"
        return "start-missing", text, _RECORD if log.doubt else _keep(case)
    if log.cut:
        text = f"the kernel log is too long to be read whole, or lost lines; its middle was left out{span}"
        return "lines-missing", text, _keep(case)
    return "end-unknown", f"not known to be whole; the kernel log begins at the boot, and {log.doubt}{span}", _RECORD


def _keep(case: Case) -> Remedy:
    """Return how the next boot's log stays whole."""
    if runs(case, _BUFFER):
        return Remedy(f"{_KEEP}: {_BUFFER} runs already and was not enough")
    return Remedy(f"{_KEEP}, or add {_BUFFER} to the command line")
