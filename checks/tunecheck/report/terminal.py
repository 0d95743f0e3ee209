"""The report for people: plain lines, wrapped to the terminal, colour only where it is one."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from ..model.absence import Absence
from ..model.finding import Finding, worst
from ..rules.context import Case
from ..rules.errors.from_log import only_cut
from ..util.at_first_use import dataclass, regex
from .grouping import Fold, folded, worst_first
from .paths import path_lines
from .tree import matrix_lines, tree_lines

__all__ = ["Style", "clipped", "counted", "cut_text", "earlier", "fix_lines", "head", "is_missing", "marked",
           "not_given", "plain", "render", "safe", "says", "shown", "style_for", "summary", "whole_tables", "wrap",
           "wrapped"]

_COLOURS = {"fail": "31;1", "unknown": "35", "warn": "33", "pass": "32", "skip": "2"}
_COUNTED = {"fail": "failed", "unknown": "unknown", "warn": "warning", "pass": "passed", "skip": "skipped"}
_INDENT = 8
#: So many names of checks stand in one line.
_NAMED = 10
_GOES_ON = " ..."
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
    """The whole report as text, ending in a newline: worst first. On a terminal (``style.width``) and without
    ``verbose`` it is one screen. In a pipe, what many subjects have in common is one line, and so is everything that
    was not judged. ``imported``: from loose texts; what those that were not given leave unknown stands behind the
    warnings, as one line. ``history``: list what was before this boot."""
    if style.width and not verbose:
        from .screen import screen

        return "\n".join(screen(verb, case, findings, style, imported, history)) + "\n"
    text = [*whole_tables(verb, case, style), *(earlier(case, style) if history else [])]
    missing = [finding for finding in findings if imported and is_missing(finding)]
    here = [finding for finding in findings if not (imported and is_missing(finding))]
    cut = [] if verbose else [finding for finding in here if only_cut(finding)]
    here = [finding for finding in here if finding not in cut] if len(cut) > 1 else here
    said = [Fold(finding.text, (finding,)) for finding in worst_first(here)] if verbose else folded(here)
    for fold in said:
        if len(cut) > 1 and fold.first.outcome not in ("fail", "unknown"):
            text += marked("unknown", cut_text(cut), style)
            cut = []
        if missing and fold.first.outcome in ("pass", "skip"):
            text += _not_given(missing, style, verbose)
            missing = []
        if verbose or fold.first.outcome != "skip":
            text += _said(fold, style)
    text += marked("unknown", cut_text(cut), style) if len(cut) > 1 else []
    text += _not_given(missing, style, verbose) if missing else []
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    text += marked("skip", _skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *wrap(summary(case, findings), style.width)]) + "\n"


def whole_tables(verb: str, case: Case, style: Style) -> list[str]:
    """The heading, and every table in full."""
    lines = [*head(verb, case), ""]
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
    return shown(lines, style)


def earlier(case: Case, style: Style) -> list[str]:
    """What was before this boot."""
    from .history import history_lines

    return shown([*history_lines(case.snapshot.past), ""], style)


def shown(lines: list[str], style: Style) -> list[str]:
    """As they can be sent to a terminal of this width."""
    return [part for line in lines for part in wrap(safe(line), style.width)]


def plain(head: list[str], findings: list[Finding], style: Style, verbose: bool = False) -> str:
    """A report without a machine's tables: ``head``, every finding worst first, the summary. Without ``verbose`` what
    was not judged is one line."""
    text = [part for line in head for part in wrap(safe(line), style.width)]
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    for finding in worst_first(findings):
        text += _said(Fold(finding.text, (finding,)), style) if finding not in skipped else []
    text += marked("skip", _skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *wrap(_summary(findings), style.width)]) + "\n"


def _measured(case: Case, width: int) -> list[str]:
    """The tables of what was measured."""
    from .measured import allreduce_lines, p2p_lines

    assert case.measured is not None
    found, topology = case.measured, case.snapshot.topology
    tables = [p2p_lines(found, topology, width) if found.find("one way") or found.find("control") else [],
              allreduce_lines(found, width) if found.find("allreduce") or found.find("soak") else []]
    return [line for table in tables if table for line in (*table, "")]


def head(verb: str, case: Case) -> list[str]:
    """What was judged, and against what."""
    snapshot, frozen = case.snapshot, case.frozen
    against = f"spec {frozen.host} ({frozen.profile}, {frozen.digest[:19]})" if frozen else "no spec"
    trial = ", trial boot" if case.trial else ""
    image = case.measured.notes.get("image") if case.measured else None
    inside = f", inside {image}" if image else ""
    return [f"tunecheck {verb}: {snapshot.hostname.value or 'unknown host'}, {against}{trial}{inside}"]


def _said(fold: Fold, style: Style) -> list[str]:
    """What is so and what was expected; the remedy behind it, on a terminal on a line of its own to copy from."""
    finding = fold.first
    remedy = finding.remedy.text if finding.remedy and finding.outcome in ("fail", "warn", "unknown") else ""
    return with_fix(finding.outcome, says(fold), remedy, style)


def says(fold: Fold, count: int = 1) -> str:
    """``id: text; expected ...``; behind the id the ``count`` of findings where it is not 1."""
    finding = fold.first
    many = f" ({count})" if count > 1 else ""
    expected = f"; expected {finding.expected}" if finding.outcome in ("fail", "warn") and finding.expected else ""
    return f"{finding.id}{many}: {fold.text}{expected}"


def with_fix(outcome: str, text: str, remedy: str, style: Style) -> list[str]:
    """A problem and how to put it right."""
    if not style.width:
        return marked(outcome, f"{text}; fix: {remedy}" if remedy else text, style)
    return [*marked(outcome, text, style), *(fix_lines(f"fix: {remedy}", style) if remedy else [])]


def fix_lines(text: str, style: Style) -> list[str]:
    """Below what it is for."""
    return wrap(safe(" " * (_INDENT if style.width > 40 else 2) + text), style.width)


def marked(outcome: str, text: str, style: Style, most: int = 0) -> list[str]:
    """``text`` behind the word for its outcome, in at most so many lines (0: any number); " ..." where it goes on."""
    mark = outcome.upper()
    lines = wrap(safe(f"{mark:<{_INDENT}}{text}"), style.width, hang=_INDENT if style.width > 40 else 2)
    lines = clipped(lines, most, style.width)
    if style.colour:
        lines[0] = lines[0].replace(mark, f"\x1b[{_COLOURS[outcome]}m{mark}\x1b[0m", 1)
    return lines


def clipped(lines: list[str], most: int, width: int) -> list[str]:
    """The first ``most`` lines (0: all); where there are more, " ..." says so."""
    if not most or len(lines) <= most:
        return lines
    last, room = lines[most - 1], width - len(_GOES_ON)
    if len(last) > room:
        start = last[:room + 1].rpartition(" ")[0]
        last = start if start.strip() else last[:room]
    return [*lines[:most - 1], last + _GOES_ON]


def _skips(skipped: list[Finding]) -> str:
    # A wall of names tells nobody anything: -v has a line for each.
    named = counted(skipped).split(", ")
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"not judged (-v says why): {', '.join(named[:_NAMED])}{more}"


def counted(findings: Sequence[Finding]) -> str:
    """"link-speed (8), smt": each check once, with how often it said so."""
    counts = Counter(finding.id for finding in findings)
    return ", ".join(f"{check} ({count})" if count > 1 else check for check, count in counts.items())


def is_missing(finding: Finding) -> bool:
    """Whether it is unknown only because the text for it was not given."""
    return finding.outcome == "unknown" and finding.absence is Absence.NOT_IN_IMPORT


def cut_text(findings: list[Finding]) -> str:
    """What found nothing in a kernel log that is not whole."""
    where = findings[0].text.rpartition(" in what is here")[2]
    return f"nothing found by {counted(findings)} in what is here{where}"


def not_given(findings: list[Finding]) -> tuple[str, str]:
    """What an import leaves open because the text for it was not given, and what to add."""
    return (f"{len(findings)} could not be judged from these texts (-v says why): {counted(findings)}",
            _to_add(findings))


def _not_given(findings: list[Finding], style: Style, verbose: bool) -> list[str]:
    if verbose or len(findings) == 1:
        return [part for finding in findings for part in _said(Fold(finding.text, (finding,)), style)]
    return with_fix("unknown", *not_given(findings), style)


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


def summary(case: Case, findings: list[Finding]) -> str:
    """The verdict and how many findings have which outcome."""
    return _summary(findings) + _why_nothing(case, findings)


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
