"""The power is cut while a play works on a box: at each step of staging, reboot, proof and commit the box comes back by
itself on a configuration that was proven before, and the next play goes on to its end.

One play provisions a box that was never provisioned. At each point the machine stands still for a moment, and its disk
and the firmware's variables are copied (lab/photo.py): that is what a cut there leaves, for what the kernel had not
written yet is lost. Then the box starts from each copy in turn. The file systems are those that survive a cut (ext4
with its journal, btrfs), and the firmware's own partition, which is FAT everywhere."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from tests.lab.boots import EMULATORS_OWN
from tests.lab.box import until

from lab import photo

from .seen import SECONDS, Bench, MissedError, Play, configuration

__all__ = ["MARK", "PHASES", "Phase", "Point", "goes_on", "play_cuts", "returns", "take"]

TRIAL = ("--tags", "install,acs,cmdline")
#: Whose configuration the play that is cut asks for.
MARK = "power-cut"
#: Where not a task of the play but the box decides: a kernel starts.
_BOOT = "a kernel starts"
_COMMIT = "Make the proven boot the default"
#: A cut behind the request to reboot lets the trial boot with nobody to prove it, until its deadline.
_DEADLINES = {"timeout_seconds": 240, "confirm_seconds": 250}
#: And on a busy machine it stands still: the timer of one emulated processor never comes again, mostly within seconds
#: of the kernel's start; or the emulator itself crashes (SIGSEGV, seen in the first second of a boot). The box starts
#: from the same copy once more then, at most so often.
_STANDS_STILL, _MOST = "Possible timer handling issue on cpu=", 2
_IS_LOADED = re.compile(r"^[0-9a-f]{64} .*(?:linux|vmlinuz|initrd)")


@dataclass(frozen=True)
class Point:
    """So many ``seconds`` of the box behind the heading of a ``task`` of the play. ``commits``: the trial has proven
    itself there and the commit has begun, so it may be the default behind the cut. Without KVM a task takes about five
    seconds, so these are its beginning, its middle and its end."""

    task: str
    seconds: float
    commits: bool = False


@dataclass(frozen=True)
class Phase:
    """``then``: behind the cut at this point, counted from 0, a play goes on; the box comes back from it last."""

    what: str
    points: tuple[Point, ...]
    then: int

    def numbers(self) -> list[int]:
        """The points' places, in the order in which the box comes back from them."""
        return sorted(range(len(self.points)), key=lambda number: number == self.then)


PHASES = {
    "power-cut-staging": Phase("while it stages", (
        Point("Install tunecheck", 6), Point("Write /etc/tunecheck/spec.json", 3),
        Point("Install the one-shot that clears redirect", 3), Point("Install the guard of a trial boot", 3),
        Point("Stage the kernel parameters", 2), Point("Stage the kernel parameters", 5),
        Point("Stage the kernel parameters", 9), Point("Note which kernel and initrd the trial boots", 3)), 5),
    "power-cut-reboot": Phase("while it reboots", (
        Point("Request the reboot", 2), Point("Wait until boxes come back", 3), Point(_BOOT, 2), Point(_BOOT, 15)), 1),
    "power-cut-commit": Phase("while it proves and commits", (
        Point("Prove the effective and behaviour layers", 4), Point(_COMMIT, 1, commits=True),
        Point(_COMMIT, 4, commits=True), Point(_COMMIT, 8, commits=True),
        Point("Note in the receipt that it is committed", 2, commits=True)), 2),
}
_POINTS = [(f"{name}-{number}", point) for name, phase in PHASES.items() for number, point in enumerate(phase.points)]


@dataclass
class _Clock:
    """When a task's heading was seen, and for how long the box has stood still since."""

    seen: dict[str, float] = field(default_factory=dict)
    stood: list[tuple[float, float]] = field(default_factory=list)

    def wait(self, point: Point) -> None:
        begun = self.seen[point.task]
        still = sum(length for at, length in self.stood if at >= begun)
        time.sleep(max(0.0, begun + point.seconds + still - time.monotonic()))

    def stand(self, bench: Bench, name: str) -> None:
        begun = time.monotonic()
        photo.take(bench.box.machine.folder, name)
        self.stood.append((begun, time.monotonic() - begun))


def play_cuts(bench: Bench, name: str) -> dict[str, Any]:
    """Come back from the cut at each point of a phase, then let a play go on. The seconds are the longest from a cut
    until the box was back. MissedError where it came back on anything else, or the play behind it fails."""
    if refused := take(bench):
        return refused
    phase = PHASES[name]
    bench.stood_still = 0
    seconds = {number: returns(bench, f"{name}-{number}", phase.points[number]) for number in phase.numbers()}
    goes_on(bench)
    return {"outcome": f"{len(seconds)} of {len(seconds)} returned", "seconds": max(seconds.values()),
            "each": [seconds[number] for number in sorted(seconds)],
            **({"stood_still": bench.stood_still} if bench.stood_still else {})}


