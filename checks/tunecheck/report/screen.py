"""The report that a person reads on a terminal: one screen. Tables, then problems worst first, one entry for what one
fix settles, then counts and the next step.

What does not fit is left out step by step, and never in silence: first the tables are drawn short, then findings of one
check with one fix share a row, then long sentences end in " ...", and last the entries that do not fail are counted by
check. A check that fails keeps a row of its own whatever happens. ``-v`` shows all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..absence import Absence
from ..formats.at_first_use import dataclass
from ..rules import Case, Finding, Remedy
from ..rules.finding import OUTCOMES
from ..rules.from_log import only_cut
from .fold import Fold, folded, worst_first
from .short_tables import short_tables
from .terminal import (
    Style,
    clipped,
    counted,
    cut_text,
    earlier,
    fix_lines,
    is_missing,
    marked,
    not_given,
    says,
    summary,
    whole_tables,
    wrap,
)

__all__ = ["LINES", "screen"]

#: Lines of a large terminal window.
LINES = 60
#: Why a fact is not there, behind "not known, ".
_WHY = {
    Absence.NOT_PRESENT: "what would tell is not there", Absence.NOT_SHOWN: "no text shows it",
    Absence.NOT_ASKED: "nothing asked for it", Absence.NO_DRIVER: "as no NVIDIA driver is loaded",
    Absence.NO_BOARDS: "as the NVIDIA driver has none of the boards, or only one", Absence.NOT_READ: "it was not read",
    Absence.NO_PERMISSION: "it may not be read", Absence.NOT_SUPPORTED: "the device or driver has no such value",
    Absence.NOT_INSTALLED: "the program that would tell is not installed", Absence.TIMED_OUT: "no answer in time",
    Absence.CUT_OFF: "the answer was cut off", Absence.LOST: "the device does not answer any more",
    Absence.MISMATCH: "NVIDIA's library and kernel module are of two versions",
    Absence.FAILED: "the program or the driver answered with an error",
    Absence.UNREADABLE: "the operating system cannot read it", Absence.NOT_UNDERSTOOD: "the answer is not understood",
    Absence.INCOMPLETE: "there is only a part of it", Absence.NOT_DERIVABLE: "it does not follow from what is shown",
    Absence.NOT_RECORDED: "it is not in the recording", Absence.NOT_IN_IMPORT: "it is not in these texts",
    Absence.ONLY_ON_HOST: "only the machine itself can tell", Absence.LEFT_OUT: "it was left out on purpose",
    Absence.OLDER: "the snapshot is of an older tunecheck, or of a verb that reads less",
    Absence.NO_BOOT_LOADER: "as no boot loader is there",
}


@dataclass(frozen=True)
class _Step:
    """``short``: short tables. ``by_cause``: what one check says with one code and one fix is one row, and what several
    checks do not know for one reason is one entry. ``text`` and ``fix``: lines that a row and its fix may take, 0: any
    number. ``counted``: outcomes whose entries are counted where they do not fit, the first of them first."""

    short: bool = False
    by_cause: bool = False
    text: int = 0
    fix: int = 0
    counted: tuple[str, ...] = ()


_STEPS = (_Step(), _Step(short=True), _Step(True, True, 4, 4), _Step(True, True, 4, 4, ("unknown",)),
          _Step(True, True, 2, 3, ("unknown",)), _Step(True, True, 1, 3, ("unknown",)),
          _Step(True, True, 1, 2, ("unknown", "warn")))


@dataclass(frozen=True)
class _Entry:
    """``lines`` of the report, ``findings`` that they stand for; ``spare``: without the fix."""

    outcome: str
    findings: tuple[Finding, ...]
    lines: list[str]
    spare: list[str]


def screen(verb: str, case: Case, findings: Sequence[Finding], style: Style, imported: bool = False,
           history: bool = False) -> list[str]:
    """The lines of the report."""
    sorts = _sorted(findings, imported)
    before = earlier(case, style) if history else []
    room = LINES + len(before)      # it was asked for beside the report
    for step in _STEPS:
        tables = short_tables(verb, case, style) if step.short else whole_tables(verb, case, style)
        foot = _foot(verb, case, findings, sorts, style, step)
        top = [*tables, *before]
        problems = _fitted(_entries(verb, sorts, style, step), step, style, room - len(top) - len(foot))
        lines = [*top, *problems, *foot]
        if len(lines) <= room:
            break
    return lines


@dataclass(frozen=True)
class _Sorts:
    """``here``: to be said one by one. ``cut``: nothing but that the kernel log is not whole. ``missing``: not given to
    an import. ``rootless``: only root could read it."""

    here: list[Finding]
    cut: list[Finding]
    missing: list[Finding]
    rootless: list[Finding]


def _sorted(findings: Iterable[Finding], imported: bool) -> _Sorts:
    left = list(findings)

    def taken(belongs: Callable[[Finding], bool]) -> list[Finding]:
        nonlocal left
        found = [finding for finding in left if belongs(finding)]
        if len(found) < 2:
            return []       # one is said as it is
        left = [finding for finding in left if not belongs(finding)]
        return found

    missing = taken(lambda finding: imported and is_missing(finding))
    rootless = taken(_needs_root)
    cut = taken(only_cut)
    return _Sorts(left, cut, missing, rootless)


def _needs_root(finding: Finding) -> bool:
    return finding.outcome == "unknown" and finding.remedy is not None and finding.remedy.as_root


def _entries(verb: str, sorts: _Sorts, style: Style, step: _Step) -> list[_Entry]:
    """Worst first; what has one fix is one entry, at the place of the worst of it."""
    wrong = [finding for finding in sorts.here if finding.outcome in ("fail", "unknown", "warn")]
    unread: dict[Absence, list[Finding]] = {}
    for finding in wrong if step.by_cause else ():
        if finding.outcome == "unknown" and finding.absence and finding.remedy is None:
            unread.setdefault(finding.absence, []).append(finding)
    unread = {absence: found for absence, found in unread.items() if len(found) > 1}
    wrong = [finding for finding in wrong if not (finding.absence in unread and finding in unread[finding.absence])]
    rows = _by_cause(wrong) if step.by_cause else folded(wrong)
    together: dict[Remedy | int, list[Fold]] = {}
    for number, row in enumerate(rows):
        together.setdefault(row.first.remedy or number, []).append(row)
    entries = [_entry(group, style, step) for group in together.values()]
    entries += [_whole("unknown", found, f"{_of_checks(found)} not known, {_WHY[absence]} (-v says what): "
                       f"{counted(found)}", "", style, step) for absence, found in unread.items()]
    if sorts.cut:
        entries.append(_whole("unknown", sorts.cut, cut_text(sorts.cut), "", style, step))
    entries.sort(key=lambda entry: OUTCOMES.index(entry.outcome))
    if sorts.missing:
        entries.append(_whole("unknown", sorts.missing, *not_given(sorts.missing), style, step))
    if sorts.rootless:
        ids = len({finding.id for finding in sorts.rootless})
        entries.append(_whole("unknown", sorts.rootless, f"{ids} checks need root (-v says what for): "
                              f"{counted(sorts.rootless)}", f"sudo tunecheck {verb}", style, step))
    return entries


def _by_cause(findings: Iterable[Finding]) -> list[Fold]:
    """One row for what one check says with one code, or without a code with one fix: the first one's words, and the
    others' subjects."""
    groups: dict[tuple[str, str, str | Remedy | None], list[Finding]] = {}
    for finding in worst_first(findings):
        groups.setdefault((finding.id, finding.outcome, finding.code or finding.remedy), []).append(finding)
    return [Fold(f"{group[0].text}{_also(group[1:])}", tuple(group)) for group in groups.values()]


