"""The way of one incident, step by step. Each step is written to the journal before it is begun, and may be done twice:
who comes back after a SIGKILL takes up from there, and starts nothing a second time."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import ProbeError
from ..host import Host
from ..host.http_page import fetch
from ..spec.frozen import Watch
from ..watch import request
from ..watch.model import STALLS, Code
from ..watch.progress import engine_of_page
from ..watch.request import Drained, Request
from . import evidence
from .gpu_reset import GpuReset
from .journal import Journal
from .model import DONE, Incident, Record, Step, Why, incidents
from .unit import Served, UnitNow

__all__ = ["Box", "recover", "restarts_since"]

_DAY = 86400.0
#: In seconds. An engine that still hears SIGTERM has ended by then.
_GRACE = 10.0
#: A stop that systemd itself bounds by TimeoutStopSec=120, once for the engine and once for what cleans up.
_STOP_MOST = 300.0
#: Beside each start that systemd may try: preflight (15 min) and its own pause.
_BESIDE_START, _NO_BOUND = 960.0, 7200.0
_LOST = (Code.GPU_GONE, Code.GPU_RETURNED)
#: How long a restart waits, by how many there were in the last day: what wedges at once, wedges again at once.
_PAUSES = (0.0, 60.0, 300.0, 900.0)


@dataclass
class Box:
    """Where and by what rules. ``invalidate``: declare earlier measurements of the GPUs invalid. ``play_runs``: whether
    a play holds this box. ``report``: takes a sentence for the unit's status line. ``alive``: tells systemd's watchdog.
    ``resets``: how GPUs are reset, where that is allowed. ``context``: by what an engine behind TLS is trusted."""

    host: Host
    journal: Journal
    policy: Watch | None
    boot_id: str
    key: str
    invalidate: Callable[[], None]
    play_runs: Callable[[], bool]
    report: Callable[[str], None]
    alive: Callable[[], None]
    folder: str = evidence.FOLDER
    drained: str = request.DRAINED
    resets: GpuReset | None = None
    context: ssl.SSLContext | None = None


def restarts_since(found: list[Incident], since: float, boot_id: str) -> int:
    """Restarts that were begun after that time. In a boot before this one they cannot have been in days to come: then
    its clock was wrong, and would be for years."""
    until = since + 2 * _DAY
    return sum((stopped := each.step(Step.STOPPED)) is not None and stopped.at >= since
               and (stopped.at <= until or stopped.boot_id == boot_id) for each in found)


def recover(box: Box, asked: Request | None) -> Record | None:
    """How it ended; None where there is nothing to do. OSError where no journal can be written: nothing is begun
    then."""
    found = incidents(box.journal.read())
    for each in found:
        if not each.done and each.last.boot_id != box.boot_id:
            _append(box, each.last, Step.INTERRUPTED, Why.BOOTED)
    left = [each for each in found if not each.done and each.last.boot_id == box.boot_id]
    if left:
        ended = _Way(box, left[-1], asked if asked and asked.incident == left[-1].id else None, found).go()
        if asked is None or asked.incident == left[-1].id:
            return ended
        found = incidents(box.journal.read())
    if asked is None or asked.boot_id != box.boot_id or any(each.id == asked.incident for each in found):
        return None
    unit = Served(box.host, asked.unit).now()
    # The run that stalled, which need not be the one that runs by now: two watches may have told of the same stall.
    first = Record(asked.incident, time.time(), box.boot_id, Step.NOTICED, Why.NONE, asked.unit,
                   asked.invocation or unit.invocation, asked.codes, culprit=asked.culprit, xids=asked.xids)
    box.journal.append(first)
    return _Way(box, Incident((first,)), asked, found).go()


def _append(box: Box, last: Record, step: Step, why: Why = Why.NONE, text: str = "", invocation: str = "",
            codes: tuple[str, ...] = ()) -> Record:
    record = Record(last.incident, time.time(), box.boot_id, step, why, last.unit, invocation or last.invocation, codes,
                    text)
    box.journal.append(record)
    return record


class _Way:
    """``asked`` is None where the request was lost: then there is no evidence to take any more."""

    def __init__(self, box: Box, incident: Incident, asked: Request | None, earlier: list[Incident]) -> None:
        self.box, self.incident, self.asked = box, incident, asked
        self.earlier = [each for each in earlier if each.id != incident.id]
        self.unit = Served(box.host, incident.records[0].unit, box.alive)
        self._begun = False

    def go(self) -> Record:
        """Through the steps that are not done yet."""
        while not self.incident.done:
            step = self.incident.last.step
            self.box.report(f"incident {self.incident.id}: {step.value}")
            {Step.NOTICED: self._evidence, Step.EVIDENCE: self._decide, Step.STOPPING: self._stop,
             Step.STOPPED: self._begin, Step.STARTING: self._wait, Step.RESETTING: self._reset,
             Step.STARTING_AGAIN: self._wait}[step]()
        assert self.incident.last.step in DONE
        return self.incident.last

    def _note(self, step: Step, why: Why = Why.NONE, text: str = "", invocation: str = "",
              codes: tuple[str, ...] = ()) -> None:
        record = _append(self.box, self.incident.last, step, why, text, invocation, codes)
        self.incident = Incident((*self.incident.records, record))

    def _evidence(self) -> None:
        if self.asked is None:
            self._note(Step.EVIDENCE, Why.INTERRUPTED, "the watch's request is gone")
            return
        try:
            place = evidence.gather(self.box.host, self.asked, self.unit.now(), self.box.key, self.box.alive,
                                    self.box.folder, self.box.context)
        except OSError as error:
            self._note(Step.EVIDENCE, Why.NO_ROOM, str(error.strerror or error))
        else:
            self._note(Step.EVIDENCE, text=place)

    def _decide(self) -> None:
        """Not on what was seen a while ago: evidence takes seconds, and a stall may have ended."""
        now, first, policy = self.unit.now(), self.incident.records[0], self.box.policy
        if self.asked is not None and not self._lost_alone and self._moves(self.asked):
            self._note(Step.MOVED_AGAIN)
        elif now.known and now.invocation != first.invocation:
            self._note(Step.MOVED_AGAIN, Why.STOPPED_BY_HAND, "the unit was started again meanwhile")
        elif now.down:
            self._note(Step.REPORTED, Why.STOPPED_BY_HAND, "the unit is down already")
        elif self._lost_alone and (policy is None or policy.on_stall != "drain"):
            self._note(Step.REPORTED, Why.GPU_LOST)
        elif policy is None or policy.on_stall == "report":
            self._note(Step.REPORTED, Why.NO_POLICY if policy is None else Why.POLICY)
        elif policy.on_stall == "drain":
            try:
                request.write_drained(Drained(self.incident.id, now.invocation), self.box.drained)
            except OSError as error:
                self._note(Step.REPORTED, Why.NO_ROOM, str(error.strerror or error))
            else:
                self._note(Step.DRAINED, Why.POLICY)
        elif self.box.play_runs():
            self._note(Step.REPORTED, Why.PLAY_RUNS, "a play holds this box; it starts the unit itself")
        else:
            self._note(Step.STOPPING, Why.TOO_MANY if self._restarts() >= policy.restarts_per_day else Why.NONE)

    @property
    def _lost_alone(self) -> bool:
        """A GPU is lost, and the engine is not stalled (yet): it may use others."""
        codes = self.incident.records[0].codes
        return any(each in codes for each in _LOST) and not any(each in codes for each in STALLS)

    def _restarts(self) -> int:
        return restarts_since(self.earlier, time.time() - _DAY, self.box.boot_id)

    def _moves(self, asked: Request) -> bool:
        try:
            page = fetch(f"{asked.url}/metrics", 3.0, self.box.key or None, self.box.context)
        except ProbeError:
            return False
        engine = engine_of_page(page.status, page.text)
        now = {part.name: part.moved for part in engine.parts}
        return bool(now) and all(name in now and now[name] != moved for name, moved in asked.moved.items())

    def _stop(self) -> None:
        why, now = self.incident.last.why, self.unit.now()
        if now.known and not now.down and now.invocation != self.incident.records[0].invocation:
            # Taken up after a while, in which a play or a person has started it anew.
            self._note(Step.MOVED_AGAIN, Why.STOPPED_BY_HAND, "the unit was started again meanwhile")
            return
        if not self.unit.stop(_GRACE, _STOP_MOST):
            self._note(Step.STAYS_DOWN, Why.CANNOT_STOP, "a process does not end: it may hang in the driver")
            return
        # What was measured before the stall says nothing about GPUs that somebody wedged since.
        if not self._invalidated():
            return
        if why is Why.TOO_MANY:
            self._note(Step.STAYS_DOWN, Why.TOO_MANY)
        else:
            self._note(Step.STOPPED)

    def _invalidated(self) -> bool:
        try:
            self.box.invalidate()
        except OSError as error:
            self._note(Step.STAYS_DOWN, Why.NO_ROOM, f"an earlier measurement could not be made invalid: {error}")
            return False
        return True

    def _begin(self) -> None:
        pause = _PAUSES[min(self._restarts(), len(_PAUSES) - 1)]
        # By the wall clock, since it counts over a SIGKILL; but a clock that jumped back makes it no longer.
        until = time.monotonic() + min(pause, max(0.0, self.incident.last.at + pause - time.time()))
        while (left := until - time.monotonic()) > 0:
            self.box.report(f"incident {self.incident.id}: starts again in {left:.0f} s")
            self.unit.wait(min(left, 5.0))
            now = self.unit.now()
            if now.known and not now.down:
                break       # somebody started it meanwhile
        if self.box.play_runs():
            self._note(Step.STAYS_DOWN, Why.PLAY_RUNS)
            return
        now = self.unit.now()
        self._note(Step.STARTING, invocation=now.invocation)
        self._begun = True
        if now.down or not now.known:
            self.unit.start()

    def _wait(self) -> None:
        """The invocation in the journal is the one before the start: another one, or a job, tells that it was begun.
        None at all tells nothing: `systemctl reset-failed` makes systemd forget it (seen with 252)."""
        before, now = self.incident.last, self.unit.now()
        if not self._begun and now.down and now.invocation in ("", before.invocation):
            self.unit.start()
        bound = _NO_BOUND if now.start_seconds is None else now.start_seconds
        now = self.unit.settled(2 * (bound + _BESIDE_START))
        if now.active == "active":
            noticed = self.incident.records[0].at
            self._note(Step.SERVING, text=f"{time.time() - noticed:.0f} s after it was noticed")
        else:
            self._refused(now)

    def _refused(self, now: UnitNow) -> None:
        """The box was not proven, or the engine not accepted. Where the proof says that GPUs hang, a reset may help:
        once, where it is allowed."""
        resets, policy = self.box.resets, self.box.policy
        if self.incident.step(Step.RESETTING) is not None:
            self._note(Step.STAYS_DOWN, Why.NOT_STARTED, f"the GPUs were reset, and still: {_why(now)}")
        elif not (resets and policy and policy.gpu_reset and now.down and (
                wanted := resets.wanted(time.time() - self.incident.last.at))):
            self._note(Step.STAYS_DOWN, Why.NOT_STARTED, _why(now))
        elif self.box.play_runs():
            self._note(Step.STAYS_DOWN, Why.PLAY_RUNS)
        elif cannot := resets.cannot():
            self._note(Step.STAYS_DOWN, Why.NO_RESET, f"{cannot}; {_why(now)}")
        else:
            self._note(Step.RESETTING, text=", ".join(wanted), codes=resets.holders())

    def _reset(self) -> None:
        """Begun anew where it was killed: a reset that is made twice is one. Whoever started the unit meanwhile has
        his start."""
        resets, now = self.box.resets, self.unit.now()
        if now.known and not now.down:
            self._note(Step.STARTING_AGAIN, Why.STOPPED_BY_HAND)
            return
        if resets is None or (cannot := resets.cannot()):
            self._note(Step.STAYS_DOWN, Why.NO_RESET, cannot if resets else "it is not known here how")
            return
        if wrong := resets.run(self.incident.last.codes):
            self._note(Step.STAYS_DOWN, Why.RESET_FAILED, wrong)
            return
        if not self._invalidated():
            return
        now = self.unit.now()
        self._note(Step.STARTING_AGAIN, invocation=now.invocation)
        self._begun = True
        if now.down or not now.known:
            self.unit.start()


def _why(now: UnitNow) -> str:
    return now.status or f"systemd says {now.result or now.active or 'nothing'}"
