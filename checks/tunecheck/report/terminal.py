"""The report for people: plain lines, wrapped to the terminal, colour only where it is one."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.finding import Finding
from ..rules.context import Case
from ..rules.errors.from_log import only_log_incomplete
from ..rules.part_of_devices import only_of_a_part
from .grouping import Fold, folded, worst_first
from .not_given import is_missing, not_given
from .style import Style, marked, safe, with_fix, wrap
from .text_parts import (
    counted,
    counts_text,
    cut_text,
    earlier,
    finding_lines,
    remedy_of,
    skips,
    summary,
    whole_tables,
)

__all__ = ["plain", "render"]

#: A remedy of more characters is not said again for each subject.
_LONG = 120


def render(verb: str, case: Case, findings: list[Finding], style: Style, verbose: bool = False,
           imported: bool = False, history: bool = False) -> str:
    """Return the whole report as text, ending in a newline: worst first. On a terminal (``style.width``) and without
    ``verbose`` it is one screen. In a pipe, what many subjects have in common is one line, and so is everything that
    was not judged. ``imported``: the facts are from loose texts; what texts that were not given leave unknown stands
    behind the warnings, as one line. ``history``: list what was before this boot."""
    if style.width and not verbose:
        from .screen import screen

        return "\n".join(screen(verb, case, findings, style, imported, history)) + "\n"
    text = [*whole_tables(verb, case, style), *(earlier(case, style) if history else [])]
    missing = [finding for finding in findings if imported and is_missing(finding)]
    here = [finding for finding in findings if not (imported and is_missing(finding))]
    cut = [] if verbose else [finding for finding in here if only_log_incomplete(finding)]
    here = [finding for finding in here if finding not in cut] if len(cut) > 1 else here
    part = [] if verbose else [finding for finding in here if only_of_a_part(finding)]
    here = [finding for finding in here if finding not in part] if len(part) > 1 else here
    said = [Fold(finding.text, (finding,)) for finding in worst_first(here)] if verbose else folded(here)
    told, fixes = len(part) < 2, _Fixes(said)
    for fold in said:
        if not told and fold.first.outcome != "fail":
            text += _part(part, case.snapshot.topology.doubt, style)
            told = True
        if len(cut) > 1 and fold.first.outcome not in ("fail", "unknown"):
            text += marked("unknown", cut_text(case, cut), style)
            cut = []
        if missing and fold.first.outcome in ("pass", "skip"):
            text += _not_given(case, missing, style, verbose)
            missing = []
        if verbose or fold.first.outcome != "skip":
            text += finding_lines(fold, style, None if verbose else fixes.instead(fold))
    text += [] if told else _part(part, case.snapshot.topology.doubt, style)
    text += marked("unknown", cut_text(case, cut), style) if len(cut) > 1 else []
    text += _not_given(case, missing, style, verbose) if missing else []
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    text += marked("skip", skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *wrap(summary(case, findings), style.width)]) + "\n"


class _Fixes:
    """The remedies that several lines of one check have, word for word. A long one stands once, in the first of them;
    the others name that."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        same: dict[tuple[str, str], list[Fold]] = {}
        for fold in folds:
            same.setdefault((fold.first.id, remedy_of(fold)), []).append(fold)
        self._same = {key: found for key, found in same.items() if len(found) > 1 and len(key[1]) > _LONG}

    def instead(self, fold: Fold) -> str | None:
        """Return what stands in place of the remedy. None: the remedy itself."""
        found = self._same.get((fold.first.id, remedy_of(fold)))
        if found is None:
            return None
        if fold is found[0]:
            return f"(of all {len(found)}) {remedy_of(fold)}"
        return f"as of {found[0].first.subject}" if found[0].first.subject else f"as of the first {fold.first.id}"


def plain(head: list[str], findings: list[Finding], style: Style, verbose: bool = False) -> str:
    """Return a report without a machine's tables: ``head``, every finding worst first, the summary. Without ``verbose``
    what was not judged is one line."""
    text = [part for line in head for part in wrap(safe(line), style.width)]
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    for finding in worst_first(findings):
        text += finding_lines(Fold(finding.text, (finding,)), style) if finding not in skipped else []
    text += marked("skip", skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *wrap(counts_text(findings), style.width)]) + "\n"


def _part(findings: list[Finding], doubt: str, style: Style) -> list[str]:
    """Return the lines about what a list of PCI devices that is not whole leaves open, with the one fix."""
    fix = findings[0].remedy.text if findings[0].remedy else ""
    return with_fix("unknown", f"{len(findings)} findings not known: {doubt} (-v lists them): {counted(findings)}", fix,
                    style)


def _not_given(case: Case, findings: list[Finding], style: Style, verbose: bool) -> list[str]:
    if verbose or len(findings) == 1:
        return [part for finding in findings for part in finding_lines(Fold(finding.text, (finding,)), style)]
    return with_fix("unknown", *not_given(case, findings), style)
