"""Suggests what was probably meant by a name that does not exist: the known names that look like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "nearest"]

#: Two words that share so much of their letters look alike (1: all of them).
_ALIKE = 0.6
#: Of a shorter word than this a share of the letters says nothing.
_LONG_ENOUGH = 5


def nearest(word: str, known: Iterable[str], most: int = 1, alike: float = _ALIKE) -> list[str]:
    """Return up to ``most`` of the known names, the most similar first. The list is empty where none is similar
    enough."""
    import difflib  # start-up time: only for a name that is wrong

    if len(word) < _LONG_ENOUGH:
        known = [name for name in known if _one_slip(word, name)]
    return difflib.get_close_matches(word, known, most, alike)


def _one_slip(word: str, name: str) -> bool:
    """Return whether one slip makes ``word`` of ``name``: a letter too many, too few, another one, or two
    in the other order. Of two or three letters a share says nothing: FOO and OOM have two thirds in common. One other
    letter of three makes another word."""
    if len(word) == len(name):
        apart = [at for at in range(len(word)) if word[at] != name[at]]
        if len(apart) == 2 and apart[1] == apart[0] + 1:
            return word[apart[0]] == name[apart[1]] and word[apart[1]] == name[apart[0]]
        return len(apart) < 2 and len(word) > 3
    short, long = sorted((word, name), key=len)
    return len(long) == len(short) + 1 and len(short) > 1 and any(
        long[:at] + long[at + 1:] == short for at in range(len(long)))


def did_you_mean(names: Sequence[str], between: str = " or ") -> str:
    """Return "did you mean gpu1 or gpu2?", or "" where ``names`` is empty."""
    return f"did you mean {between.join(names)}?" if names else ""
