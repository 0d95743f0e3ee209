"""How a window breaks a line: at its last column, or, as `fold -s` and mail programs do, at the last blank before it.
line_ends.py and table_ends.py join such lines again."""

from __future__ import annotations

from collections.abc import Iterator

from ...util.at_first_use import dataclass, regex

__all__ = ["NARROW", "WIDE", "Ends", "Unjoined", "at_a_word", "between", "columns", "each_line", "goes_on"]

#: No window that breaks lines is narrower or wider.
NARROW, WIDE = 20, 300
_TAB = 8
_WORD = regex(r"(\S{1,300})( ?)")


class Unjoined(str):
    """What is said of broken lines that nobody can join surely: what they tell is missing."""

    __slots__ = ()


@dataclass(frozen=True)
class Ends:
    """``text``: with whole lines, as far as they are there; ``doubt``: what was wrong with them, "" where nothing
    was."""

    text: str
    doubt: str = ""


def each_line(text: str) -> Iterator[str]:
    begin = 0
    while begin <= len(text):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        yield text[begin:end]
        begin = end + 1


def columns(line: str) -> int:
    return len(line.expandtabs(_TAB) if "\t" in line else line)


def goes_on(line: str, following: str, width: int) -> bool:
    """Whether the first word of the next line had no room on this one, with the blank behind it, as `fold -s` counts:
    so a window breaks a line."""
    used = columns(line)
    word = _WORD.match(following)
    if used == width:
        return True
    return word is not None and used + (not line.endswith(" ")) + len(word[0]) > width


def at_a_word(line: str, width: int) -> bool:
    """Whether a line that goes on was broken at a word, as mail programs and `fold -s` do: a window fills its lines,
    and may leave out a blank at the end."""
    return not line.endswith(" ") and columns(line) < width - 1


def between(line: str, width: int, by_words: bool) -> str:
    """Return what stood between two parts of a line: nothing where the window was full, else the blank that was left
    out at its end."""
    return "" if line.endswith(" ") or (not by_words and columns(line) == width) else " "
