"""The report that a person reads on a terminal: one screen. Tables, then problems worst first, one entry for what one
fix settles, then counts and the next step.

What does not fit is left out step by step, and never in silence. First the tables are drawn short. Then what one check
says with one code is one row, what several checks do not know for one reason is one entry, and long
sentences end in " ...". Then entries that do not fail are counted by check. The fix of what fails is shortened last. A
check that fails keeps a row of its own whatever happens. ``-v`` shows all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..model.absence import Absence
from ..model.finding import Finding, Remedy
from ..rules.check import Family
from ..rules.context import Case
from ..rules.index import CHECKS
from ..rules.wedged import stuck_in_driver
from ..util.at_first_use import regex
from .grouping import Fold, folded, place, worst_first
from .not_given import calm_of_texts, not_given
from .one_screen.fit import LIMITS, LIST, SHORT_FIX, WHY_LINES, Entry, fit, of_checks
from .one_screen.next_step import Step, next_step
from .one_screen.sentence import sentence
from .short_tables import short_tables
from .sorts import Sorts, sort
from .style import GOES_ON, Style, fix_lines, height, marked, safe, unbroken, wrap
from .text_parts import (
    IN_DOUBT,
    Again,
    again,
    commands_of,
    counted,
    earlier,
    finding_text,
    nothing_wrong,
    summary,
    whole_tables,
)

__all__ = ["LINES", "screen"]

#: Lines of a large terminal window, at so many columns; a narrower one may have more.
LINES, _COLUMNS = 60, 80
#: Tables of so many lines are short enough.
_SMALL = 24
#: A wall of ids pushes what can be done off the screen.
_LONGEST = 4
#: Colours, and what stands between words.
_BETWEEN = regex(r"\x1b\[[0-9;]*m|\W+")
_SHORTENED = "; shortened: -v shows everything"
#: Checks of what somebody measured, and how many of their passes are shown.
_FIGURES = frozenset(check.id for check in CHECKS if check.of_posts and check.family is Family.MEASURED)
_SHOWN = 6
_LOG_CUT = "the kernel log is not whole (kernel-log-complete)"
#: Why a fact is not there, behind "not known, ".
_WHY = {
    Absence.NOT_PRESENT: "as what would tell is not there", Absence.NOT_SHOWN: "as no text shows it",
    Absence.NOT_ASKED: "as nothing asked for it", Absence.NO_DRIVER: "as no NVIDIA driver is loaded",
    Absence.NO_BOARDS: "as the NVIDIA driver has none of the boards, or only one",
    Absence.NOT_READ: "as it was not read", Absence.NO_PERMISSION: "as it may not be read",
    Absence.NOT_SUPPORTED: "as the device or driver has no such value",
    Absence.NOT_INSTALLED: "as the program that would tell is not installed",
    Absence.TIMED_OUT: "as no answer came in time", Absence.CUT_OFF: "as the answer was cut off",
    Absence.LOST: "as the device does not answer any more",
    Absence.MISMATCH: "as NVIDIA's library and kernel module are of two versions",
    Absence.FAILED: "as the program or the driver answered with an error",
    Absence.UNREADABLE: "as the operating system cannot read it",
    Absence.NOT_UNDERSTOOD: "as the answer is not understood", Absence.INCOMPLETE: "as there is only a part of it",
    Absence.NOT_DERIVABLE: "as it does not follow from what is shown",
    Absence.NOT_RECORDED: "as it is not in the recording", Absence.NOT_IN_IMPORT: "as it is not in these texts",
    Absence.ONLY_ON_HOST: "as only the machine itself can tell", Absence.LEFT_OUT: "as it was left out on purpose",
    Absence.OLDER: "as the snapshot is of an older tunecheck, or of a verb that reads less",
    Absence.NO_BOOT_LOADER: "as no boot loader is there", Absence.NO_SYSTEMD: "as systemd does not run",
    Absence.NO_VERSION: "as no version is shown", Absence.ELSEWHERE: "as it is kept at another place",
    Absence.LOG_TOO_SHORT: "as the log does not reach that far", Absence.OTHER: "as for a reason without a code",
}


def screen(verb: str, case: Case, findings: Sequence[Finding], style: Style, imported: bool = False,
           history: bool = False, elsewhere: bool = False) -> list[str]:
    """Return the lines of the report, so that they fit on one screen."""
    sorts = sort(findings, imported, case.snapshot.topology)
    before = earlier(case, style) if history else []
    # What was asked for comes on top. The shell's prompt takes a line.
    room = max(LINES * max(_COLUMNS, style.width) // style.width, style.rows - 1) + len(before)
    # Of texts most is unknown for want of other texts: what they show comes first.
    calm = calm_of_texts(case, findings) if imported else ""
    before += [*wrap(safe(calm), style.width), ""] if calm else []
    whole = whole_tables(verb, case, style)
    as_root = again(verb, elsewhere)
    following = next_step(verb, case, findings, sorts, as_root, imported)
    entries = [entry.ways[-1] for entry in _entries(as_root, case, sorts, style, following, by_cause=False)]
    problems = [line for lines in entries for line in lines]
    foot = _foot(case, findings, style, imported, following)
    if height([*whole, *before, *problems, *foot], style.width) <= room:
        return [*whole, *before, *problems, *foot]
    # As if the fix of the next step were left out, so that there is room for the line that says so.
    without = following._replace(text=following.left_out or following.text)
    foot = _foot(case, findings, style, imported, without, _SHORTENED)
    top = [*(whole if len(whole) <= _SMALL else short_tables(verb, case, style)), *before]
    left = room - len(top) - len(foot)
    if height(problems, style.width) > left:
        problems = fit(_entries(as_root, case, sorts, style, following, by_cause=True), style, left)
    if not following.why or _shows_fix(problems, following.why[0]):
        foot = _foot(case, findings, style, imported, following, _SHORTENED)
    return [*top, *problems, *foot]


def _shows_fix(lines: Sequence[str], finding: Finding) -> bool:
    """Whether these lines have the fix of the finding as a whole, or the play that does it; so where it has none."""
    fix, shown = finding.remedy, _bare(" ".join(lines))
    return fix is None or any(_bare(safe(way)) in shown for way in (fix.text, fix.play_text) if way)


def _bare(text: str) -> str:
    """Return the words of a text: a command on a line of its own has no comma behind it."""
    return " ".join(_BETWEEN.sub(" ", text).split())


def _entries(as_root: Again, case: Case, sorts: Sorts, style: Style, following: Step, by_cause: bool) -> list[Entry]:
    """Return the entries, worst first. What has one fix is one entry, at the place of the worst of it. The reason of
    the next step stays on the screen, as do findings that put all others in doubt."""
    entries, last = _sorted_entries(case, sorts, style, by_cause), _of_one_text(as_root, case, sorts, style)
    # What fails stays anyhow, if need be without its fix.
    why = {id(finding) for finding in following.why[:1] if finding.outcome != "fail"}
    result = []
    for entry in (*entries, *last):
        doubt = any(each.code in IN_DOUBT for each in entry.findings)
        stays = doubt or any(id(each) in why for each in entry.findings)
        result.append(replace(entry, stays=entry.stays or stays, alone=entry.alone or doubt))
    return result


def _sorted_entries(case: Case, sorts: Sorts, style: Style, by_cause: bool) -> list[Entry]:
    wrong = [finding for finding in sorts.here if finding.outcome in ("fail", "unknown", "warn")]
    unread = _unread(wrong, by_cause)
    grouped = {id(finding) for found in unread.values() for finding in found}
    wrong = [finding for finding in wrong if id(finding) not in grouped]
    together: dict[Remedy | int, list[Fold]] = {}
    rows = _by_cause(wrong) if by_cause else folded(wrong)
    # One that is the play alone is the same fix as that play with the way by hand.
    plays = {row.first.remedy for row in rows if row.first.remedy and row.first.remedy.by_play == row.first.remedy}
    for number, row in enumerate(rows):
        fix = row.first.remedy
        together.setdefault((fix.by_play if fix.by_play in plays else fix) if fix else number, []).append(row)
    entries = [_entry(group, style) for group in together.values()]
    entries += [replace(_listed(found, f"{of_checks(found)} not known, {_WHY[absence]} (-v says what)", "", "", style,
                                ()), reason=_WHY[absence])
                for (absence, _), found in unread.items()]
    if sorts.cut:
        text = f"nothing found by {of_checks(sorts.cut)}, but {_LOG_CUT}"
        entries.append(replace(_listed(sorts.cut, text, "", "", style, ()), reason=f"as {_LOG_CUT}"))
    if sorts.gone:
        text = f"{of_checks(sorts.gone)} not known, as {sorts.silent} does not answer (-v lists them)"
        entries.append(replace(_listed(sorts.gone, text, "", "", style, ()), stays=True, alone=True))
    if sorts.gpus:
        text = f"{of_checks(sorts.gpus)} not known of every GPU: {sorts.gpus[0].text} (-v lists them)"
        entries.insert(0, replace(_listed(sorts.gpus, text, "", "", style, ()),
                                  reason="as the list of GPUs is not whole"))
    if sorts.part:
        entries.insert(0, replace(_of_a_part(sorts.part, sorts.doubt, style),
                                  reason="as the list of PCI devices is not whole"))
    # One fix for several checks comes first, and whole: no page of one check has it.
    return sorted(entries, key=lambda entry: place(entry.outcome, entry.findings))


def _of_one_text(as_root: Again, case: Case, sorts: Sorts, style: Style) -> list[Entry]:
    """Return the entries of what other texts, or root, would tell."""
    stuck = stuck_in_driver(sorts.here) is not None
    entries = []
    if sorts.missing:
        missing = not_given(case, sorts.missing, stuck)
        entries.append(replace(_listed(sorts.missing, missing.text.partition(":")[0], missing.fix, missing.briefly,
                                       style, missing.commands), stays=True, alone=True))
    if sorts.rootless:
        fix = "" if stuck else as_root.fix.removeprefix("run: ")
        text = f"{of_checks(sorts.rootless)} need root (-v says what for)"
        entries.append(replace(_listed(sorts.rootless, text, fix, fix, style, (as_root.command,)),
                               reason=_WHY[Absence.NO_PERMISSION]))
    return entries


def _of_a_part(findings: list[Finding], doubt: str, style: Style) -> Entry:
    """Return one entry for all findings that a list of PCI devices leaves open because it is not whole."""
    fix = findings[0].remedy.text if findings[0].remedy else ""
    return _listed(findings, f"{of_checks(findings)} not known: {doubt} (-v lists them)", fix,
                   f"tunecheck explain {findings[0].id}", style,
                   (*commands_of(findings[0]), f"tunecheck explain {findings[0].id}"))


def _unread(findings: Iterable[Finding], by_cause: bool) -> dict[tuple[Absence, str], list[Finding]]:
    """Return what several checks do not know for one reason, and that has no fix of its own: because of one thing that
    could not be read or, ``by_cause``, whatever that is."""
    found: dict[tuple[Absence, str], list[Finding]] = {}
    for finding in findings:
        if finding.outcome == "unknown" and finding.absence and finding.remedy is None:
            what = "" if by_cause else finding.evidence[0] if finding.evidence else finding.id
            found.setdefault((finding.absence, what), []).append(finding)
    return {reason: group for reason, group in found.items()
            if len({finding.id for finding in group}) > 1 or (by_cause and len(group) > 1)}


def _by_cause(findings: Iterable[Finding]) -> list[Fold]:
    """Return one row for the findings of one check with one outcome and code: the first one's words, and the others'
    subjects."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in worst_first(findings):
        groups.setdefault((finding.id, finding.outcome, finding.code), []).append(finding)
    return [Fold(f"{group[0].text}{_also(group[1:])}", tuple(group)) for group in groups.values()]


