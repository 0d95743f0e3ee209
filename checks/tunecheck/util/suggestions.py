"""Suggests what was probably meant by a name that does not exist: the known names that look like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "nearest"]

#: Two words that share so much of their letters look alike (1: all of them).
_ALIKE = 0.6


def nearest(word: str, known: Iterable[str], most: int = 1, alike: float = _ALIKE) -> list[str]:
    """Return up to ``most`` of the known names, the most similar first. The list is empty where none is similar
    enough."""
    import difflib  # start-up time: only for a name that is wrong

    return difflib.get_close_matches(word, known, most, alike)


def did_you_mean(names: Sequence[str], between: str = " or ") -> str:
    """Return "did you mean gpu1 or gpu2?", or "" where ``names`` is empty."""
    return f"did you mean {between.join(names)}?" if names else ""
