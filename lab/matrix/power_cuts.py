"""The power is cut while a play works on a box: at each step of staging, reboot, proof and commit the box comes back by
itself on a configuration that was proven before, and the next play goes on to its end.

A reset from outside stands for the cut: what the kernel had not written yet is lost. The file systems are those that
survive one (ext4 with its journal, btrfs), and the firmware's own partition, which is FAT everywhere."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

from tests.lab.box import until

from .seen import SECONDS, Bench, MissedError, Play

__all__ = ["PHASES", "Phase", "Point", "cut_at", "goes_on", "play_cuts"]

TRIAL = ("--tags", "install,acs,cmdline")
#: Where not a task of the play but the box decides: a kernel starts.
_BOOT = "a kernel starts"
_COMMIT = "Make the proven boot the default"
#: The deadline of a trial that nobody attends is the shortest that a play here needs.
_DEADLINES = {"timeout_seconds": 120, "confirm_seconds": 130}
#: A kernel that QEMU emulates with several threads panics once in a while on its own.
_EMULATORS_OWN = "Oops: int3"
_IS_LOADED = re.compile(r"^[0-9a-f]{64} .*(?:linux|vmlinuz|initrd)")


@dataclass(frozen=True)
class Point:
    """So many ``seconds`` behind the heading of a ``task`` of the play. ``commits``: the trial has proven itself there
    and the commit has begun, so it may be the default behind the cut. Without KVM a task takes about five seconds, so
    these are its beginning, its middle and its end."""

    task: str
    seconds: float
    commits: bool = False


@dataclass(frozen=True)
class Phase:
    what: str
    points: tuple[Point, ...]


PHASES = {
    "power-cut-staging": Phase("while it stages", (
        Point("Install tunecheck", 6), Point("Write /etc/tunecheck/spec.json", 3),
        Point("Install the one-shot that clears redirect", 3), Point("Install the guard of a trial boot", 3),
        Point("Stage the kernel parameters", 2), Point("Stage the kernel parameters", 5),
        Point("Stage the kernel parameters", 9), Point("Note which kernel and initrd the trial boots", 3))),
    "power-cut-reboot": Phase("while it reboots", (
        Point("Request the reboot", 2), Point("Wait until boxes come back", 3), Point(_BOOT, 2), Point(_BOOT, 15))),
    "power-cut-commit": Phase("while it proves and commits", (
        Point("Prove the effective and behaviour layers", 4), Point(_COMMIT, 1, commits=True),
        Point(_COMMIT, 4, commits=True), Point(_COMMIT, 8, commits=True),
        Point("Note in the receipt that it is committed", 2, commits=True))),
}


def play_cuts(bench: Bench, name: str) -> dict[str, Any]:
    """Cut the power at each point of a phase, then let a play go on. The seconds are the longest from a cut until the
    box was back. MissedError where it came back on anything else, or the play behind it fails."""
    seconds = []
    for number, point in enumerate(PHASES[name].points, 1):
        found = cut_at(bench, f"{name}-{number}", point)
        if isinstance(found, dict):
            return found
        seconds.append(found)
    goes_on(bench, name)
    return {"outcome": f"{len(seconds)} of {len(seconds)} returned", "seconds": max(seconds), "each": seconds}


def cut_at(bench: Bench, mark: str, point: Point) -> int | dict[str, Any]:
    """Cut the power at one point of a play that asks for the configuration ``mark``. Returns the seconds until the box
    was back, or what the play said where it was refused before it wrote."""
    bench.ask_for(mark, **_DEADLINES)
    before = bench.default()
    while refused := _cut(bench, point):
        if "outcome" in refused:
            return refused
        bench.box.wait()
    cut = time.monotonic()
    until(lambda: "tunecheck.trial=" not in (line := bench.box.line()) and line != "",
          lambda: f"the box is not back: {bench.box.console()[-1500:]}", seconds=SECONDS)
    seconds = round(time.monotonic() - cut)
    bench.may_log_in()
    if point.commits:
        bench.proven.add(mark)
    if not bench.on_proven():
        raise MissedError(f"{point}: the command line is {bench.box.line()}")
    after = bench.default()
    if (after != before) if not point.commits else (_loaded(after) != _loaded(before)):
        raise MissedError(f"{point}: what the default entry boots has changed: "
                          f"{sorted(set(before.splitlines()) ^ set(after.splitlines()))}")
    return seconds


def goes_on(bench: Bench, mark: str) -> None:
    """The play behind a cut goes on to its end, and the one behind that changes nothing. Nothing is cut here, so the
    trial has the time that a box has by default: with the short one a busy emulator was too slow."""
    bench.ask_for(mark)
    for again in (False, True):
        with Play(bench, TRIAL) as play:
            if play.end() != 0 or (again and "changed=0 " not in play.shown.text()):
                raise MissedError(f"the play {'again' * again or 'behind the cuts'} did not end well: {play.tail()}")
            if play.receipt() != "committed":
                raise MissedError(f"the receipt says {play.receipt()}")
    bench.proven = {mark}
    if not bench.on_proven():
        raise MissedError(f"the command line is {bench.box.line()}")
    bench.settled = bench.all()


def _loaded(default: str) -> list[str]:
    """The digests of kernel and initramfs among what a default entry boots: a commit changes its line alone."""
    return [line for line in default.splitlines() if _IS_LOADED.match(line)]


def _cut(bench: Bench, point: Point) -> dict[str, Any] | None:
    """Cut the power, and return None. Where the play ended before that: what it said as it was refused, or {"again": …}
    where the emulator's kernel had panicked. MissedError where it ended in another way."""
    with Play(bench, TRIAL) as play:
        until(lambda: (play.rebooted() if point.task is _BOOT else play.shown.has(point.task)) or play.ended(),
              lambda: f"the play never came so far: {play.tail()}", seconds=SECONDS)
        if not play.ended():
            time.sleep(point.seconds)
            bench.box.cut_power()
            return None
        if not bench.cell.trial and (refused := play.refused()):
            return refused
        if _EMULATORS_OWN in play.new_console():
            return {"again": _EMULATORS_OWN}
        raise MissedError(f"the play ended before {point}: {play.tail()}")
