"""A table of a page, for a terminal: in columns, whose cells go on in the next line, else row by row with the name of
each column."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .style import NO_BREAK, Style

__all__ = ["table_lines"]

_INDENT, _GAP = 2, 2
#: A cell of more lines is no column any more that an eye follows.
_MOST_LINES = 5


def table_lines(rows: Sequence[Sequence[str]], width: int, style: Style) -> list[str]:
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


def _bold(line: str, style: Style) -> str:
    return f"\x1b[1m{line}\x1b[0m" if style.colour else line
