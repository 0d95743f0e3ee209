"""A value of a fact as people say it: a number with its unit, and of the equal values of several boards or links how
many have each, never a mapping as a program writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

__all__ = ["measured", "value_text"]

#: Of a number that means nothing without it; "8 GPUs" a fact's name says itself.
_WITH_UNIT = ("mW", "MHz", "bytes", "KiB", "MiB", "GiB", "s", "lanes")
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")
_BARE = re.compile(r"[^\s{}\[\]:,\"]{1,160}")
#: Of the values that are counted: they are names, and may be of several words.
_NAME = re.compile(r"[^{}\[\],\"]{1,160}")
_DEEPEST = 8


def measured(fact: str, value: Any) -> Any:
    """Return the value of that fact; a number with its unit, in which checks give it too, also one that is counted:
    "450 W", "7 x 600 W, 1 x 450 W", "15 x16, 1 x8"."""
    unit = _unit(fact)
    if unit not in _WITH_UNIT or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _in(unit, value)
    if _is_counted(value) and any(_NUMBER.fullmatch(each) for each in value):
        counted = sorted(value.items(), key=lambda each: -each[1])
        # The width of a link is written x16 itself.
        between = " " if unit == "lanes" else " x "
        return ", ".join(f"{count}{between}{_in(unit, float(each))}" if _NUMBER.fullmatch(each) else
                         _counted(each, count) for each, count in counted)
    return value


def value_text(value: Any, depth: int = 0) -> str:
    """Return any value as text: "7 x 16, 1 x 8" of what is counted, "ip=off, ro=true" of what has names."""
    if isinstance(value, str):
        return value if not depth or _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping) and depth < _DEEPEST:
        text = ", ".join(_counted(str(name), count) for name, count in value.items()) if _is_counted(value) else \
            ", ".join(f"{value_text(str(name), 1)}={value_text(each, depth + 1)}" for name, each in value.items())
        return f"({text or 'none'})" if depth or not text else text
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return "[" + ", ".join(value_text(each, depth + 1) for each in value) + "]"
    return json.dumps(value, default=str)


def _is_counted(value: Any) -> bool:
    """Whether it says how many boards, links or pairs have each value, as facts/registry/selectors.py counts them."""
    return isinstance(value, Mapping) and bool(value) and all(type(each) is int for each in value.values())


def _counted(name: str, count: int) -> str:
    return f"{count} x {name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)}"


@cache
def _unit(fact: str) -> str:
    """Of a fact; of a check, that of what it judges, where all of that has one unit."""
    from tunecheck.facts.registry import entry_of  # start-up time: it names every fact of a box
    from tunecheck.rules.index import BY_ID

    judged = BY_ID[fact].judges if fact in BY_ID else (fact,)
    units = {entry.unit if (entry := entry_of(each)) is not None else "" for each in judged}
    return next(iter(units)) if len(units) == 1 else ""


def _in(unit: str, number: float) -> str:
    if unit == "lanes":
        return f"x{number:.15g}"
    return f"{number / 1000:.10g} W" if unit == "mW" else f"{number:.15g} {unit}"
