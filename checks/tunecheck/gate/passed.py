"""The pass that preflight leaves in /run: gone after a boot, bound to this box as it was, and to its specification."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..facts import codec
from ..report.output import write_file
from ..rules.finding import Finding
from .state import State

__all__ = ["PATH", "SCHEMA", "Pass", "from_findings", "read", "write"]

SCHEMA = "tunecheck/pass/1"
PATH = "/run/tunecheck/pass.json"
_SHOWN = 5


@dataclass(frozen=True)
class Pass:
    """``exit_code`` is preflight's; ``reasons`` name what failed or was unknown, the first few. ``full``: GPUs were
    measured too. ``taken`` is UTC, for people: the age is counted by ``state.uptime``."""

    exit_code: int
    reasons: tuple[str, ...]
    spec_digest: str
    state: State
    full: bool
    taken: str
    version: str


def from_findings(findings: Sequence[Finding], exit_code: int, spec_digest: str, state: State, full: bool,
                  version: str) -> Pass:
    """The verdict with what it rests on. A pass of a failed preflight is kept too: it names what failed."""
    wanted = {1: ("fail",), 3: ("unknown",)}.get(exit_code, ("fail", "unknown") if exit_code else ())
    reasons = [each.message for each in findings if each.outcome in wanted]
    more = [f"and {len(reasons) - _SHOWN} more"] if len(reasons) > _SHOWN else []
    taken = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Pass(exit_code, (*reasons[:_SHOWN], *more), spec_digest, state, full, taken, version)


def write(path: str, found: Pass) -> None:
    """Replace the pass in one step; readable by everybody, written by root only."""
    folder = Path(path).parent
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}); the pass is written by root") from None
    document = {"schema": SCHEMA, "pass": codec.encode(Pass, found)}
    write_file(path, (json.dumps(document, indent=2) + "\n").encode(), 0o644, "pass")


def read(path: str) -> Pass:
    """UsageError says why there is none; the gate stays closed then."""
    try:
        with open(path, "rb") as stream:
            document: Any = json.loads(stream.read(1 << 20))
    except FileNotFoundError:
        raise UsageError(f"no preflight has passed in this boot ({path} is not there); run: tunecheck preflight "
                         "--pass") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON; run: tunecheck preflight --pass") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path}: is not a {SCHEMA}; run: tunecheck preflight --pass")
    try:
        found: Pass = codec.decode(Pass, document.get("pass"))
    except ValueError as error:
        raise UsageError(f"{path}: is not a usable pass ({error}); run: tunecheck preflight --pass") from None
    return found
