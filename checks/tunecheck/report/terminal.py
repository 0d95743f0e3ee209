"""The report for people: plain lines, wrapped to the terminal, colour only where it is one."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from dataclasses import dataclass
from typing import TextIO

from ..rules import Case, Finding, worst
from .fold import Fold, folded, worst_first
from .paths import path_lines
from .tree import matrix_lines, tree_lines

__all__ = ["Style", "render", "style_for"]

_COLOURS = {"fail": "31;1", "unknown": "35", "warn": "33", "pass": "32", "skip": "2"}
_COUNTED = {"fail": "failed", "unknown": "unknown", "warn": "warning", "pass": "passed", "skip": "skipped"}
_INDENT = 8
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\u00a0-\u2027\u2030-\u2065\u2070-\ud7ff]")


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


def render(verb: str, case: Case, findings: list[Finding], style: Style, verbose: bool = False) -> str:
    """The whole report as text, ending in a newline: worst first. Without ``verbose`` what many subjects have in
    common is one line, and so is everything that does not apply."""
    lines = [*_head(verb, case), ""]
    if case.measured is not None:
        lines += _measured(case, style.width)
    if verb in ("topo", "preflight"):
        lines += [*tree_lines(case.snapshot.topology, style.unicode), ""]
        matrix = matrix_lines(case.snapshot.topology, style.width)
        lines += [*matrix, ""] if matrix else []
        predicted = path_lines(case.snapshot)
        lines += [*predicted, ""] if predicted else []
    text = [_safe(line) for line in lines]
    text = [part for line in text for part in _wrap(line, style.width)]
    said = [Fold(finding.text, (finding,)) for finding in worst_first(findings)] if verbose else folded(findings)
    text += [part for fold in said if verbose or fold.first.outcome != "skip" for part in _said(fold, style)]
    skipped = [] if verbose else [finding for finding in findings if finding.outcome == "skip"]
    text += _line("skip", _skips(skipped), style) if skipped else []
    return "\n".join([*text, "", *_wrap(_summary(findings), style.width)]) + "\n"


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


def _said(fold: Fold, style: Style) -> list[str]:
    """What is so and what was expected; the remedy behind it, on a terminal on a line of its own to copy from."""
    finding = fold.first
    says = f"{finding.id}: {fold.text}"
    if finding.outcome in ("fail", "warn") and finding.expected:
        says += f"; expected {finding.expected}"
    remedy = finding.remedy.text if finding.remedy and finding.outcome in ("fail", "warn", "unknown") else ""
    if not style.width:
        return _line(finding.outcome, f"{says}; {remedy}" if remedy else says, style)
    fix = _wrap(_safe(" " * (_INDENT if style.width > 40 else 2) + f"fix: {remedy}"), style.width) if remedy else []
    return [*_line(finding.outcome, says, style), *fix]


def _line(outcome: str, says: str, style: Style) -> list[str]:
    mark = outcome.upper()
    lines = _wrap(_safe(f"{mark:<{_INDENT}}{says}"), style.width, hang=_INDENT if style.width > 40 else 2)
    if style.colour:
        lines[0] = lines[0].replace(mark, f"\x1b[{_COLOURS[outcome]}m{mark}\x1b[0m", 1)
    return lines


def _skips(skipped: list[Finding]) -> str:
    names = ", ".join(dict.fromkeys(finding.id for finding in skipped))
    return f"{len(skipped)} do not apply here (-v says why): {names}"


def _summary(findings: list[Finding]) -> str:
    counts = {outcome: sum(finding.outcome == outcome for finding in findings) for outcome in _COUNTED}
    named = [f"{count} {word}" for outcome, word in _COUNTED.items() if (count := counts[outcome])]
    return f"{worst(findings).upper()}: {', '.join(named) or 'nothing judged'}"


def _wrap(line: str, width: int, hang: int = 2) -> list[str]:
    if not width or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + hang)
    wide = max(width, 20)
    return textwrap.wrap(line, wide, subsequent_indent=indent[:wide // 2], break_on_hyphens=False,
                         drop_whitespace=True) or [""]


def _safe(text: str) -> str:
    """Show control characters instead of sending them: what a host says about itself may be hostile."""
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