def _also(findings: Sequence[Finding]) -> str:
    named = dict.fromkeys(finding.subject for finding in findings if finding.subject)
    return f"; also {', '.join(named)}" if named else ""


def _entry(rows: Sequence[Fold], style: Style, step: _Step) -> _Entry:
    lines = [line for row in rows
             for line in marked(row.first.outcome, says(row, len(row.findings)), style, step.text)]
    first = rows[0].first
    fix = first.remedy.text if first.remedy else ""
    many = f" for these {len(rows)}" if len(rows) > 1 else ""
    others = {finding.remedy for row in rows for finding in row.findings} - {first.remedy}
    many = " for the first, -v has the others" if others else many
    return _Entry(first.outcome, tuple(finding for row in rows for finding in row.findings),
                  [*lines, *_fix(f"fix{many}", fix, first.id, style, step)], lines)


def _whole(outcome: str, findings: Sequence[Finding], text: str, fix: str, style: Style, step: _Step) -> _Entry:
    lines = marked(outcome, text, style, step.text)
    return _Entry(outcome, tuple(findings), [*lines, *_fix("fix", fix, findings[0].id, style, step)],
                  lines)


def _fix(label: str, text: str, check: str, style: Style, step: _Step) -> list[str]:
    """Whole, or where it is to be read: half a command must not be pasted."""
    lines = fix_lines(f"{label}: {text}", style) if text else []
    return lines if not step.fix or len(lines) <= step.fix else fix_lines(f"{label}: tunecheck explain {check}", style)