def take(bench: Bench) -> dict[str, Any] | None:
    """Have the photos of every point, unless they are there already. Returns what the play said where it was refused
    before it wrote."""
    while not bench.before_cuts and (said := _take(bench)):
        if "outcome" in said:
            return said
    return None


def returns(bench: Bench, name: str, point: Point) -> int:
    """Come back from the cut at one point. Returns the seconds until the box was back on what was proven."""
    for again in range(_MOST + 1):
        bench.box.back_to(name)
        begun = time.monotonic()
        if _back(bench, again < _MOST):
            break
        bench.stood_still += 1
    seconds = round(time.monotonic() - begun)
    photo.drop(bench.box.machine.folder, name)
    bench.may_log_in()
    bench.proven = {"", MARK} if point.commits else {""}
    if not bench.on_proven():
        raise MissedError(f"{point}: the command line is {bench.box.line()}")
    before, after = bench.before_cuts, bench.default()
    if (after != before) if not point.commits else (_loaded(after) != _loaded(before)):
        raise MissedError(f"{point}: what the default entry boots has changed: "
                          f"{sorted(set(before.splitlines()) ^ set(after.splitlines()))}")
    return seconds


def _back(bench: Bench, once_more: bool) -> bool:
    """Wait until the box is back. False, where ``once_more``: its emulated kernel stands still, or QEMU has crashed."""
    still = False

    def ended() -> bool:
        nonlocal still
        line = bench.box.line()
        still = once_more and not line and (
            _STANDS_STILL in bench.box.console() or bench.box.machine.state() is None)
        return still or (line != "" and "tunecheck.trial=" not in line)

    until(ended, lambda: f"the box is not back: {bench.box.console()[-1500:]}", seconds=SECONDS)
    return not still


def goes_on(bench: Bench) -> None:
    """The same play behind a cut goes on to its end, and the one behind that changes nothing. Nothing is cut here, so
    the trial has the time that a box has by default: with a short one a busy emulator was too slow."""
    bench.ask_for(MARK)
    for again in (False, True):
        _commits(bench, again)
    bench.proven = {MARK}
    # The boot that was the trial goes on when it is the default, with the mark of a trial on its line.
    if configuration(line := bench.box.line()) != MARK:
        raise MissedError(f"behind the commit the command line is {line}")
    bench.settled = bench.all()


def _commits(bench: Bench, again: bool) -> None:
    """A play ends well, and where it is ``again`` it changes nothing. One whose trial the emulator's own fault ended is
    run once more: the box has come back from it, and nothing was committed."""
    for left in range(_MOST, -1, -1):
        with Play(bench, TRIAL) as play:
            ended = play.end()
            if ended != 0 and left and EMULATORS_OWN in play.new_console():
                bench.stood_still += 1
                continue
            if ended != 0 or (again and "changed=0 " not in play.shown.text()):
                raise MissedError(f"the play {'again' * again or 'behind the cuts'} did not end well: {play.tail()}")
            if play.receipt() != "committed":
                raise MissedError(f"the receipt says {play.receipt()}")
            return


def _loaded(default: str) -> list[str]:
    """The digests of kernel and initramfs among what a default entry boots: a commit changes its line alone."""
    return [line for line in default.splitlines() if _IS_LOADED.match(line)]


def _take(bench: Bench) -> dict[str, Any] | None:
    """Let a play provision the box as it was at first, with a photo of every point. None where they were taken; where
    the play ended before that, what it said as it was refused, or {"again": …} where the emulator's kernel had
    panicked. MissedError where it ended in another way."""
    bench.start_over()
    bench.ask_for(MARK, **_DEADLINES)
    clock = _Clock()
    with Play(bench, TRIAL) as play:
        for name, point in _POINTS:
            until(lambda point=point: _reached(play, point, clock) or play.ended(),     # type: ignore[misc]
                  lambda: f"the play never came so far: {play.tail()}", seconds=SECONDS)
            if not _reached(play, point, clock):
                break
            clock.wait(point)
            clock.stand(bench, name)
        else:
            bench.before_cuts = play.default
            return None
        if not bench.cell.trial and (refused := play.refused()):
            return refused
        if EMULATORS_OWN in play.new_console():
            return {"again": EMULATORS_OWN}
        raise MissedError(f"the play ended before {point}: {play.tail()}")


def _reached(play: Play, point: Point, clock: _Clock) -> bool:
    """Whether the play, or the box, is at the point's task."""
    if point.task not in clock.seen:
        at = (time.monotonic() if play.rebooted() else None) if point.task is _BOOT else play.shown.at(point.task)
        if at is not None:
            clock.seen[point.task] = at
    return point.task in clock.seen