def _also(findings: Sequence[Finding]) -> str:
    named = dict.fromkeys(finding.subject for finding in findings if finding.subject)
    return f"; also {', '.join(named)}" if named else ""


def _entry(rows: Sequence[Fold], style: Style) -> Entry:
    first = rows[0].first
    findings = tuple(finding for row in rows for finding in row.findings)
    checks = list(dict.fromkeys(row.first.id for row in rows))
    these = f"fix for these {len(rows)}" if len(rows) > 1 else "fix"
    remedy = next((row.first.remedy for row in rows if row.first.remedy and row.first.remedy.by_hand), first.remedy)
    others = {finding.remedy for finding in findings} - {remedy, remedy and remedy.by_play}
    label = "fix for the first (-v has the others)" if others else these
    fix = remedy.text if remedy else ""
    # The play is one line where the way by hand would not fit.
    play = remedy.play_text if remedy else ""
    by_hand = "; by hand: -v says how" if remedy and remedy.by_hand else ""
    briefly = f"{label}: {play}{by_hand}" if play else \
        f"{these}: in full with -v; why: tunecheck explain {first.id}" if len(checks) == 1 and fix else \
        f"{these}: tunecheck explain {first.id}" if len(checks) == 1 else f"{label}: {fix}"
    whole = f"{label}: {fix}" if fix else ""
    commands = (*(each.shown for each in (remedy.commands if remedy else ())), f"tunecheck explain {first.id}")
    long = height(fix_lines(whole, style, commands), style.width) if fix and briefly != whole else 0

    def sentences(most: int) -> list[str]:
        return [line for row in rows for line in sentence(row, style, most)]

    def why(most: int) -> list[str]:
        # Whoever reads a fix to its end wants to know why: beside a whole fix no sentence of one line is cut.
        lines = sentences(most)
        return lines if not any(line.endswith(GOES_ON) for line in lines) else sentences(max(most, WHY_LINES))

    ways = [why(text) if text and fix and long <= most else sentences(text) for text, most in LIMITS]
    bare = sentences(LIMITS[0][0])
    entry = replace(_with_fixes(first.outcome, findings, ways, (whole, briefly), commands, style, bare),
                    reason=_WHY[first.absence] if first.absence else "")
    if fix and height(fix_lines(whole, style, commands), style.width) <= SHORT_FIX:
        entry = replace(entry, brief=(*bare, *fix_lines(whole, style, commands)))
    if not fix or play or len(checks) > 1:
        return entry    # its short fix is the play, or as long as the whole one
    fixed = fix_lines(whole, style, commands)
    return replace(entry, fixed=tuple([*sentences(text), *fixed] for text, _ in LIMITS))


