"""The columns of the matrix, in the order in which a cell goes through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.lab import grub_cell

from .faults import FAULTS, play_fault
from .power_cuts import PHASES, play_cuts
from .seen import Bench, MissedError, Play

__all__ = ["COLUMNS", "Column", "run"]

_COMMITTED = "Note in the receipt that it is committed"
#: ACSCtl: request, completion and upstream forwarding redirect.
_REDIRECT = 0x2C


@dataclass(frozen=True)
class Column:
    """``needs``: the column that has to have been seen on the same box before."""

    what: str
    run: Callable[[Bench], dict[str, Any]]
    needs: str = ""


def _good_trial(bench: Bench) -> dict[str, Any]:
    """The whole of site.yml, from nothing: staged, booted, proven, committed, and what it is for is in effect."""
    bench.ask_for("good-trial")
    with Play(bench, (), "site.yml") as play:
        if refused := play.refused():
            return refused
        if play.end() != 0 or not (at := play.shown.at(_COMMITTED)):
            raise MissedError(f"the trial was not committed: {play.tail()}")
        line = bench.box.line()
        if play.receipt() != "committed" or "lab.matrix=good-trial" not in line or not play.rebooted():
            raise MissedError(f"the receipt is {play.receipt()}, the command line is {line}")
        if bench.default() == play.default:
            raise MissedError("the default entry is what it was")
        if on := [value for value in grub_cell.acs(bench.box) if int(value, 16) & _REDIRECT]:
            raise MissedError(f"ACS still redirects: {on}")
        bench.proven.add("good-trial")
        bench.settled = bench.all()
        return {"outcome": "committed", "seconds": round(at - play.requested())}


def _second_run(bench: Bench) -> dict[str, Any]:
    bench.ask_for("good-trial")
    with Play(bench, (), "site.yml") as play:
        if not bench.cell.trial:
            if refused := play.refused():
                return refused
            raise MissedError("a trial was staged where none can be had")
        rc = play.end()
        if rc != 0 or "changed=0 " not in play.shown.text() or play.rebooted():
            raise MissedError(f"the second run changed something, rebooted or failed: {play.tail()}")
        if bench.all() != play.before:
            raise MissedError("boot files have changed")
        return {"outcome": "changed=0"}


def _rollback(bench: Bench) -> dict[str, Any]:
    with Play(bench, (), "playbooks/rollback.yml") as play:
        if play.end() != 0:
            raise MissedError(f"the rollback failed: {play.tail()}")
    if differ := sorted(set(bench.first.splitlines()) ^ set(bench.all().splitlines())):
        raise MissedError(f"not as they were before the first play: {differ}")
    bench.proven = {""}
    if not bench.on_proven():
        raise MissedError(f"the command line is {bench.box.line()}")
    return {"outcome": "byte for byte"}


def _cuts(name: str) -> Column:
    phase = PHASES[name]
    return Column(f"power cut {phase.what}, at {len(phase.points)} points", lambda bench: play_cuts(bench, name))


def _fault(name: str) -> Column:
    return Column(FAULTS[name].what, lambda bench: play_fault(bench, name))


#: The longest stand at the end, before the rollback, which ends a cell.
COLUMNS = {
    "good-trial": Column("good trial commits", _good_trial),
    "second-run": Column("site.yml again", _second_run, needs="good-trial"),
    **{name: _fault(name) for name in FAULTS},
    **{name: _cuts(name) for name in PHASES},
    "rollback": Column("rollback", _rollback, needs="good-trial"),
}


def run(bench: Bench, name: str) -> dict[str, Any]:
    """Go through one column. What it missed is in ``missed``, "" where it kept the promise."""
    try:
        found = COLUMNS[name].run(bench) | {"missed": ""}
    except MissedError as error:
        found = {"outcome": "missed", "missed": str(error)}
    except Exception as error:      # whatever goes wrong on the way: the column missed its promise
        found = {"outcome": "missed", "missed": f"{type(error).__name__}: {error}"}
    else:
        bench.done.add(name)
    return found
