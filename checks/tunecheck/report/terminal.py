"""The report for people: plain lines, wrapped to the terminal, colour only where it is one."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.finding import Finding
from ..rules.context import Case
from ..rules.wedged import stuck_in_driver
from ..util.text import some
from .grouping import Fold, folded, worst_first
from .not_given import calm_of_texts, is_missing, not_given, tells_most
from .sorts import Sorts, sort
from .style import Style, marked, safe, with_fix, wrap
from .text_parts import (
    Again,
    again,
    commands_of,
    counted,
    counts_text,
    cut_text,
    earlier,
    finding_lines,
    nothing_wrong,
    remedy_of,
    skips,
    summary,
    whole_tables,
)

__all__ = ["plain", "render"]

#: A remedy of more characters is not said again for each subject.
_LONG = 120
#: So many of the lines whose fix stands once are named behind it.
_NAMED = 8


def render(verb: str, case: Case, findings: list[Finding], style: Style, verbose: bool = False,
           imported: bool = False, history: bool = False, elsewhere: bool = False) -> str:
    """Return the whole report as text, ending in a newline: worst first. On a terminal (``style.width``) and without
    ``verbose`` it is one screen. In a pipe, what many subjects have in common is one line, and so is everything that
    was not judged. ``imported``: the facts are from loose texts; what texts that were not given leave unknown stands
    behind the warnings, as one line. ``history``: list what was before this boot.
    ``elsewhere``: the facts are of a recording, a snapshot or texts, so no command that reads this machine helps."""
    if style.width and not verbose:
        from .screen import screen

        return "\n".join(screen(verb, case, findings, style, imported, history, elsewhere)) + "\n"
    text = [*whole_tables(verb, case, style), *(earlier(case, style) if history else [])]
    stuck = stuck_in_driver(findings) is not None
    if verbose:
        missing = [finding for finding in findings if imported and is_missing(finding)]
        here = [finding for finding in worst_first(findings) if finding not in missing]
        said = [Fold(finding.text, (finding,)) for finding in here]
        before, behind = [], _not_given(case, missing, style, verbose, stuck) if missing else []
    else:
        sorts = sort(findings, imported, case.snapshot.topology)
        said, before, behind = folded(sorts.here), _of_one_cause(again(verb, elsewhere), case, sorts, style, stuck), \
            _not_given(case, sorts.missing, style, verbose, stuck) if sorts.missing else []
    fixes = _Fixes(said)
    for fold in said:
        if fold.first.outcome != "fail":
            text += before
            before = []
        if fold.first.outcome in ("pass", "skip"):
            text += behind
            behind = []
        if verbose or fold.first.outcome != "skip":
            text += finding_lines(fold, style) if verbose else \
                finding_lines(fold, style, fixes.instead(fold), fixes.label(fold))
    text += [*before, *behind]
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    text += marked("skip", skips(skipped), style) if skipped else []
    calm = calm_of_texts(case, findings, tells_most(case, findings)) if imported else nothing_wrong(findings, False)
    return "\n".join([*text, "", *(wrap(calm, style.width) if calm else []),
                      *wrap(summary(case, findings), style.width)]) + "\n"


class _Fixes:
    """The remedies that several lines of one check have, word for word. A long one stands once, in the first of them;
    the others name that."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        same: dict[tuple[str, str], list[Fold]] = {}
        self._first: dict[str, Fold] = {}
        for fold in folds:
            same.setdefault((fold.first.id, remedy_of(fold)), []).append(fold)
            self._first.setdefault(fold.first.id, fold)
        self._same = {key: found for key, found in same.items() if len(found) > 1 and len(key[1]) > _LONG}

    def instead(self, fold: Fold) -> str | None:
        """Return what stands in place of the remedy. None: the remedy itself."""
        found = self._alike(fold)
        first = found[0]
        if fold is first:
            return None
        if names := _subjects(found):
            return f"the same as for {names[0]}, above"
        check = first.first.id
        which = f"the first {check}" if first is self._first[check] else f'"{first.text.partition("; ")[0]}"'
        return f"the same as for {which}, above"

    def label(self, fold: Fold) -> str:
        """Return what the remedy is called; where it is the fix of several lines, of which ones."""
        found = self._alike(fold)
        if len(found) == 1 or fold is not found[0]:
            return "fix"
        return f"fix for these {len(found)} ({some(_subjects(found), _NAMED) or f'lines of {fold.first.id}'})"

    def _alike(self, fold: Fold) -> list[Fold]:
        return self._same.get((fold.first.id, remedy_of(fold)), [fold])


def _subjects(folds: Sequence[Fold]) -> list[str]:
    """Return the subject of each of these lines; empty where one is about several or none, or two about the same: then
    subjects do not tell which lines are meant."""
    subjects = [fold.first.subject if len({each.subject for each in fold.findings}) == 1 else "" for fold in folds]
    told = all(each and ", " not in each for each in subjects) and len(set(subjects)) == len(subjects)
    return subjects if told else []


def plain(head: list[str], findings: list[Finding], style: Style, verbose: bool = False) -> str:
    """Return a report without a machine's tables: ``head``, every finding worst first, the summary. Without ``verbose``
    what was not judged is one line."""
    text = [part for line in head for part in wrap(safe(line), style.width)]
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    for finding in worst_first(findings):
        text += finding_lines(Fold(finding.text, (finding,)), style) if finding not in skipped else []
    text += marked("skip", skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *wrap(counts_text(findings), style.width)]) + "\n"


def _of_one_cause(as_root: Again, case: Case, sorts: Sorts, style: Style, stuck: bool) -> list[str]:
    """Return one line for each cause that leaves several findings open, with its one fix."""
    lines: list[str] = []
    for findings, why, fix, commands in (
            (sorts.part, f"not known: {sorts.doubt} (-v lists them)", _fix_of(sorts.part),
             commands_of(sorts.part[0]) if sorts.part else []),
            (sorts.gone, f"not known, as {sorts.silent} does not answer (-v lists them)", "", []),
            (sorts.gpus, f"not known of every GPU: {sorts.gpus[0].text if sorts.gpus else ''} (-v lists them)", "", []),
            (sorts.rootless, "need root (-v says what for)", "" if stuck else as_root.fix, [as_root.command])):
        if findings:
            lines += with_fix("unknown", f"{len(findings)} findings {why}: {counted(findings)}", fix, style, commands)
    return [*lines, *(marked("unknown", cut_text(case, sorts.cut), style) if sorts.cut else [])]


def _fix_of(findings: Sequence[Finding]) -> str:
    return findings[0].remedy.text if findings and findings[0].remedy else ""


def _not_given(case: Case, findings: list[Finding], style: Style, verbose: bool, stuck: bool) -> list[str]:
    if verbose or len(findings) == 1:
        return [part for finding in findings for part in finding_lines(Fold(finding.text, (finding,)), style)]
    missing = not_given(case, findings, stuck)
    return with_fix("unknown", missing.text, missing.fix, style, missing.commands)