def _listed(findings: Sequence[Finding], text: str, fix: str, briefly: str, style: Style,
            commands: Sequence[str]) -> Entry:
    """Return an entry of ``text`` and then the checks. ``briefly``: the fix in short, for where ``fix`` does not fit;
    ``commands``: those of both."""
    ways = [marked("unknown", f"{text}: {counted(findings)}", style, max(limit, LIST) if limit else _LONGEST)
            for limit, _ in LIMITS]
    return _with_fixes("unknown", tuple(findings), ways, (f"fix: {fix}" if fix else "", f"fix: {briefly}"), commands,
                       style)


def _with_fixes(outcome: str, findings: tuple[Finding, ...], ways: Sequence[list[str]], fixes: tuple[str, str],
                commands: Sequence[str], style: Style, bare: list[str] | None = None) -> Entry:
    """Return an entry whose versions each have the fix: whole, or only where to read it, because half a command must
    not be pasted. ``fixes``: it as a whole and briefly."""
    whole, short = (fix_lines(each, style, commands) if fixes[0] else [] for each in fixes)
    versions = tuple([*lines, *(whole if not most or height(whole, style.width) <= most else short)]
                     for lines, (_, most) in zip(ways, LIMITS, strict=True))
    return Entry(outcome, findings, versions, bare or ways[0], versions)


def _foot(case: Case, findings: Sequence[Finding], style: Style, imported: bool, following: Step, left_out: str = ""
          ) -> list[str]:
    passed = [finding for finding in findings if finding.outcome == "pass"]
    skipped = [finding for finding in findings if finding.outcome == "skip"]
    # Who measured wants to see the figure, also where it is fine.
    figures = [finding for finding in passed if finding.id in _FIGURES][:_SHOWN]
    lines = [line for each in figures
             for line in marked("pass", finding_text(Fold(each.text, (each,))), style, _LONGEST)]
    more = len(passed) - len(figures)
    lines += marked("pass", f"{more}{' more' * bool(figures)} finding{'s' * (more != 1)} (-v lists them)", style) \
        if more else []
    lines += marked("skip", f"not judged: {_findings(skipped)} (-v says why)", style) if skipped else []
    lines += ["", *wrap(summary(case, list(findings)) + left_out, style.width)]
    if not imported and (calm := nothing_wrong(findings, False)):
        lines += wrap(calm, style.width)
    return [*lines, *(unbroken(following.text, following.commands, style.width, 0) if following.text else [])]


def _findings(findings: Sequence[Finding]) -> str:
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"
