"""A page in markdown, for a terminal: reflowed, no mark-up, nothing cut. Only what the pages use is understood:
headings, paragraphs, lists, tables, code. The browser gets the same blocks (html/explained.py)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from .style import NO_BREAK, Style, safe, wrap

__all__ = ["TITLES", "blocks", "inline", "rendered", "sentence_of"]

TITLES = {"What": "What is checked", "Why": "Why it matters", "Wrong": "What you see", "Right": "What good looks like",
          "How to fix": "How to fix", "Codes": "Codes in JSON"}
#: Wider lines are hard to read.
_MOST = 100
_MESSAGE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*: |$")
#: A line that is nothing but a message.
_ALONE = re.compile(r"`[a-z0-9]+(?:-[a-z0-9]+)*: [^`]*`")
#: Programs whose commands in a page change something, so are copied: each with an argument. Root reads with some.
_CHANGES = re.compile(r"(?:sudo(?! (?:dmesg|journalctl|lspci|tunecheck)\b)|"
                      r"echo|ansible-playbook|pip|apt-mark|dnf|systemctl|modprobe|dkms|nvidia-ctk) ")
#: Columns that a line has beside code: its indent, and a bracket or full stop on each side.
_BESIDE = 6
#: Between the cells of a row.
_CELL = "\t"
#: Of a table: columns in front of it and between its own.
_INDENT, _GAP = 2, 2
#: A cell of more lines is no column any more that an eye follows.
_MOST_LINES = 5
_ITEM = re.compile(r"(\s*)(?:[-*]|(\d+)\.) +(.*)")


def rendered(text: str, style: Style, summary: str = "") -> str:
    """Return the page for a terminal, ending in a newline. ``summary``: one plain sentence behind the title."""
    width = min(style.width or 80, _MOST)
    lines: list[str] = []
    table: list[str] = []
    for kind, content in [*blocks(text), ("", "")]:
        if table and kind != "row":
            lines += _table([[_unbroken(cell) for cell in row.split(_CELL)] for row in table], width, style)
            table = []
        if kind == "title":
            title = _plain(f"{content}: {summary}" if summary else content)
            lines += [_bold(line, style) for line in wrap(safe(title), width)]
        elif kind == "heading":
            lines += ["", _bold(safe(TITLES.get(content, _plain(content))), style)]
        elif kind == "code":
            # A finding is there to be read; anything else is there to be copied, and a break would be copied with it.
            lines += [part for line in content.split("\n") for part in (
                wrap(safe(f"    {line}"), width, hang=2) if _MESSAGE.match(line) else [safe(f"    {line}")])]
        elif kind == "item":
            lines += _prose(content, width, 2)
        elif kind == "row":
            table.append(content)
        elif kind == "blank":
            lines += [""] if lines and lines[-1] else []
        else:
            lines += _prose(content, width, 0)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(_single(lines)) + "\n"


def _table(rows: Sequence[Sequence[str]], width: int, style: Style) -> list[str]:
    """Return the lines of a table whose first row names the columns. Blanks that must not be broken are NO_BREAK."""
    if len({len(row) for row in rows}) == 1 and (wide := _widths(rows, width - _INDENT)):
        lines = [line for row in rows for line in _in_columns(row, wide)]
        first = len(_in_columns(rows[0], wide))
        if max(len(_in_columns(row, wide)) for row in rows) <= _MOST_LINES:
            return [*(_bold(line, style) for line in lines[:first]), *lines[first:]]
    return _row_by_row(rows, width)


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the columns' widths: the widest gives way first, and none breaks a word. [] where they do not fit."""
    columns = list(zip(*rows, strict=True))
    wide = [max(map(len, column)) for column in columns]
    least = [max(len(word) for cell in column for word in (cell.split(" ") or [""])) for column in columns]
    room -= _GAP * (len(columns) - 1)
    while sum(wide) > room:
        most = max((size for size, low in zip(wide, least, strict=True) if size > low), default=0)
        if not most:
            return []
        at = next(at for at, (size, low) in enumerate(zip(wide, least, strict=True)) if size == most and size > low)
        wide[at] -= 1
    return wide


def _in_columns(row: Sequence[str], wide: Sequence[int]) -> list[str]:
    cells = [textwrap.wrap(cell, size, break_on_hyphens=False, break_long_words=False) or [""]
             for cell, size in zip(row, wide, strict=True)]
    return [(" " * _INDENT + (" " * _GAP).join(
        f"{cell[at] if at < len(cell) else '':<{size}}" for cell, size in zip(cells, wide, strict=True))
             ).rstrip().replace(NO_BREAK, " ") for at in range(max(map(len, cells)))]


