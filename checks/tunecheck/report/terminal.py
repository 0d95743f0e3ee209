"""The report for people: plain lines, wrapped to the terminal, colour only where it is one."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from typing import TextIO

from ..absence import Absence
from ..formats.at_first_use import dataclass, regex
from ..rules import Case, Finding, worst
from ..rules.from_log import only_cut
from .fold import Fold, folded, worst_first
from .paths import path_lines
from .tree import matrix_lines, tree_lines

__all__ = ["Style", "plain", "render", "safe", "style_for", "wrap", "wrapped"]

_COLOURS = {"fail": "31;1", "unknown": "35", "warn": "33", "pass": "32", "skip": "2"}
_COUNTED = {"fail": "failed", "unknown": "unknown", "warn": "warning", "pass": "passed", "skip": "skipped"}
_INDENT = 8
_BRANCH = regex("((?:│  |[|]  |   )*)(├─ |└─ |[|]- |`- )")
_ADD = regex(r"; add: ([^;]{1,120})")
#: How many commands are named of those that would tell more.
_ADDED = 3
_UNPRINTABLE = regex(r"[^\x20-\x7e\u00a0-\u2027\u2030-\u2065\u2070-\ud7ff]")


@dataclass(frozen=True)
class Style:
    """``width`` 0: do not wrap."""

    width: int = 0
    colour: bool = False
    unicode: bool = False


def style_for(stream: TextIO) -> Style:
    """What ``stream`` can show. A pipe gets one line per finding, so that grep and Ansible see it whole."""
    terminal = stream.isatty()
    colour = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    unicode = (stream.encoding or "").lower().replace("-", "") == "utf8"
    wide = shutil.get_terminal_size().columns if terminal or os.environ.get("COLUMNS", "").isdigit() else 0
    return Style(wide, colour, unicode)


def wrapped(line: str, stream: TextIO) -> str:
    """A message for a terminal, or as it is where ``stream`` is none."""
    return "\n".join(wrap(line, _columns(stream))) if stream.isatty() else line


def _columns(stream: TextIO) -> int:
    """Of this stream: standard output may be another terminal, or none."""
    if os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def render(verb: str, case: Case, findings: list[Finding], style: Style, verbose: bool = False,
           imported: bool = False, history: bool = False) -> str:
    """The whole report as text, ending in a newline: worst first. Without ``verbose`` what many subjects have in
    common is one line, and so is everything that was not judged. ``imported``: from loose texts; what those that were
    not given leave unknown stands behind the warnings, as one line. ``history``: list what was before this boot."""
    lines = [*_head(verb, case), ""]
    if case.measured is not None:
        lines += _measured(case, style.width)
    if verb in ("topo", "preflight"):
        told = _posted(case, style.width)
        if case.snapshot.topology.accelerators.known or not case.snapshot.posted.anything:
            lines += [*tree_lines(case.snapshot.topology, style.unicode), ""]
        matrix = matrix_lines(case.snapshot.topology, style.width)
        lines += [*matrix, ""] if matrix else []
        lines += told
        predicted = path_lines(case.snapshot)
        lines += [*predicted, ""] if predicted else []
    if history:
        from .history import history_lines

        lines += [*history_lines(case.snapshot.past), ""]
    text = [safe(line) for line in lines]
    text = [part for line in text for part in wrap(line, style.width)]
    missing = [finding for finding in findings if imported and _is_missing(finding)]
    here = [finding for finding in findings if not (imported and _is_missing(finding))]
    cut = [] if verbose else [finding for finding in here if only_cut(finding)]
    here = [finding for finding in here if finding not in cut] if len(cut) > 1 else here
    short = bool(style.width) and not verbose       # a person reads it: one screen
    rootless = [finding for finding in here if short and _needs_root(finding)]
    here = [finding for finding in here if finding not in rootless] if len(rootless) > 1 else here
    said = [Fold(finding.text, (finding,)) for finding in worst_first(here)] if verbose else folded(here)
    fixes: dict[str, str] = {}
    for fold in said:
        if len(cut) > 1 and fold.first.outcome not in ("fail", "unknown"):
            text += _cut(cut, style)
            cut = []
        if missing and fold.first.outcome in ("pass", "skip"):
            text += _missing(missing, style, verbose)
            missing = []
        if verbose or fold.first.outcome not in (("pass", "skip") if short else ("skip",)):
            text += _said(fold, style, fixes if short else None)
    text += _cut(cut, style) if len(cut) > 1 else []
    text += _missing(missing, style, verbose) if missing else []
    text += _rootless(verb, rootless, style) if len(rootless) > 1 else []
    passed = [finding for finding in here if short and finding.outcome == "pass"]
    text += _line("pass", f"{_findings(passed)} (-v lists them)", style) if passed else []
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    if skipped and short:
        text += _line("skip", f"not judged: {_findings(skipped)} (-v says why)", style)
    elif skipped:
        text += _line("skip", _skips(skipped), style)
    ending = wrap(_summary(findings) + _why_nothing(case, findings), style.width)
    following = wrap(_next(verb, findings, rootless), style.width) if short else []
    return "\n".join([*text, "", *ending, *(line for line in following if line)]) + "\n"


def _findings(findings: list[Finding]) -> str:
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"


def _needs_root(finding: Finding) -> bool:
    return finding.outcome == "unknown" and finding.remedy is not None and finding.remedy.as_root


def _rootless(verb: str, findings: list[Finding], style: Style) -> list[str]:
    """What only root could read, as one entry: it has one fix."""
    ids = dict.fromkeys(finding.id for finding in findings)
    return _with_fix("unknown", f"{len(ids)} checks need root (-v says what for): {', '.join(ids)}",
                     f"sudo tunecheck {verb}", style)


def _next(verb: str, findings: list[Finding], rootless: list[Finding]) -> str:
    """The one next step: root first, as what cannot be read cannot be judged; then the worst finding."""
    if len(rootless) > 1:
        return f"next: sudo tunecheck {verb}"
    wrong = [finding for finding in worst_first(findings) if finding.outcome in ("fail", "warn")]
    if not wrong:
        return ""
    fixed = sum(finding.remedy is not None and finding.remedy.needs_reboot for finding in wrong)
    reboot = f"1 reboot is needed for {fixed} of {len(wrong)} fails and warnings; " if fixed else ""
    return f"next: {reboot}tunecheck explain {wrong[0].id}"


def plain(head: list[str], findings: list[Finding], style: Style, verbose: bool = False) -> str:
    """A report without a machine's tables: ``head``, every finding worst first, the summary. Without ``verbose`` what
    was not judged is one line."""
    text = [part for line in head for part in wrap(safe(line), style.width)]
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    for finding in worst_first(findings):
        text += _said(Fold(finding.text, (finding,)), style) if finding not in skipped else []
    text += _line("skip", _skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *wrap(_summary(findings), style.width)]) + "\n"


def _measured(case: Case, width: int) -> list[str]:
    """The tables of what was measured."""
    from .measured import allreduce_lines, p2p_lines

    assert case.measured is not None
    found, topology = case.measured, case.snapshot.topology
    tables = [p2p_lines(found, topology, width) if found.find("one way") or found.find("control") else [],
              allreduce_lines(found, width) if found.find("allreduce") or found.find("soak") else []]
    return [line for table in tables if table for line in (*table, "")]


def _head(verb: str, case: Case) -> list[str]:
    snapshot, frozen = case.snapshot, case.frozen
    against = f"spec {frozen.host} ({frozen.profile}, {frozen.digest[:19]})" if frozen else "no spec"
    trial = ", trial boot" if case.trial else ""
    image = case.measured.notes.get("image") if case.measured else None
    inside = f", inside {image}" if image else ""
    return [f"tunecheck {verb}: {snapshot.hostname.value or 'unknown host'}, {against}{trial}{inside}"]


def _said(fold: Fold, style: Style, told: dict[str, str] | None = None) -> list[str]:
    """What is so and what was expected; the remedy behind it, on a terminal on a line of its own to copy from.
    ``told`` maps a remedy that was shown to the check that showed it: it is not shown twice."""
    finding = fold.first
    says = f"{finding.id}: {fold.text}"
    if finding.outcome in ("fail", "warn") and finding.expected:
        says += f"; expected {finding.expected}"
    remedy = finding.remedy.text if finding.remedy and finding.outcome in ("fail", "warn", "unknown") else ""
    if told is not None and remedy:
        shown = told.get(remedy)
        told.setdefault(remedy, finding.id)
        remedy = f"as for {shown}, above" if shown else remedy
    return _with_fix(finding.outcome, says, remedy, style)


def _with_fix(outcome: str, says: str, remedy: str, style: Style) -> list[str]:
    if not style.width:
        return _line(outcome, f"{says}; fix: {remedy}" if remedy else says, style)
    fix = wrap(safe(" " * (_INDENT if style.width > 40 else 2) + f"fix: {remedy}"), style.width) if remedy else []
    return [*_line(outcome, says, style), *fix]


def _line(outcome: str, says: str, style: Style) -> list[str]:
    mark = outcome.upper()
    lines = wrap(safe(f"{mark:<{_INDENT}}{says}"), style.width, hang=_INDENT if style.width > 40 else 2)
    if style.colour:
        lines[0] = lines[0].replace(mark, f"\x1b[{_COLOURS[outcome]}m{mark}\x1b[0m", 1)
    return lines


def _skips(skipped: list[Finding]) -> str:
    return f"not judged (-v says why): {_counted(skipped)}"


def _counted(findings: list[Finding]) -> str:
    """"link-speed (8), smt": each check once, with how often it said so."""
    counts = Counter(finding.id for finding in findings)
    return ", ".join(f"{check} ({count})" if count > 1 else check for check, count in counts.items())


def _is_missing(finding: Finding) -> bool:
    return finding.outcome == "unknown" and finding.absence is Absence.NOT_IN_IMPORT


def _cut(findings: list[Finding], style: Style) -> list[str]:
    """What found nothing in a kernel log that is not whole."""
    where = findings[0].text.rpartition(" in what is here")[2]
    return _line("unknown", f"nothing found by {_counted(findings)} in what is here{where}", style)


def _missing(findings: list[Finding], style: Style, verbose: bool) -> list[str]:
    """What an import leaves open because the text for it was not given."""
    if verbose or len(findings) == 1:
        return [part for finding in findings for part in _said(Fold(finding.text, (finding,)), style)]
    says = f"{len(findings)} could not be judged from these texts (-v says why): {_counted(findings)}"
    return _with_fix("unknown", says, _to_add(findings), style)


def _to_add(findings: list[Finding]) -> str:
    """The one command that tells most first, two more behind it; the rest is in a recording."""
    asked = Counter(_command(found.group(1)) for finding in findings if (found := _ADD.search(finding.text)))
    ranked = [command for command, _ in asked.most_common()]
    whole = "all of it is in a recording: sudo tunecheck record"
    if not ranked:
        return whole
    first = f"add the output of: {ranked[0]} (tells {asked[ranked[0]]} of them)"
    more = f"; then: {', '.join(ranked[1:_ADDED])}" if len(ranked) > 1 else ""
    return f"{first}{more}; {whole}"


def _command(text: str) -> str:
    """One command for what several spellings of it tell."""
    text = text.strip().rstrip(")")
    return "sudo lspci -nnvvv" if text.startswith("sudo lspci -") and "x" not in text else text


def _summary(findings: list[Finding]) -> str:
    counts = {outcome: sum(finding.outcome == outcome for finding in findings) for outcome in _COUNTED}
    named = [f"{count} {word}" for outcome, word in _COUNTED.items() if (count := counts[outcome])]
    return f"{worst(findings).upper()}: {', '.join(named) or 'nothing judged'}"


def _why_nothing(case: Case, findings: list[Finding]) -> str:
    """A report that judged nothing looks like a good one: a box whose GPUs are gone must not be green unnoticed."""
    if any(finding.id == "accelerator-count" for finding in findings):
        return ""       # which says it
    judged = any(finding.outcome != "skip" for finding in findings)
    text = "" if judged else "; nothing was judged (-v says why)"
    found = case.snapshot.topology.accelerators
    if found.value is None:
        return "" if judged else f"; nothing was judged: the PCI devices cannot be listed: {found.why()}"
    return text if found.value or case.snapshot.topology.unlisted else f"; no accelerator found{text}"


def wrap(line: str, width: int, hang: int = 2) -> list[str]:
    """The line in parts of at most ``width`` columns (0: as it is), what follows ``hang`` further to the right."""
    if not width or len(line) <= width:
        return [line]
    branch = _BRANCH.match(line)
    if branch:      # the tree goes on beside what did not fit
        indent = branch.group(1) + ("   " if branch.group(2)[0] in "└`" else branch.group(2)[0] + "  ") + " " * hang
        indent = indent.replace("├", "│")
    else:
        indent = " " * (len(line) - len(line.lstrip()) + hang)
    wide = max(width, 20)
    return textwrap.wrap(line, wide, subsequent_indent=indent[:wide // 2], break_on_hyphens=False,
                         drop_whitespace=True) or [""]


def safe(text: str) -> str:
    """Show control characters instead of sending them: what a host says about itself may be hostile."""
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def _posted(case: Case, width: int) -> list[str]:
    if not case.snapshot.posted.anything:
        return []
    from .posted import posted_lines  # start-up time

    return posted_lines(case.snapshot, width)
