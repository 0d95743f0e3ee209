"""cmdline-rejected: the kernel took every declared parameter that is on its command line."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.cmdline import words
from ..spec.frozen import declared_tokens
from ..spec.kernel_params import INEFFECTIVE, name_of, problems
from .finding import Case, Finding, Remedy

_ID = "cmdline-rejected"


def judge(case: Case) -> Iterator[Finding]:
    running, log = case.host.kernel.cmdline, case.host.kernel.log
    declared = words(declared_tokens(case.spec))
    if running.value is None:
        yield Finding(_ID, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,))
        return
    present = words(running.value)
    accepted, running_ours = [], [word for word in declared if word in present]
    for word in running_ours:
        reason, source = rejection(case, word)
        if reason:
            yield _declared(case, word, reason, source)
        else:
            accepted.append(word)
    for word in [word for word in present if word not in declared]:
        line, source = rejection(case, word)
        if line and source == log.source and word.startswith(("pci=", "amd_iommu=", "intel_iommu=")):
            yield Finding(_ID, word, "warn", "effective", f"{word}, which is not ours, was rejected by the kernel "
                          f"({line}): it changes nothing", "rejected", "taken", (log.source,),
                          Remedy("remove it from the boot configuration that sets it"))
    if accepted or not running_ours:
        yield _rest(case, accepted)


def rejection(case: Case, word: str) -> tuple[str, str]:
    """Why the kernel rejects a word that is on its command line, and who says so; ("", "") where it does not."""
    log = case.host.kernel.log
    complaints = log.value.rejected if log.value else {}
    line = complaints.get(word) or (None if word.startswith("pci=") else complaints.get(name_of(word)))
    if line:
        return line, log.source
    reason = INEFFECTIVE.get(word) or "; ".join(problems(word))
    return (reason, "the kernel's own parser") if reason else ("", "")


def _declared(case: Case, word: str, reason: str, source: str) -> Finding:
    if word in INEFFECTIVE:
        return Finding(_ID, word, "warn", "effective", f"{word} is on the command line but rejected by the kernel "
                       f"({reason}): it changes nothing; whether ACS is off is proven by acs-redirect instead",
                       "rejected", "", (source,))
    return Finding(_ID, word, "fail", "effective", f"{word} is on the command line but rejected by the kernel "
                   f"({reason}): it changes nothing", "rejected", "taken", (source,),
                   case.play("cmdline", True, "correct box_spec.kernel.cmdline in the inventory"))


def _rest(case: Case, accepted: list[str]) -> Finding:
    log = case.host.kernel.log
    if not accepted:
        return Finding(_ID, "kernel command line", "skip", "effective", "no declared parameter is on the running "
                       "command line")
    named = ", ".join(accepted)
    if log.value is None or not log.value.complete:
        why = log.why() if log.value is None else f"{log.source}: the log lost its first lines"
        root = Remedy("run as root") if log.reason == "no permission" else None
        return Finding(_ID, "kernel command line", "unknown", "effective",
                       f"whether the kernel took {named} is unknown: {why}", "?", "taken", (log.source,), root)
    return Finding(_ID, "kernel command line", "pass", "effective", f"the kernel complained about none of {named}",
                   "taken", "taken", (log.source,))
