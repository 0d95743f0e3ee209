"""cmdline-rejected: the kernel took every declared parameter that is on its command line."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding
from ...parsers.kernel.cmdline import words
from ...parsers.kernel.kernel_params import HARMLESS, INEFFECTIVE, READ_APART, name_of, release_of, unparsed
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..codes import NOT_DECLARED, UNREAD
from ..context import Case
from ..errors import from_log
from ..remedies import boot_remedies

CHECK = Check(
    "cmdline-rejected", "the kernel took every declared parameter",
    Heading.BOOT, 20, Family.BOOT, in_trial=True, judges=("kernel.rejected",),
)
CODES = {
    "rejected": "The kernel rejects a declared parameter.",
    "rejected-by-every-kernel": "No kernel takes this declared parameter; acs-redirect judges what it was meant for.",
    "read-apart": "The kernel's parser leaves the declared parameter to user space, and another part of the kernel "
                  "reads it: whether that took it is not in the log.",
    "not-running": "No declared parameter is on the running command line.",
}
#: The evidence of what no kernel takes: a table of ours, where the log does not tell.
PARSER = "the kernel's own parser"
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    declared = words(declared_tokens(case.spec))
    if running.value is None:
        yield Finding(_ID, UNREAD, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,),
                      absence=running.absence)
        return
    present = words(running.value)
    accepted, running_declared = [], [word for word in declared if word in present]
    for word in running_declared:
        reason, source = rejection(case, word)
        if reason:
            yield _rejected(case, word, reason, source)
        elif _read_apart(case, word):
            yield Finding(_ID, "read-apart", word, "skip", "effective", f"{word} is on the command line; the kernel's "
                          "parser lists it as handed to user space, but another part of the kernel reads it: whether "
                          "that took it is not in the log", "handed to user space", "", (case.host.kernel.log.source,))
        else:
            accepted.append(word)
    if accepted or not running_declared:
        yield _accepted(case, accepted)


def rejection(case: Case, word: str) -> tuple[str, str]:
    """Why the kernel rejects a word that is on its command line, and the source of that; ("", "") where it does not."""
    log = case.host.kernel.log
    complaints = log.value.rejected if log.value else {}
    line = complaints.get(word) or (None if word.startswith("pci=") else complaints.get(name_of(word)))
    if line and not _read_apart(case, word):
        return line, log.source
    # A kernel may have a newer word ported back: then a log that is whole holds no complaint about it.
    reason = unparsed(word, (0, 0) if from_log.is_complete(case) else release_of(case.host.kernel.release.value or ""))
    return (reason, PARSER) if reason else ("", "")


def _read_apart(case: Case, word: str) -> bool:
    """Whether the kernel lists the word as handed to user space and is known to read it all the same."""
    log = case.host.kernel.log.value
    return log is not None and name_of(word) in READ_APART and (word in log.rejected or name_of(word) in log.rejected)


def _rejected(case: Case, word: str, reason: str, source: str) -> Finding:
    if word in INEFFECTIVE:
        why = INEFFECTIVE[word] if source == PARSER else reason
        return Finding(_ID, "rejected-by-every-kernel", word, "warn", "effective", f"{word} is on the command line, as "
                       f"the specification asks, but this kernel rejects it ({why}): {HARMLESS.format(word=word)}",
                       "rejected", "", (source,))
    remedy = case.play("cmdline", True, "correct box_spec.kernel.cmdline in the inventory",
                       boot_remedies.remove(case, [word]))
    # What is handed to user space may mean something to a program there.
    told = (f"not known to the kernel's parser, which hands it to user space ({reason})"
            if reason.startswith("Unknown kernel") else f"rejected by the kernel ({reason}): it changes nothing")
    return Finding(_ID, "rejected", word, "fail", "effective", f"{word} is on the command line but {told}", "rejected",
                   "taken", (source,), remedy)


def _accepted(case: Case, accepted: list[str]) -> Finding:
    log = case.host.kernel.log
    if not accepted:
        code = "not-running" if declared_tokens(case.spec) else NOT_DECLARED
        return Finding(_ID, code, "kernel command line", "skip", "effective", "no declared parameter is on the running "
                       "command line" if case.frozen else "no spec given, so no parameter is declared")
    named = ", ".join(accepted)
    if log.value is None or not from_log.is_complete(case):
        why = log.why() if log.value is None else f"no complaint {from_log.limits_of_log(case)}"
        root = AS_ROOT if log.absence is Absence.NO_PERMISSION else None
        return Finding(_ID, from_log.incomplete_code(case), "kernel command line", "unknown", "effective",
                       f"whether the kernel took {named} is unknown: {why}", "?", "taken", (log.source,), root,
                       log.absence)
    return Finding(_ID, "ok", "kernel command line", "pass", "effective", "the kernel complained about none of "
                   f"{named}", "taken", "taken", (log.source,))
