"""What a step says to people."""

from __future__ import annotations

from ..watch.culprits import plain
from .model import Record, Step, Why

__all__ = ["because", "sentence"]

_STEPS = {
    Step.NOTICED: "noticed",
    Step.EVIDENCE: "evidence is kept",
    Step.STOPPING: "the engine is being stopped",
    Step.STOPPED: "the engine is stopped",
    Step.STARTING: "the box is being proven, and the engine started",
    Step.RESETTING: "the GPUs are being reset",
    Step.STARTING_AGAIN: "the GPUs were reset; the box is being proven, and the engine started",
    Step.SERVING: "it serves and is accepted again",
    Step.MOVED_AGAIN: "it moved again by itself; nothing was stopped",
    Step.REPORTED: "reported; nothing was stopped",
    Step.DRAINED: "drained: /ready says no, and the engine is left for you to look at",
    Step.STAYS_DOWN: "it stays down",
    Step.INTERRUPTED: "interrupted",
}
_WHYS = {
    Why.NONE: "",
    Why.NO_ROOM: "there is no room on the disk",
    Why.POLICY: "as watch.on_stall of the specification says",
    Why.NO_POLICY: "there is no specification that allows more",
    Why.PLAY_RUNS: "a play holds this box, or died while it did (/var/lib/tunecheck/provision.lock)",
    Why.TOO_MANY: "it was restarted as often today as watch.restarts_per_day allows",
    Why.CANNOT_STOP: "it cannot be stopped; look at its processes, and reboot the box",
    Why.NOT_STARTED: "the new start was refused or failed",
    Why.GPU_LOST: "a GPU is gone, and the engine is left as it is; look at the box, and start the unit again",
    Why.NO_RESET: "the new start was refused, and the GPUs cannot be reset here",
    Why.RESET_FAILED: "the GPUs could not be reset; reboot the box",
    Why.STOPPED_BY_HAND: "somebody stopped or started it",
    Why.BOOTED: "by a boot",
    Why.INTERRUPTED: "it was interrupted",
    Why.NEWER: "another release of tunecheck did what this one does not know; look at the box yourself",
}


def because(record: Record) -> str:
    """Why the step is what it is; "" where its name says it."""
    return _WHYS[record.why]


def sentence(record: Record) -> str:
    """The step, why, and what was seen."""
    return ": ".join(part for part in (_STEPS[record.step], _WHYS[record.why], plain(record.text)) if part)
