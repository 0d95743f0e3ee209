"""The parts that every report for people is made of: heading, tables, what a finding says, counts and verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..model.finding import Finding, worst
from ..rules.context import Case
from ..rules.errors.from_log import limits_of_log
from ..util.text import some
from .grouping import Fold
from .paths import path_lines
from .style import Style, shown, with_fix
from .tree import in_place_of_tree, matrix_lines, none_found, tree_lines

__all__ = ["IN_DOUBT", "Again", "again", "commands_of", "counted", "counts_text", "cut_text", "earlier",
           "finding_lines", "finding_text", "head", "made_up_ports", "nothing_wrong",
           "remedy_of", "skips", "summary", "whole_tables"]

_COUNTED = {"fail": "failed", "unknown": "unknown", "warn": "warning", "pass": "passed", "skip": "skipped"}
#: Codes that say that the texts of an import do not fit together: what follows from them is in doubt.
IN_DOUBT = frozenset(("counts-differ", "other-count-in-guest", "not-in-list"))
#: Codes of pairs of which a table does not say that they have peer-to-peer: nobody who reads it finds nothing wrong.
_NO_PEERS = frozenset(("table-not-told", "status-unknown", "own-driver-refuses"))
#: So many names of checks stand in one line.
_NAMED = 10


class Again(NamedTuple):
    """How what only root can read is read: as a fix, as the next step, and the command of both."""

    fix: str
    next: str
    command: str


def again(verb: str, elsewhere: bool) -> Again:
    """Return how to read again as root, for a report of ``verb``. ``elsewhere``: it is about a recording, a snapshot or
    texts, and the machine that this runs on is another one."""
    if elsewhere:
        command = "sudo tunecheck record"
        return Again(f"record the box again as root: {command}", f"on the box: {command}", command)
    command = f"sudo tunecheck {verb}"
    return Again(f"run: {command}", command, command)


def head(verb: str, case: Case) -> list[str]:
    """Return the heading: what was judged, and against what."""
    snapshot, frozen = case.snapshot, case.frozen
    against = f"spec {frozen.host} ({frozen.profile}, {frozen.digest[:19]})" if frozen else "no spec"
    trial = ", trial boot" if case.trial or case.open_trial else ""
    image = case.measured.notes.get("image") if case.measured else None
    inside = f", inside {image}" if image else ""
    return [f"tunecheck {verb}: {snapshot.hostname.value or 'unknown host'}, {against}{trial}{inside}"]


def whole_tables(verb: str, case: Case, style: Style) -> list[str]:
    """Return the heading, and every table in full."""
    lines = [*head(verb, case), ""]
    if case.measured is not None:
        lines += _measured(case, style.width)
    if verb in ("topo", "preflight"):
        told = _posted(case, style.width)
        if case.snapshot.topology.accelerators.known or not case.snapshot.posted.anything:
            lines += [*tree_lines(case.snapshot.topology, style.unicode, made_up_ports(case)), ""]
        matrix = [] if in_place_of_tree(case.snapshot) else matrix_lines(case.snapshot.topology, style.width)
        lines += [*matrix, ""] if matrix else []
        lines += told
        predicted = path_lines(case)
        lines += [*predicted, ""] if predicted else []
    return shown(lines, style)


def earlier(case: Case, style: Style) -> list[str]:
    """Return the lines about what was before this boot."""
    from .history import history_lines

    return shown([*history_lines(case.snapshot.past), ""], style)


def made_up_ports(case: Case) -> bool:
    """Whether a hypervisor made the ports up, and no specification asks for their ACS: acs-redirect skips them."""
    return bool(case.guest) and case.spec.acs.peer_redirect == "leave"


def _measured(case: Case, width: int) -> list[str]:
    """Return the tables of what was measured."""
    from .measured import allreduce_lines, p2p_lines

    assert case.measured is not None
    found, topology = case.measured, case.snapshot.topology
    tables = [p2p_lines(found, topology, width) if found.find("one way") or found.find("control") else [],
              allreduce_lines(found, width) if found.find("allreduce") or found.find("soak") else []]
    return [line for table in tables if table for line in (*table, "")]


def _posted(case: Case, width: int) -> list[str]:
    if not case.snapshot.posted.anything:
        return []
    from .posted import posted_lines  # start-up time

    return posted_lines(case, width)


def finding_lines(fold: Fold, style: Style, fix: str | None = None, label: str = "fix") -> list[str]:
    """Return what is so and what was expected, with the remedy behind it; on a terminal the remedy has lines of its own
    to copy from. ``fix``: what stands in its place; ``label``: what it is called."""
    return with_fix(fold.first.outcome, finding_text(fold), remedy_of(fold) if fix is None else fix, style,
                    commands_of(fold.first), label)


def remedy_of(fold: Fold) -> str:
    """Return how to put it right; "" where nothing is to be done."""
    finding = fold.first
    return finding.remedy.text if finding.remedy and finding.outcome in ("fail", "warn", "unknown") else ""


def commands_of(finding: Finding) -> list[str]:
    """Return the commands of its remedy as they are shown, in their order."""
    return [each.shown for each in finding.remedy.commands] if finding.remedy else []


def finding_text(fold: Fold, count: int = 1) -> str:
    """Return ``id: text; expected ...``; behind the id the ``count`` of findings where it is above 1."""
    finding = fold.first
    many = f" ({count})" if count > 1 else ""
    expected = f"; expected {finding.expected}" if finding.outcome in ("fail", "warn") and finding.expected else ""
    return f"{finding.id}{many}: {fold.text}{expected}"


def skips(skipped: list[Finding]) -> str:
    # A wall of names tells nobody anything: -v has a line for each.
    named = counted(skipped).split(", ")
    return f"not judged (-v says why): {some(named, _NAMED)}"


def counted(findings: Sequence[Finding]) -> str:
    """Return the checks of these findings, each once, with how often it said so: "link-speed (8), smt"."""
    counts = Counter(finding.id for finding in findings)
    return ", ".join(f"{check} ({count})" if count > 1 else check for check, count in counts.items())


def cut_text(case: Case, findings: list[Finding]) -> str:
    """Return a sentence about the checks that found nothing in a kernel log that is not whole."""
    return f"nothing found by {counted(findings)} {limits_of_log(case)}"


def summary(case: Case, findings: list[Finding]) -> str:
    """Return the verdict and how many findings have which outcome."""
    return counts_text(findings) + _why_nothing(case, findings)


def nothing_wrong(findings: Sequence[Finding], imported: bool, add: str = "", seen: str = "") -> str:
    """Return a sentence for a report that is unknown because evidence is missing: what was seen, that nothing is wrong
    (or that nothing failed), and how much was judged. ``add``: the command whose output would tell most; ``seen``: the
    GPUs that an import shows. "" for any other report: nothing was seen or judged, or something failed."""
    passed = sum(finding.outcome == "pass" for finding in findings)
    warned = sum(finding.outcome == "warn" for finding in findings)
    if worst(findings) != "unknown" or not (passed or (seen and any(each.outcome != "skip" for each in findings))):
        return ""
    where = "in what is here" if imported else "in what could be read"
    warns = f"{warned} {'warn' if warned > 1 else 'warns'}"
    doubtful = warned or any(each.code in _NO_PEERS for each in findings)
    if passed:
        start = f"{'no check failed' if doubtful else 'nothing wrong was found'} {where}: " \
                f"{passed} finding{'s' * (passed > 1)} passed{f', and {warns}' if warned else ''}"
    else:
        little = "too little text for a pass" if imported else "too little could be read for a pass"
        start = f"no check failed, {warns}, and {little}" if warned else \
            f"{'no check failed' if doubtful else 'no fault seen'}, but {little}"
    start = f"seen: {seen}; {start}" if seen else start
    if doubt := next((each.id for each in findings if each.code in IN_DOUBT), ""):
        return f"{start}; but first the texts have to fit together ({doubt})"
    return f"{start}; to judge more, add the output of {add}" if add else start


def counts_text(findings: list[Finding]) -> str:
    counts = {outcome: sum(finding.outcome == outcome for finding in findings) for outcome in _COUNTED}
    named = [f"{count} {word}{'s' if outcome == 'warn' and count > 1 else ''}"
             for outcome, word in _COUNTED.items() if (count := counts[outcome])]
    return f"{worst(findings).upper()}: {', '.join(named) or 'nothing judged'}"


def _why_nothing(case: Case, findings: list[Finding]) -> str:
    """Return the end of the summary where nothing was judged or no accelerator was found; else "". A report that judged
    nothing looks like a good one: a box whose GPUs are gone must not be green unnoticed."""
    if any(finding.id == "accelerator-count" for finding in findings):
        return ""       # which says it
    judged = any(finding.outcome != "skip" for finding in findings)
    text = "" if judged else "; nothing was judged (-v says why)"
    found = case.snapshot.topology.accelerators
    if found.value is None:
        return "" if judged else f"; nothing was judged: the PCI devices cannot be listed: {found.why()}"
    return text if found.value or case.snapshot.topology.unlisted else f"; {none_found(case.snapshot.topology)}{text}"
