"""Collect what the checks declare into checks/tunecheck/rules/index.py: python -m lab.generators.check_index

A check is a file of checks/tunecheck/rules/ with a CHECK in it. The index holds them all in the order of a report, so
that a verb knows its checks without importing every file. tests/unit/rules/test_declared.py compares the two.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from tunecheck import rules
from tunecheck.errors import UsageError
from tunecheck.rules import check
from tunecheck.rules.check import Check, Heading
from tunecheck.util.safe_files import replace

__all__ = ["INDEX", "declared", "text"]

INDEX = Path(rules.__path__[0]) / "index.py"
_WIDTH = 120
_VERBS = {getattr(check, name): name for name in check.__all__ if name.isupper()}
_HEAD = '''"""Every check in the order of a report, made by `python -m lab.generators.check_index`: change the check's own file."""

from __future__ import annotations

from .check import {names}

__all__ = ["BY_ID", "CHECKS"]

CHECKS: tuple[Check, ...] = (
'''


def declared() -> list[Check]:
    """What every file declares. UsageError where two want one place, or a file's name is not its check's."""
    found: dict[tuple[int, int], Check] = {}
    order = list(Heading)
    for module in pkgutil.iter_modules(rules.__path__):
        one = getattr(import_module(f"{rules.__name__}.{module.name}"), "CHECK", None)
        if one is None:
            continue
        if one.module != module.name:
            raise UsageError(f"rules/{module.name}.py declares {one.id}; expected in rules/{one.module}.py")
        place = (order.index(one.heading), one.place)
        if place in found:
            raise UsageError(f"{one.id} and {found[place].id} have one place: {one.heading.name}, {one.place}; change "
                             "one of them")
        found[place] = one
    return [found[place] for place in sorted(found)]


def text() -> str:
    """The index as a file."""
    rows = "".join(_row(one) for one in declared())
    names = [name for name in sorted(check.__all__, key=lambda each: (not each.isupper(), each))
             if f"{name}," in rows or f"{name})" in rows or f"{name}(" in rows or f"{name}." in rows]
    return _HEAD.format(names=", ".join(names)) + rows + ")\nBY_ID = {check.id: check for check in CHECKS}\n"


def _row(one: Check) -> str:
    words = list(_words(one))
    lines, line = [], "    Check("
    for number, word in enumerate(words):
        word += ")," if number == len(words) - 1 else ", "
        if len(line) + len(word.rstrip()) > _WIDTH:
            lines.append(line.rstrip())
            line = " " * 10
        line += word
    return "\n".join([*lines, line.rstrip()]) + "\n"


def _words(one: Check) -> Iterator[str]:
    for field in fields(Check):
        value = getattr(one, field.name)
        if field.name in ("id", "summary", "heading", "place", "family"):
            yield _shown(value)
        elif value != field.default:
            yield f"{field.name}={_VERBS.get(value) or _shown(value)}" if field.name == "verbs" else (
                f"{field.name}={_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_shown, value)) + ("," if len(value) == 1 else "") + ")"
    return '"' + value.replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


def main() -> int:
    replace(str(INDEX), text().encode(), 0o644)
    return 0


if __name__ == "__main__":
    sys.exit(main())
