"""The pass that preflight leaves in /run: gone after a boot, bound to this box as it was, and to its specification."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import Flaw, Misuse, UsageError
from ..facts.typed_file import read_typed, typed_text
from ..model.finding import Finding
from ..util.text import and_more
from ..util.typed_path import typed_path
from ..util.whole_file import write_file
from .state import State

__all__ = ["PATH", "SCHEMA", "Pass", "again", "codes_of", "from_findings", "make_own_folder", "read", "shortened",
           "write"]

SCHEMA = "tunecheck/pass/1"
PATH = "/run/tunecheck/pass.json"
_SHOWN = 5
_AGAIN = "run: sudo tunecheck preflight --pass"


@dataclass(frozen=True)
class Pass:
    """The verdict of a preflight. ``exit_code`` is preflight's; ``reasons`` name what failed or was unknown, the first
    few; ``codes`` names all of it as "check/code", for programs. ``full``: GPUs were measured too. ``taken`` is UTC,
    for people: the age is counted by ``state.uptime``."""

    exit_code: int
    reasons: tuple[str, ...]
    spec_digest: str
    state: State
    full: bool
    taken: str
    version: str
    codes: tuple[str, ...] = ()


def from_findings(findings: Sequence[Finding], exit_code: int, spec_digest: str, state: State, full: bool,
                  version: str) -> Pass:
    """Return the pass of these findings. A pass of a failed preflight is kept too: it names what failed."""
    wanted = {1: ("fail",), 3: ("unknown",)}.get(exit_code, ("fail", "unknown") if exit_code else ())
    reasons = shortened([each.message for each in findings if each.outcome in wanted], _SHOWN)
    taken = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Pass(exit_code, tuple(reasons), spec_digest, state, full, taken, version, codes_of(findings, wanted))


def codes_of(findings: Iterable[Finding], outcomes: Sequence[str]) -> tuple[str, ...]:
    """Return what checks say with one of these outcomes, as "check/code", each once, in the order of the report."""
    return tuple(dict.fromkeys(f"{each.id}/{each.code}" for each in findings if each.outcome in outcomes))


def shortened(reasons: Sequence[str], most: int) -> list[str]:
    """Return the first ``most`` reasons, and behind them how many more there are."""
    more = and_more(len(reasons) - most, "")
    return [*reasons[:most], *([more] if more else [])]


def again(path: str) -> str:
    """Return how the pass at ``path`` is made anew, as a command to paste."""
    return _AGAIN if path == PATH else f"{_AGAIN} {typed_path(path)}"


def make_own_folder(path: str) -> None:
    """Make the folder of the usual pass, which is gone after every boot; another folder is its owner's to make.
    UsageError where it cannot be made."""
    folder = Path(path).parent
    if folder != Path(PATH).parent:
        return
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}); the pass is written by root",
                         Misuse.UNWRITABLE) from None


def write(path: str, found: Pass) -> None:
    """Replace the pass in one step; readable by everybody, written by root only."""
    write_file(path, typed_text(SCHEMA, Pass, found).encode(), 0o644, "pass")


def read(path: str) -> Pass:
    """Return the pass at ``path``. UsageError says why there is none; the gate stays closed then."""
    if not os.path.lexists(path):
        raise UsageError(f"no preflight has passed in this boot ({path} does not exist); {again(path)}",
                         Flaw.MISSING)
    found: Pass = read_typed(path, SCHEMA, Pass, again(path), ours=True)[0]
    return found
