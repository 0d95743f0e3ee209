"""cmdline-rejected: the kernel took every declared parameter that is on its command line."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding
from ...parsers.kernel.cmdline import words
from ...parsers.kernel.kernel_params import INEFFECTIVE, name_of, release_of, unparsed
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..context import Case
from ..errors import from_log
from . import boot_remedies

CHECK = Check(
    "cmdline-rejected", "the kernel took every declared parameter",
    Heading.BOOT, 20, Family.BOOT, in_trial=True, judges=("kernel.rejected",),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    declared = words(declared_tokens(case.spec))
    if running.value is None:
        yield Finding(_ID, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,),
                      absence=running.absence)
        return
    present = words(running.value)
    accepted, running_ours = [], [word for word in declared if word in present]
    for word in running_ours:
        reason, source = rejection(case, word)
        if reason:
            yield _declared(case, word, reason, source)
        else:
            accepted.append(word)
    if accepted or not running_ours:
        yield _rest(case, accepted)


def rejection(case: Case, word: str) -> tuple[str, str]:
    """Why the kernel rejects a word that is on its command line, and who says so; ("", "") where it does not."""
    log, silent = case.host.kernel.log, from_log.whole(case)
    complaints = log.value.rejected if log.value else {}
    line = complaints.get(word) or (None if word.startswith("pci=") else complaints.get(name_of(word)))
    if line:
        return line, log.source
    # A kernel that has a newer word ported back says so by its silence, where the log is whole.
    reason = unparsed(word, (0, 0) if silent else release_of(case.host.kernel.release.value or ""))
    return (reason, "the kernel's own parser") if reason else ("", "")


def _declared(case: Case, word: str, reason: str, source: str) -> Finding:
    if word in INEFFECTIVE:
        return Finding(_ID, word, "warn", "effective", f"{word} is on the command line but rejected by the kernel "
                       f"({reason}): it changes nothing; whether ACS is off is proven by acs-redirect instead",
                       "rejected", "", (source,))
    return Finding(_ID, word, "fail", "effective", f"{word} is on the command line but rejected by the kernel "
                   f"({reason}): it changes nothing", "rejected", "taken", (source,),
                   case.play("cmdline", True, "correct box_spec.kernel.cmdline in the inventory",
                             boot_remedies.remove(word)))


def _rest(case: Case, accepted: list[str]) -> Finding:
    log = case.host.kernel.log
    if not accepted:
        return Finding(_ID, "kernel command line", "skip", "effective", "no declared parameter is on the running "
                       "command line" if case.frozen else "no spec given, so no parameter is declared")
    named = ", ".join(accepted)
    if log.value is None or not from_log.whole(case):
        why = log.why() if log.value is None else f"no complaint {from_log.partial(case)}"
        root = AS_ROOT if log.absence is Absence.NO_PERMISSION else None
        return Finding(_ID, "kernel command line", "unknown", "effective",
                       f"whether the kernel took {named} is unknown: {why}", "?", "taken", (log.source,), root,
                       "" if log.value is None else from_log.partial_code(case), log.absence)
    return Finding(_ID, "kernel command line", "pass", "effective", f"the kernel complained about none of {named}",
                   "taken", "taken", (log.source,))
