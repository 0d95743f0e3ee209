"""How text is written to a terminal or a pipe: wrapped to the width, in colour only on a terminal, and without
characters that control it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TextIO

from ..util.at_first_use import dataclass, regex

__all__ = ["GOES_ON", "NO_BREAK", "Style", "clipped", "fitted", "fix_lines", "height", "marked", "safe", "shown",
           "style_for", "unbroken", "with_fix", "wrap", "wrapped"]

_COLOURS = {"fail": "31;1", "unknown": "35", "warn": "33", "pass": "32", "skip": "2"}
_INDENT = 8
GOES_ON = " ..."
_NARROW = 40
#: textwrap breaks at white space of ASCII alone, and safe() shows what cannot be printed: this one is neither.
NO_BREAK = "\u2800"
#: Columns that stand beside a command: a bracket in front of it, a bracket and a full stop behind it.
_BESIDE = 3
#: Broken lines that are kept. A report tries each of its sentences at several lengths, and most of these are the same.
_KEPT = 4096
_COLOUR = regex(r"\x1b\[[0-9;]*m")
_BRANCH = regex("((?:│  |[|]  |   )*)(├─ |└─ |[|]- |`- )")
_UNPRINTABLE = regex(r"[^\x20-\x7e\u00a0-\u2027\u2030-\u2065\u2070-\ud7ff]")


@dataclass(frozen=True)
class Style:
    """What a terminal can show. ``width`` in columns; 0: do not wrap. ``rows``: its lines, 0 where they are not
    known."""

    width: int = 0
    colour: bool = False
    unicode: bool = False
    rows: int = 0


def style_for(stream: TextIO) -> Style:
    """Return what ``stream`` can show. A pipe gets whole lines: grep and Ansible see all of them."""
    terminal = stream.isatty()
    colour = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    unicode = (stream.encoding or "").lower().replace("-", "") == "utf8"
    wide = shutil.get_terminal_size().columns if terminal or os.environ.get("COLUMNS", "").isdigit() else 0
    rows = shutil.get_terminal_size().lines if terminal or os.environ.get("LINES", "").isdigit() else 0
    return Style(wide, colour, unicode, rows)


def fitted(message: str, stream: TextIO) -> str:
    """Return sentences for a person: wrapped where ``stream`` is a terminal, unchanged where it is none."""
    return "\n".join(wrapped(line, stream) for line in message.split("\n")) if stream.isatty() else message


def wrapped(line: str, stream: TextIO) -> str:
    """Return a line wrapped for a terminal, or unchanged where ``stream`` is none."""
    return "\n".join(wrap(line, _columns(stream))) if stream.isatty() else line


def _columns(stream: TextIO) -> int:
    """Return the width of this stream in columns. Standard output may be another terminal, or none."""
    if os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def wrap(line: str, width: int, hang: int = 2, commands: Sequence[str] = ()) -> list[str]:
    """Return the line in parts of at most ``width`` columns (0: unchanged); every part but the first begins ``hang``
    columns further to the right. No command in it is broken (`unbroken`); ``commands``: those that are known."""
    if not width or len(line) <= width:
        return [line]
    return list(_broken(line, width, hang, tuple(commands)))


@lru_cache(_KEPT)
def _broken(line: str, width: int, hang: int, commands: tuple[str, ...]) -> tuple[str, ...]:
    from .typed_commands import commands_in  # start-up time: a pipe wraps nothing

    lead = len(line) - len(line.lstrip())
    if not _BRANCH.match(line) and (given := (*commands, *commands_in(line))):
        return _with_commands(line.lstrip(), given, width, lead, lead + hang)
    return tuple(_filled(line, width, hang))


def _filled(line: str, width: int, hang: int) -> list[str]:
    """Return the lines of prose."""
    if not width or len(line) <= width:
        return [line]
    branch = _BRANCH.match(line)
    if branch:      # the tree goes on beside what did not fit
        indent = branch.group(1) + ("   " if branch.group(2)[0] in "└`" else branch.group(2)[0] + "  ") + " " * hang
        indent = indent.replace("├", "│")
    else:
        indent = " " * (len(line) - len(line.lstrip()) + hang)
    import textwrap  # start-up time: a pipe wraps nothing

    wide = max(width, 20)
    return textwrap.wrap(line, wide, subsequent_indent=indent[:wide // 2], break_on_hyphens=False,
                         drop_whitespace=True) or [""]


def safe(text: str) -> str:
    """Return the text with escapes in place of control characters: what a host says about itself may be hostile."""
    if text.isascii() and text.isprintable():
        return text     # most are: the pattern, which takes 2 ms to compile, is not needed
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def clipped(lines: list[str], most: int, width: int) -> list[str]:
    """Return the first ``most`` lines (0: all); where there are more, " ..." says so."""
    if not most or len(lines) <= most:
        return lines
    last, room = lines[most - 1], width - len(GOES_ON)
    if len(last) > room:
        from .typed_commands import commands_in  # start-up time

        for command in commands_in(last):       # half a command must not be pasted
            last = last.replace(command, command.replace(" ", NO_BREAK))
        start = last[:room + 1].rpartition(" ")[0]
        last = (start if start.strip() else last[:room]).replace(NO_BREAK, " ")
    return [*lines[:most - 1], last + GOES_ON]


def shown(lines: list[str], style: Style) -> list[str]:
    """Return the lines as they can be sent to a terminal of this width."""
    return [part for line in lines for part in wrap(safe(line), style.width)]


def marked(outcome: str, text: str, style: Style, most: int = 0) -> list[str]:
    """Return the lines of ``text`` behind the word for its outcome, at most so many (0: any number); " ..." where it
    goes on."""
    mark = outcome.upper()
    lines = wrap(safe(f"{mark:<{_INDENT}}{text}"), style.width, hang=_INDENT if style.width > _NARROW else 2)
    lines = clipped(lines, most, style.width)
    if style.colour:
        lines[0] = lines[0].replace(mark, f"\x1b[{_COLOURS[outcome]}m{mark}\x1b[0m", 1)
    return lines


def fix_lines(text: str, style: Style, commands: Sequence[str] = ()) -> list[str]:
    """Return the lines of a fix, indented below the problem that it is for. None of its ``commands`` is broken."""
    return unbroken(text, commands, style.width, _INDENT if style.width > _NARROW else 2)


def with_fix(outcome: str, text: str, remedy: str, style: Style, commands: Sequence[str] = (), label: str = "fix"
             ) -> list[str]:
    """Return the lines of a problem and how to put it right. Where lines are not wrapped, it is one line."""
    if not style.width:
        return marked(outcome, f"{text}; {label}: {remedy}" if remedy else text, style)
    return [*marked(outcome, text, style), *(fix_lines(f"{label}: {remedy}", style, commands) if remedy else [])]


def height(lines: Iterable[str], width: int) -> int:
    """Return how many lines of a terminal these are: it goes on in the next one where a command is wider than it."""
    return sum(max(1, -(-len(_COLOUR.sub("", line)) // width)) if width else 1 for line in lines)


def unbroken(text: str, commands: Sequence[str], width: int, indent: int) -> list[str]:
    """Return the lines of a text with commands, so that each of these can be pasted where it stands in it: it is
    broken nowhere. One that does not fit into a line has its own, also where that is wider than the terminal, which
    then breaks it itself; what parts it from the sentence is left out there."""
    return list(_with_commands(text, tuple(commands), width, indent, indent + 2))


@lru_cache(_KEPT)
def _with_commands(text: str, commands: tuple[str, ...], width: int, first: int, hang: int) -> tuple[str, ...]:
    """Return the lines of `unbroken`: the first begins in column ``first``, the others in column ``hang``."""
    lines: list[str] = []
    prose, parting = "", ""
    for part, is_command in _parts(safe(text), commands):
        if is_command and width and hang + len(part) + _BESIDE > max(width, 20):
            # What encloses it in the sentence is left out where it stands alone.
            opening = prose[-1:] if prose[-1:] in ("(", "`") else ""
            lines += _flow(prose.removesuffix(opening), width, first, hang, bool(lines))
            # A narrow terminal has no columns to spare for what only shows where it belongs.
            lines.append(" " * (min(hang, width - len(part)) if len(part) <= width <= _NARROW else hang) + part)
            prose, parting = "", f".,;:{')' if opening == '(' else opening}"
        elif is_command:
            prose += part.replace(" ", NO_BREAK)
        else:
            prose += _parted(part, parting) if lines and not prose else part
    return (*lines, *_flow(prose, width, first, hang, bool(lines)))


def _parted(text: str, marks: str) -> str:
    """Return what stands behind a command on a line of its own, without the marks that part it from the sentence."""
    at = 0
    while at < len(text) and text[at] in marks and not text.startswith("...", at):
        at += 1
    return text[at:].lstrip()


def _flow(prose: str, width: int, first: int, hang: int, goes_on: bool) -> list[str]:
    begin = hang if goes_on else first
    lines = _filled(" " * begin + prose.rstrip(), width, hang - begin) if prose.strip() else []
    return [line.replace(NO_BREAK, " ") for line in lines]


def _parts(text: str, commands: Sequence[str]) -> Iterable[tuple[str, bool]]:
    if not commands:
        return [(text, False)]
    import re  # start-up time, as above

    # The longer one first: one command may be the beginning of another.
    any_of = "|".join(re.escape(each) for each in sorted(set(commands), key=len, reverse=True))
    return [(part, bool(at % 2)) for at, part in enumerate(re.split(rf"(?<![^\s(`])({any_of})(?![\w-])", text))]
