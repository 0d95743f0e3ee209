"""The options of each engine's command line, by version: tables that lab/generators/option_tables.py generates from the
engines' own wheels. Read on the control node, where recipes are judged."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Table", "covers", "exact", "meant", "overlap", "pairs", "refused", "tables", "within"]

_FOLDER = Path(__file__).parent / "options"


@dataclass(frozen=True)
class Table:
    """What one version of an engine takes. ``options``: with the values that each takes, None for any; ``variables``:
    of the environment, None where nobody knows them."""

    engine: str
    version: str
    options: Mapping[str, Sequence[str] | None]
    variables: frozenset[str] | None

    def takes(self, option: str) -> bool:
        """Return whether this version takes the option. As the engines' own parsers do, it also accepts --no-x of a
        switch, _ for -, nested --x.key, and an option that is short for one other."""
        plain = _plain(option)
        return any(each in self.options for each in (option, plain, plain.replace("--no-", "--", 1))) or bool(
            self.short_for(option))

    def short_for(self, option: str) -> str:
        """Return the one option that begins so, as argparse completes it (vLLM and SGLang leave allow_abbrev on); ""
        for an option of its own, and where none or several begin so."""
        plain = _plain(option)
        if not plain.startswith("--") or any(each in self.options for each in (
                option, plain, plain.replace("--no-", "--", 1))):
            return ""
        found = [each for each in self.options if each.startswith(plain)]
        return found[0] if len(found) == 1 else ""

    def choices(self, option: str) -> Sequence[str] | None:
        plain = _plain(option)
        return self.options.get(self.short_for(option) or plain)


def _plain(option: str) -> str:
    return (option.replace("_", "-") if option.startswith("--") else option).partition(".")[0]


@cache
def tables(engine: str) -> tuple[Table, ...]:
    """Return the tables of an engine; () where there is none (llama.cpp, tensorrt-llm)."""
    found = []
    for path in sorted(_FOLDER.glob(f"{engine}-*.json")):
        data = json.loads(path.read_text())
        found.append(Table(data["engine"], data["version"], data["options"], frozenset(data["variables"])))
    return tuple(found)


def exact(engine: str, version: str | None) -> Table | None:
    """Return the table of that very version; None where there is none."""
    return next((each for each in tables(engine) if each.version == version), None)


def meant(engine: str, version: str | None, versions: str | None) -> tuple[Table, ...]:
    """Return the tables that a recipe's words are for: the one of its version, or of every known release within its
    bounds."""
    if version is not None:
        own = exact(engine, version)
        return (own,) if own else ()
    return tuple(each for each in tables(engine) if versions and within(each.version, versions))


def refused(args: Sequence[str], table: Table) -> str | None:
    """Return the first word that this version does not take, with its value where that is what is wrong; None where it
    takes all."""
    for option, value in pairs(args):
        if not table.takes(option):
            return option
        # A plug-in brings parsers of its own.
        plugged = option.endswith("-parser") and any("parser-plugin" in word for word in args)
        choices = None if plugged else table.choices(option)
        if choices and value is not None and value not in choices:
            return f"{option} {value}"
    return None


def within(version: str, bounds: str) -> bool:
    """Return whether a release lies in bounds such as ">=0.17.0,<0.28.0". Numbers alone count: 0.19.1rc1 is as
    0.19.1."""
    low, high = _span(bounds)
    return low <= _numbers(version) < high


def overlap(one: str, other: str) -> bool:
    """Return whether a release may lie in both bounds."""
    (low, high), (least, most) = _span(one), _span(other)
    return max(low, least) < min(high, most)


def covers(outer: str, inner: str) -> bool:
    """Return whether every release in the inner bounds lies in the outer ones."""
    (low, high), (least, most) = _span(outer), _span(inner)
    return low <= least and most <= high


_Numbers = tuple[float, ...]


def _span(bounds: str) -> tuple[_Numbers, _Numbers]:
    """Return the first release of the bounds and the first one behind them; where a bound is stated twice, the narrower
    one."""
    words = bounds.split(",")
    return (max((_numbers(each[2:]) for each in words if each.startswith(">=")), default=(0.0,)),
            min((_numbers(each[1:]) for each in words if each.startswith("<")), default=(float("inf"),)))


def _numbers(text: str) -> _Numbers:
    found = re.match(r"\d+(\.\d+)*", text)
    held = [float(each) for each in found[0].split(".")] if found else []
    return tuple([*held, 0.0, 0.0, 0.0][:3])


def pairs(args: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return the options of a command line, each with the word behind it, None for none. A negative number is a
    value."""
    found: list[tuple[str, str | None]] = []
    for index, word in enumerate(args):
        if not word.startswith("-") or word[1:2].isdigit() or word == "-":
            continue
        name, equals, value = word.partition("=")
        behind = args[index + 1] if index + 1 < len(args) else ""
        free = behind and (not behind.startswith("-") or behind[1:2].isdigit())
        found.append((name, value if equals else behind if free else None))
    return found
