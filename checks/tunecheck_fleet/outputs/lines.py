"""Lines of a report for people: a mark, what is said, wrapped to the terminal or cut at its end."""

from __future__ import annotations

from collections.abc import Sequence

from tunecheck.report.style import Style, safe, unbroken, wrap

__all__ = ["CUT", "INDENT", "cut", "entry", "marked", "short"]

#: What stands behind a mark begins here.
INDENT = 9
#: So much of a line that is cut its dots take.
CUT = 3
_COLOURS = {"HIGH": "31;1", "MEDIUM": "33", "LOW": "36", "SPLIT": "35", "INCOMPLETE": "35", "STANDING": "2",
            "WAIVED": "2", "APPROVED": "2", "NEXT": "36", "NOTE": "36", "RESOLVED": "32", "CLEAN": "32;1",
            "DRIFT": "31;1", "UNKNOWN": "35;1"}


def entry(mark: str, parts: list[str], style: Style, first: str = "", commands: Sequence[str] = ()) -> list[str]:
    """One entry of a report: on a terminal the mark and ``first``, then every part on a line of its own; in a pipe all
    of it in one line. None of the ``commands`` in its parts is broken. Nothing in it reaches the terminal as a control
    character."""
    head = "" if not mark else f"{mark:<{INDENT}}" if len(mark) < INDENT else f"{mark} "
    if not mark and not first:
        return [line for part in parts for line in wrap(safe(part), style.width, hang=INDENT)]
    hang = 2 if style.width <= 40 else INDENT if mark else 4
    if not style.width:
        lines = [safe(head + "; ".join(part for part in [first, *parts] if part))]
    else:
        given = [part for part in [first, *parts] if part]
        lines = wrap(safe(head + (given[0] if given else "")), style.width, hang, commands)
        for part in given[1:]:
            lines += unbroken(part, commands, style.width, hang)
    return [marked(lines[0], mark), *lines[1:]] if style.colour else lines


def short(mark: str, parts: list[str], style: Style, first: str = "") -> list[str]:
    """The same in one line, cut at the end of the terminal."""
    line = safe(f"{mark:<{INDENT}}" if len(mark) < INDENT else f"{mark} ")
    line = cut(line + safe("; ".join(part for part in [first, *parts] if part)), style)
    return [marked(line, mark) if style.colour else line]


def cut(line: str, style: Style) -> str:
    return line if len(line) <= style.width else f"{line[:max(1, style.width - CUT)]}..."


def marked(line: str, mark: str) -> str:
    """The line with its mark in colour."""
    colour = _COLOURS.get(mark)
    return line.replace(mark, f"\x1b[{colour}m{mark}\x1b[0m", 1) if colour and line.startswith(mark) else line
