"""Files that somebody else wrote are read and judged in a child process with limits; errors and notes come back as if
the parent had read it."""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import click

from .. import errors
from ..errors import Flaw, Misuse, ProbeError, SpecError, TunecheckError, UsageError

if TYPE_CHECKING:
    from ..host.foreign import Bounds, ExceededError

__all__ = ["apart"]


def _bounds() -> Bounds:
    """Return the usual limits, and higher ones on a slow machine (a virtual one without KVM is 15 times slower): the
    time that this program needed to start tells how slow it is. Honest input takes as long as that, or three times as
    long."""
    from ..host.foreign import Bounds

    usual, started = Bounds(), min(5.0, time.process_time())
    return replace(usual, cpu=max(usual.cpu, int(12 * started)), wall=max(usual.wall, 60 * started),
                   most=max(usual.most, 1200 * started))


def apart(path: str, work: Callable[[Callable[[str], None]], bytes]) -> bytes:
    """Return what ``work`` makes of the file ``path`` in a child; it is given a function for notes on standard error.
    UsageError with the limit where the input is too much; every TunecheckError of ``work``."""
    from ..host.foreign import Confined, DefectError, ExceededError
    from ..parsers.text.damage import Damage

    def answer(_: bytes) -> bytes:
        notes: list[str] = []
        try:
            content = work(notes.append)
        except TunecheckError as error:
            problems = error.problems if isinstance(error, SpecError) else [str(error)]
            return json.dumps({"error": type(error).__name__, "problems": problems, "notes": notes,
                               "flaw": _said(getattr(error, "flaw", None))}).encode()
        return json.dumps({"notes": notes, "content": b64encode(content).decode()}).encode()

    if path == "-":
        from ..host.imported.files import standard_input

        standard_input()    # here, because a person who pastes is slower than the child's limit

    with Confined(answer, _bounds(), foreground=True) as child:
        try:
            found = json.loads(child.ask())
        except ExceededError as error:
            raise _too_much(path, error) from None
        except DefectError as error:
            raise UsageError(f"{path}: not usable: {error}; its parts do not fit together. If they should, report it "
                             "with the file", Damage.CONTRADICTS) from None
    for note in found["notes"]:
        click.echo(note, err=True)
    if "error" not in found:
        return b64decode(found["content"])
    if found["error"] == "SpecError":
        raise SpecError(found["problems"], _heard(found["flaw"]))
    kind = getattr(errors, found["error"], UsageError)
    raise kind(found["problems"][0], _heard(found["flaw"]))


def _too_much(path: str, error: ExceededError) -> TunecheckError:
    """Return the error for what went beyond a limit. A ProbeError where the machine is why, and not the file."""
    from ..host.foreign import Limit

    if error.limit in (Limit.WALL, Limit.BUSY, Limit.KILLED, Limit.ENDING):
        return ProbeError(f"{path}: not judged: {error}. That says nothing about its content: try again, or on another "
                          "machine", error.limit)
    return UsageError(f"{path}: refused: {error}; it is too long, or damaged. Of a long log give the newest part (tail "
                      "-c 4M FILE) and its first lines (head -n 2000 FILE), each in a file of one folder; if this one "
                      "is short, report it with the file", error.limit)


def _said(flaw: Enum | None) -> list[str] | None:
    return None if flaw is None else [type(flaw).__name__, flaw.name]


def _heard(said: list[str] | None) -> Any:
    """Return what _said() named. None where it is not of what may be wrong with a file."""
    from ..parsers.text.damage import Damage

    kinds: tuple[type[Enum], ...] = (Flaw, Misuse, Damage)
    return None if said is None else next((kind.__members__.get(said[1]) for kind in kinds if kind.__name__ == said[0]),
                                          None)