def _fitted(entries: Sequence[_Entry], step: _Step, style: Style, room: int) -> list[str]:
    """All entries where that fits; else without as many as it takes of those that the step counts, the last first, and
    then without the fixes of the last that fail."""
    left = list(entries)
    out: list[_Entry] = []
    bare: set[int] = set()
    while True:
        lines = [line for entry in left for line in (entry.spare if id(entry) in bare else entry.lines)]
        lines += _more([finding for entry in out for finding in entry.findings], style, min(step.text, 2))
        victim = next((entry for outcome in step.counted for entry in reversed(left) if entry.outcome == outcome), None)
        plain = next((entry for entry in reversed(left) if id(entry) not in bare), None) if "warn" in step.counted \
            else None
        if len(lines) <= room or (victim is None and plain is None):
            return lines
        if victim is not None:
            left.remove(victim)
            out.insert(0, victim)
        elif plain is not None:
            bare.add(id(plain))


def _more(findings: Sequence[Finding], style: Style, most: int) -> list[str]:
    """Those that were left out, by outcome."""
    lines = []
    for outcome in ("fail", "unknown", "warn"):
        found = [finding for finding in findings if finding.outcome == outcome]
        text = f"{_of_checks(found)} more (-v lists them): {counted(found)}"
        lines += marked(outcome, text, style, most) if found else []
    return lines


def _of_checks(findings: Sequence[Finding]) -> str:
    """"12 findings of 3 checks"."""
    ids = len({finding.id for finding in findings})
    return f"{_findings(findings)} of {ids} check{'s' * (ids > 1)}"


def _foot(verb: str, case: Case, findings: Sequence[Finding], sorts: _Sorts, style: Style, step: _Step) -> list[str]:
    passed = [finding for finding in findings if finding.outcome == "pass"]
    skipped = [finding for finding in findings if finding.outcome == "skip"]
    lines = marked("pass", f"{_findings(passed)} (-v lists them)", style) if passed else []
    lines += marked("skip", f"not judged: {_findings(skipped)} (-v says why)", style) if skipped else []
    left_out = "; shortened to one screen: -v shows everything" if step != _STEPS[0] else ""
    lines += ["", *wrap(summary(case, list(findings)) + left_out, style.width)]
    following = _next(verb, findings, sorts.rootless)
    return [*lines, *(wrap(following, style.width) if following else [])]


def _findings(findings: Sequence[Finding]) -> str:
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"


def _next(verb: str, findings: Iterable[Finding], rootless: Sequence[Finding]) -> str:
    """The one next step: root first, as what cannot be read cannot be judged; then the worst finding."""
    if rootless:
        return f"next: sudo tunecheck {verb}"
    wrong = [finding for finding in worst_first(findings) if finding.outcome in ("fail", "warn")]
    if not wrong:
        return ""
    fixed = sum(finding.remedy is not None and finding.remedy.needs_reboot for finding in wrong)
    reboot = f"1 reboot is needed for {fixed} of {len(wrong)} fails and warnings; " if fixed else ""
    return f"next: {reboot}tunecheck explain {wrong[0].id}"