def _row_by_row(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return each row as its first cell, and below it one line for each other cell with the column's name."""
    names, lines = rows[0], list[str]()
    for row in rows[1:]:
        lines += _filled(row[0], width, _INDENT)
        for at, cell in enumerate(row[1:], 1):
            lines += _filled(f"{names[at]}: {cell}" if at < len(names) else cell, width, 3 * _INDENT)
    return lines


def _filled(text: str, width: int, indent: int) -> list[str]:
    return [line.replace(NO_BREAK, " ") for line in textwrap.wrap(
        text, max(width, 20), initial_indent=" " * indent, subsequent_indent=" " * (indent + 2),
        break_on_hyphens=False, break_long_words=False)]


def sentence_of(row: str) -> str:
    """Return a block of the kind "row" as one sentence."""
    first, *others = row.split(_CELL)
    return f"{first}: {'; '.join(others)}"


def _unbroken(cell: str) -> str:
    """Return a cell's text, in which no code is broken."""
    return "".join(safe(part).replace(" ", NO_BREAK) if code else safe(part) for code, part in inline(cell))


def _prose(content: str, width: int, hang: int) -> list[str]:
    """Return the lines of a paragraph. A command that changes something stands on a line of its own, without the
    sentence's full stop: it is there to be copied. Other code is not broken where it fits into a line; where it does
    not fit, it has a line of its own, whole."""
    lines: list[str] = []
    words = ""
    for code, part in inline(content):
        fits = len(part) + hang + _BESIDE <= width
        message = not fits and _MESSAGE.match(part)      # is read, not copied, so it is prose
        if code and not message and (_CHANGES.match(part) or (" " in part and not fits)):
            lines += _reflowed(words.rstrip(" ("), width, hang if not lines else 0)
            lines.append(safe(f"      {part}"))
            words = ""
        else:
            if lines and not words and not code:
                part = part.lstrip(" .,;:)")
            words += part.replace(" ", NO_BREAK) if code and not message else part
    return lines + _reflowed(words, width, hang if not lines else 0)


def _reflowed(words: str, width: int, hang: int) -> list[str]:
    return [line.replace(NO_BREAK, " ") for line in wrap(safe(f"  {words}"), width, hang)] if words.strip() else []


def blocks(text: str) -> list[tuple[str, str]]:
    """Return (kind, text) of each block of a page, in order. Kinds: title, heading, text, item, row, code, blank. An
    item begins with its mark; sentence_of() says a row."""
    found: list[tuple[str, str]] = []
    code: list[str] | None = None
    fresh = True
    for line in text.splitlines():
        if line.startswith("```"):
            if code is not None:
                found.append(("code", "\n".join(code)))
            code = [] if code is None else None
            fresh = True
        elif code is not None:
            code.append(line)
        elif not line.strip():
            found.append(("blank", ""))
            fresh = True
        elif line.startswith("#"):
            found.append(("title" if line.startswith("# ") else "heading", line.lstrip("# ")))
            fresh = True
        elif line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            if not all(set(cell) <= set("-: ") for cell in cells):
                found.append(("row", _CELL.join(cell.replace(_CELL, " ") for cell in cells)))
            fresh = True
        elif item := _ITEM.fullmatch(line):
            found.append(("item", f"{item[2] + '.' if item[2] else '-'} {item[3]}"))
            fresh = False
        elif fresh or found[-1][0] not in ("text", "item"):
            # An example of a message stands by itself: what explains it is a paragraph of its own.
            found += [("blank", "")] if found and found[-1][0] == "text" and _ALONE.fullmatch(found[-1][1]) else []
            found.append(("text", line.strip()))
            fresh = _ALONE.fullmatch(line.strip()) is not None
        else:
            kind, before = found[-1]
            found[-1] = (kind, f"{before} {line.strip()}")
    return found if code is None else [*found, ("code", "\n".join(code))]


def inline(text: str) -> list[tuple[bool, str]]:
    """Return the parts of a line as (whether it is code, text), without the marks of code, stress and links."""
    parts = []
    for part in re.split(r"(``.+?``(?!`)|`[^`]*`)", text):
        if part.startswith("`") and len(part) > 1:      # two marks: a back-tick is in it, as in the kernel's messages
            parts.append((True, part[2:-2].strip() if part.startswith("``") and len(part) > 4 else part[1:-1]))
            continue
        part = re.sub(r"\[([^]]+)\]\(([^)]+)\)", lambda to: to[1] if to[1] == to[2] else f"{to[1]} ({to[2]})", part)
        parts.append((False, re.sub(r"(?<!\w)(\*\*|\*|__)(\S(?:.*?\S)?)\1(?!\w)", r"\2", part)))
    return parts


def _plain(text: str) -> str:
    return "".join(part for _, part in inline(text))


def _bold(line: str, style: Style) -> str:
    return f"\x1b[1m{line}\x1b[0m" if style.colour else line


def _single(lines: list[str]) -> list[str]:
    return [line for at, line in enumerate(lines) if line or at == 0 or lines[at - 1]]
