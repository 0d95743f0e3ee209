"""Writes lists in a sentence: the first names, and how many more there are. A list or a text that is cut says so."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["and_more", "ending", "some"]


def some(names: Sequence[str], most: int, before: str = " ") -> str:
    """Return the first ``most`` names: "a, b and 3 more". ``before`` stands before "and": ", " gives "a, b, and 3
    more"."""
    return ", ".join(names[:most]) + and_more(len(names) - most, before)


def and_more(left: int, before: str = " ") -> str:
    """Return how many names are left out, " and 3 more", or "" where none is.

    For a list that is no sentence ``before`` is "", or "; " behind a whole sentence. What is left out is counted by the
    caller: names may stand for several things each.
    """
    return f"{before}and {left} more" if left > 0 else ""


def ending(text: str, most: int) -> str:
    """Return the end of a text, at most so many characters, from a word on: "... lookup ghcr.io: no such host". A
    program's error begins with what was asked for and ends with the cause."""
    if len(text) <= most:
        return text
    end = text[-(most - 4):]
    return "... " + (end.partition(" ")[2] or end)
