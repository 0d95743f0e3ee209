"""One incident: what was told, how far it got, how it ended. docs/watch.md has every code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from ..watch.model import Culprit

__all__ = ["DONE", "Incident", "Record", "Step", "Why", "incidents"]


class Step(StrEnum):
    """What is begun, in this order; the last six end an incident. A reset and a second start are seldom there."""

    NOTICED = "noticed"
    EVIDENCE = "evidence"
    STOPPING = "stopping"
    STOPPED = "stopped"
    STARTING = "starting"
    RESETTING = "resetting"
    STARTING_AGAIN = "starting-again"
    SERVING = "serving"
    MOVED_AGAIN = "moved-again"
    REPORTED = "reported"
    DRAINED = "drained"
    STAYS_DOWN = "stays-down"
    INTERRUPTED = "interrupted"


#: Nothing comes after these.
DONE = (Step.SERVING, Step.MOVED_AGAIN, Step.REPORTED, Step.DRAINED, Step.STAYS_DOWN, Step.INTERRUPTED)


class Why(StrEnum):
    """Why a step is what it is, where its name does not say it."""

    NONE = ""
    NO_ROOM = "no-room"
    POLICY = "policy"
    NO_POLICY = "no-policy"
    PLAY_RUNS = "play-runs"
    TOO_MANY = "too-many"
    CANNOT_STOP = "cannot-stop"
    NOT_STARTED = "not-started"
    NO_RESET = "no-reset"
    GPU_LOST = "gpu-lost"
    RESET_FAILED = "reset-failed"
    STOPPED_BY_HAND = "stopped-by-hand"
    BOOTED = "booted"
    INTERRUPTED = "interrupted"
    NEWER = "newer-release"


@dataclass(frozen=True)
class Record:
    """A line of the journal. ``at``: seconds since 1970. ``invocation``: systemd's id of the unit's run, as it was
    before the step. ``codes``: the reasons of the stall; of a reset, the units that are stopped for it. ``text``: for
    people. ``culprit``: who held the others up, and ``xids``: those that the kernel told then, both in the first record
    of an incident."""

    incident: str
    at: float
    boot_id: str
    step: Step
    why: Why = Why.NONE
    unit: str = ""
    invocation: str = ""
    codes: tuple[str, ...] = ()
    text: str = ""
    culprit: Culprit | None = None
    xids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Incident:
    """All records of one incident, oldest first; there is at least one."""

    records: tuple[Record, ...] = field(default_factory=tuple)

    @property
    def id(self) -> str:
        return self.records[0].incident

    @property
    def last(self) -> Record:
        return self.records[-1]

    @property
    def done(self) -> bool:
        return self.last.step in DONE

    def step(self, step: Step) -> Record | None:
        """Its newest record of this step."""
        return next((each for each in reversed(self.records) if each.step is step), None)


def incidents(records: Iterable[Record]) -> list[Incident]:
    """In the order in which they began. The records of one in the order of its steps: a clock that jumped back, or a
    disk that was full for a while, may have put a later one before. A step of a newer release stands before an end that
    is known, and is one itself where none is: who does not know what was done begins nothing again."""
    found: dict[str, list[Record]] = {}
    for each in records:
        found.setdefault(each.incident, []).append(each)
    order = list(Step)

    def place(record: Record) -> float:
        unknown = record.step is Step.INTERRUPTED and record.why is Why.NEWER
        return order.index(Step.SERVING) - 0.5 if unknown else order.index(record.step)

    return [Incident(tuple(sorted(each, key=place))) for each in found.values()]
