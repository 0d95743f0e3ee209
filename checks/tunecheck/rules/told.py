"""Which checks told nothing: their silence ends no earlier finding of theirs."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.absence import Absence
from ..model.finding import Finding
from .codes import (
    LOG_INCOMPLETE,
    LOG_UNREAD,
    NO_COMPARISON,
    NO_DRIVER,
    NO_GPU_LISTED,
    NOT_DECLARED,
    NOT_MEASURED,
    NVML_UNREAD,
    PATH_UNREAD,
    REGISTERS_UNREAD,
    TREE_UNREAD,
    UNREAD,
)
from .index import BY_ID, CHECKS

__all__ = ["skipped", "unasked", "untold", "why_untold"]

_WHOLE_LOG = "kernel-log-complete"
#: Common codes of a skip for which what the check looks at was not there to be read. A check declares its own of them.
_COULD_NOT_LOOK = frozenset((
    UNREAD, LOG_UNREAD, LOG_INCOMPLETE, NVML_UNREAD, TREE_UNREAD, PATH_UNREAD, REGISTERS_UNREAD, NOT_MEASURED,
    NO_COMPARISON, NO_DRIVER, NO_GPU_LISTED))
#: A value that does not exist is told.
_TOLD = (Absence.NOT_PRESENT, Absence.NOT_SUPPORTED, Absence.NO_BOARDS, Absence.NO_BOOT_LOADER, Absence.NO_SYSTEMD)


def untold(findings: Iterable[Finding], verb: str = "preflight") -> frozenset[str]:
    """Checks of the verb that gave no finding, or none but such that could not look; and those of which a part is
    unknown, or was looked for in a kernel log that is not whole: what they do not name may be so all the same."""
    every = list(findings)
    log = {source for finding in every if finding.id == _WHOLE_LOG and finding.outcome not in ("pass", "skip")
           for source in finding.evidence}
    told = {finding.id for finding in every if not _could_not_look(finding)}
    partly = {finding.id for finding in every if finding.outcome == "unknown" or finding.code == LOG_INCOMPLETE or (
        finding.outcome in ("fail", "warn") and finding.id != _WHOLE_LOG and _is_of(finding, log))}
    asked = {check.id for check in CHECKS if verb in check.verbs} | {finding.id for finding in every}
    return frozenset(asked - told | partly)


def why_untold(findings: Iterable[Finding], checks: Iterable[str]) -> dict[str, Finding]:
    """Of each of these checks, of which untold() says that they told nothing, the finding that says why. Where its own
    findings do not, it is that of the kernel log, of which a part is missing. Without one there is no finding of it."""
    every = list(findings)
    log = next((each for each in every if each.id == _WHOLE_LOG and each.outcome not in ("pass", "skip")), None)
    found: dict[str, Finding] = {}
    for each in every:
        if each.outcome == "unknown" or each.code == LOG_INCOMPLETE or _could_not_look(each):
            found.setdefault(each.id, each)
        elif log is not None and each.outcome in ("fail", "warn"):
            found.setdefault(each.id, log)
    return {check: found[check] for check in checks if check in found}


def unasked(findings: Iterable[Finding]) -> frozenset[str]:
    """Checks that judge nothing, as no specification asks for it."""
    every = list(findings)
    return frozenset({finding.id for finding in every if finding.outcome == "skip" and finding.code == NOT_DECLARED} -
                     {finding.id for finding in every if finding.outcome not in ("skip", "unknown")})


def skipped(findings: Iterable[Finding]) -> dict[str, str]:
    """Checks that judged nothing, for they do not apply or nothing is asked: each with the code that says why."""
    every = list(findings)
    judged = {finding.id for finding in every if finding.outcome not in ("skip", "unknown")}
    return {finding.id: finding.code for finding in reversed(every)
            if finding.outcome == "skip" and finding.id not in judged}


def _is_of(finding: Finding, sources: set[str]) -> bool:
    """Whether it has a line of these sources for evidence: "SOURCE", or "SOURCE: the line"."""
    return any(told == source or told.startswith(f"{source}: ") for told in finding.evidence for source in sources)


def _could_not_look(finding: Finding) -> bool:
    if finding.outcome != "skip":
        return finding.outcome == "unknown"
    if finding.code == NOT_DECLARED:
        return False
    declared = BY_ID[finding.id].could_not_look if finding.id in BY_ID else ()
    return finding.code in _COULD_NOT_LOOK or finding.code in declared or (
        finding.absence is not None and finding.absence not in _TOLD)
