"""What supervises an engine, and what it says of it: systemd of a unit (unit.py), the kernel of a process (pid.py),
podman or docker of a container (container.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from .codes import Code, Reason

__all__ = ["Phase", "Run", "Supervisor"]


class Phase(Enum):
    """What a supervisor says of its engine."""

    STARTING = "starting"
    RUNS = "runs"
    PAUSED = "paused"       # the same run may go on
    ENDED = "ended"
    MISSING = "missing"     # there is no such thing
    UNREAD = "unread"       # no answer


@dataclass(frozen=True)
class Run:
    """One answer. ``reason``: of a phase other than RUNS. ``restarts``: how often it was started again, told as
    ``again``. ``cgroup``: its processes are those of this control group and of those below it. ``main``: its main
    process, which began ``started`` clock ticks after the boot; where that is known, all that descend from it are
    the engine's too. ``entered``: the monotonic time at which it began to run. ``invocation``: the id of this run;
    of a unit systemd's."""

    phase: Phase = Phase.UNREAD
    reason: Reason | None = None
    restarts: int | None = None
    cgroup: str = ""
    main: int = 0
    started: str = ""
    entered: float | None = field(default=None, compare=False)
    invocation: str = ""
    again: Code = Code.UNIT_RESTARTED


class Supervisor(Protocol):
    """Asked at every look; it decides itself how often it really asks anybody."""

    def run(self) -> Run:
        """Return what is known now. Never raises, and waits no longer than the deadline of one command or two."""
        ...
