"""What each engine's command line takes, by version: tables that lab/option_tables.py generates from the engines' own
wheels. Read on the control node, where recipes are judged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Table", "exact", "pairs", "tables"]

_FOLDER = Path(__file__).parent / "options"


@dataclass(frozen=True)
class Table:
    """``options``: with the values that each takes, None for any; ``variables``: of the environment."""

    engine: str
    version: str
    options: Mapping[str, Sequence[str] | None]
    variables: frozenset[str]

    def takes(self, option: str) -> bool:
        """Also --no-x of a switch, with _ for -, and nested --x.key, as the engines' parsers do."""
        plain = option.replace("_", "-") if option.startswith("--") else option
        plain = plain.partition(".")[0]
        return any(each in self.options for each in (option, plain, plain.replace("--no-", "--", 1)))

    def choices(self, option: str) -> Sequence[str] | None:
        return self.options.get(option.replace("_", "-"))


@cache
def tables(engine: str) -> tuple[Table, ...]:
    """Those of an engine; () where there is none (llama.cpp, tensorrt-llm)."""
    found = []
    for path in sorted(_FOLDER.glob(f"{engine}-*.json")):
        data = json.loads(path.read_text())
        found.append(Table(data["engine"], data["version"], data["options"], frozenset(data["variables"])))
    return tuple(found)


def exact(engine: str, version: str | None) -> Table | None:
    """The table of that very version."""
    return next((each for each in tables(engine) if each.version == version), None)


def pairs(args: Sequence[str]) -> list[tuple[str, str | None]]:
    """Options with the word behind them, None for none. A negative number is a value."""
    found: list[tuple[str, str | None]] = []
    for index, word in enumerate(args):
        if not word.startswith("-") or word[1:2].isdigit() or word == "-":
            continue
        name, equals, value = word.partition("=")
        behind = args[index + 1] if index + 1 < len(args) else ""
        free = behind and (not behind.startswith("-") or behind[1:2].isdigit())
        found.append((name, value if equals else behind if free else None))
    return found
