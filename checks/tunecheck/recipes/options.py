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
    """``options``: with the values that each takes, None for any; ``variables``: of the environment, None where nobody
    knows them."""

    engine: str
    version: str
    options: Mapping[str, Sequence[str] | None]
    variables: frozenset[str] | None

    def takes(self, option: str) -> bool:
        """Also --no-x of a switch, with _ for -, nested --x.key, and short for one other, as the engines' own do."""
        plain = _plain(option)
        return any(each in self.options for each in (option, plain, plain.replace("--no-", "--", 1))) or bool(
            self.short_for(option))

    def short_for(self, option: str) -> str:
        """The one option that begins so, as argparse completes it (vLLM and SGLang leave allow_abbrev on); "" for an
        option of its own, for none and for several."""
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
