"""No pattern that is looked for in the lines of a whole text takes time that grows with the square of it: foreign texts
are long and monotonous. Patterns without MULTILINE are asked of one line, or of a part that is bounded where it is
cut."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from typing import Any

import tunecheck
import tunecheck_fleet
from tunecheck.util import at_first_use

_LENGTH = 40_000
#: What a text may consist of: blank lines, columns, words, numbers, a line again and again.
_PARTS = ("\n", " ", "\t", " \n", "a", "0", "-", ":", "A a ", "a\n", "x: y\n")
#: CPU seconds that nobody notices. `^\s*LnkSta` took 1 to 5 s for 40,000 empty lines, by machine, and more than eight
#: minutes for 300,000.
_LEAST = 0.1
#: A text four times as long takes four times as long, or sixteen times where the time grows with the square.
_TIMES = 8


def _patterns() -> dict[tuple[str, int], str]:
    """Every pattern with MULTILINE that a module keeps, and the first place that has it."""
    found: dict[tuple[str, int], str] = {}
    for package in (tunecheck, tunecheck_fleet):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__") and ".migrations" not in module.name:
                for name, value in vars(importlib.import_module(module.name)).items():
                    for each in _within(value):
                        if isinstance(each.pattern, str) and each.flags & re.MULTILINE:
                            found.setdefault((each.pattern, each.flags), f"{module.name}.{name}")
    return found


def _within(value: object, depth: int = 4) -> Iterator[Any]:
    if isinstance(value, (re.Pattern, at_first_use._Regex)):  # type: ignore[attr-defined]
        yield value
    elif depth and isinstance(value, (tuple, list, set, frozenset, dict)):
        for each in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _within(each, depth - 1)


def _slow(pattern: re.Pattern[str]) -> str | None:
    """Return what a text was made of whose length counts by its square."""
    for part in _PARTS:
        long = _seconds(pattern, part, _LENGTH)
        if long > _LEAST and long > _TIMES * _seconds(pattern, part, _LENGTH // 4):
            return part
    return None


def _seconds(pattern: re.Pattern[str], part: str, length: int) -> float:
    text = part * (length // len(part))
    begin = time.process_time()
    for _ in pattern.finditer(text):
        pass
    return time.process_time() - begin


def test_monotonous_texts_take_no_time() -> None:
    patterns = _patterns()
    assert len(patterns) > 100, "the patterns are not where they are looked for"
    slow = {where: part for (text, flags), where in patterns.items() if (part := _slow(re.compile(text, flags)))}
    assert not slow, f"time grows with the square of the text (where, and what it is made of): {slow}"


def test_such_a_pattern_is_found() -> None:
    assert _slow(re.compile(r"^\s*LnkSta: ", re.MULTILINE)) == "\n"
    assert _slow(re.compile(r"^[ \t]*LnkSta: ", re.MULTILINE)) is None
