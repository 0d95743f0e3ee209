"""From looks to states. Pure: time comes with the looks, so a night is judged in a millisecond.

The signature of a collective that nobody ends (own runs on 2 x H200 with NCCL, 2026-11): utilisation 100 %, memory
utilisation 0 %, power at the level of an idle context, while a decode step has 40 % and half of the power limit. It
alone proves nothing: a rank that compiles on its CPU lets the others spin in the same way. So it only shortens the
time that is allowed without progress."""

from __future__ import annotations

from . import blame, gpus
from .doubt import Doubt
from .events import Events
from .floor import Floor
from .model import Claim, Code, Culprit, Limits, Look, Part, Phase, Reason, Run, Seen, State

__all__ = ["Judge"]

#: A GPU that works may take this many times the limit for one step.
_PATIENCE = 5
#: Looks that came so many intervals late were not made: this process did not run. A look itself waits for its own
#: deadlines, and no longer.
_LATE, _PAUSE, _LONGEST_LOOK = 10, 5.0, 30.0
_BRAKE_SECONDS = 10.0
#: In seconds: the driver's utilisation and power follow a collective that hangs so much later than the counters.
_LAG = 5.0


class Judge:
    """Keeps what it needs of earlier looks."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._before: Look | None = None
        self._parts: dict[str, Part] = {}           # what each replica said last, however long ago
        self._vain: dict[str, float] = {}           # seconds in which it was asked, since it moved
        self._away: dict[str, tuple[float, Part, float]] = {}       # not told any more: since when, the same of both
        self._answered = self._steps = False        # ``_steps``: a counter was seen to move, or requests to end
        self._answered_at = self._loads_at = 0.0
        self._run: Run | None = None                # as it was told last
        self._base: tuple[State, list[Reason]] = (State.UNKNOWN, [])
        self._gpus = gpus.Watched()
        self._events = Events(limits.hold)
        self._floor = Floor(limits.floor)
        self._doubt = Doubt(limits.canary)
        self._ever_moved = self._busy = False       # ``_busy``: requests ran when the canary was asked
        self._last: Seen | None = None
        self._lost = self._told_back = False        # a GPU of this run was gone; it was told that it is back
        self._progress = False                      # a counter has moved in this look

    @property
    def near(self) -> bool:
        """Whether a stall may be near, so that the processes are worth a look."""
        limits, before = self.limits, self._before
        if before is None or self._last is None:
            return False
        silent = before.at - self._answered_at if before.engine.absence is not None else 0.0
        return (self._last.frozen >= min(limits.spin, limits.stall) / 2 or silent >= limits.silent / 2
                or self._last.state is State.STALLED)

    @property
    def curious(self) -> bool:
        """Whether a canary is to be asked now: nobody asks the engine, or its metrics tell nothing. Never while
        requests run, unless no counter has ever moved for them."""
        look = self._before
        urgent = not self._ever_moved and self._last is not None and self._last.frozen >= self.limits.stall / 2
        if look is None or not self._doubt.due(look.at, urgent) or _traced(look):
            return False
        if not _runs(look):
            return False
        if look.engine.code in _TELLS_NOTHING or (self._doubt.metrics_lied and look.engine.absence is None):
            return not self._gpus.work(look)
        if look.engine.absence is not None:
            return False
        return not any(part.asked for part in look.engine.parts) or (urgent and not self._gpus.work(look))

    @property
    def due(self) -> float | None:
        """When the silence of an engine that has answered becomes a stall, in the time of the looks."""
        return self._answered_at + self.limits.silent if self._answered else None

    def judge(self, look: Look) -> Seen:
        """The state as of this look; looks come in the order of their time."""
        paused = self._clocks(look)
        frozen = max(self._in_vain.values(), default=0.0)
        state, reasons = self._state(look, frozen)
        if not _held(look):
            self._base = state, reasons
        beside = [*self._events.judge(look, self._before), *look.conditions, *self._floor.judge(look, paused),
                  *self._doubt.beside,
                  *self._gpus.judge(look, _BRAKE_SECONDS), *([Reason(Code.WATCH_PAUSED)] if paused else [])]
        if state is State.IDLE and self._gpus.spun(look.at) >= self.limits.stall:
            # Who hangs in the first step of a request may not have counted it yet; it may be another's job too.
            beside += self._gpus.spinning(look)
        if state in (State.SERVING, State.IDLE) and any(each.code in _DEGRADES for each in beside):
            state = State.DEGRADED
        beside += self._returned(look, any(each.code is Code.GPU_GONE for each in beside))
        if any(each.code in (Code.GPU_GONE, Code.GPU_RETURNED) for each in beside) and state is not State.STOPPED:
            state = State.LOST
        since = self._last.since if self._last and self._last.state is state else look.at
        claims = blame.claims(look.ras, look.processes, self._gpus.outlier(look), look.gpus or ()) \
            if state is State.STALLED else ()
        beside += [Reason(Code.WITNESSES_DISAGREE)] if blame.disagree(claims) else []
        seen = Seen(state, since, tuple(dict.fromkeys([*reasons, *beside])), self._culprit(state, claims), frozen,
                    look.engine, look.gpus, look.run.invocation if look.run else "", claims, look.ras,
                    look.ras_absence, look.sms, look.asking)
        self._before, self._last = look, seen
        return seen

    def _returned(self, look: Look, gone: bool) -> list[Reason]:
        """Contexts do not outlive a GPU that was lost: until this run of the engine gives a token again, it serves
        nobody. An idle one is asked now."""
        if gone:
            self._lost = True
        elif self._lost and not self._progress:
            if not self._told_back:
                self._doubt.hasten(look.at)
            self._told_back = True
            return [Reason(Code.GPU_RETURNED)]
        else:
            self._lost = False
        self._told_back = False
        return []

    def _clocks(self, look: Look) -> bool:
        """Take note of progress. Returns whether this process itself had stood still: then nothing is known of the
        time between, and every clock begins anew."""
        before, engine = self._before, look.engine
        passed = look.at - before.at if before else 0.0
        paused = passed - min(look.took, _LONGEST_LOOK) > max(_LATE * self.limits.interval, _PAUSE)
        if before is None and _just_accepted(look, self.limits.stall):
            self._steps = True      # its acceptance saw tokens: a long prompt of the first client is no old hang
        if before is None or paused or _held(look) or self._begins(look.run):
            self._answered_at = self._loads_at = look.at
            self._vain, self._away = {}, {}
            self._gpus.forget_clocks()
            self._doubt.forget()
            self._lost = self._lost and paused
        for name, part in self._parts.items():
            if part.asked and name in self._vain:
                self._vain[name] += passed
        moved = False
        if engine.absence is None:
            self._answered, self._answered_at, self._loads_at = True, look.at, look.at
            now = {part.name: part for part in engine.parts}
            self._note_away(now, look.at)
            # A counter that is smaller began anew: the engine was restarted, which is progress too.
            self._vain = {name: self._vain.get(name, 0.0) if name in self._parts and self._parts[name].moved
                          == part.moved else 0.0 for name, part in now.items()}
            moved = before is not None and any(name in self._parts and self._parts[name].moved != part.moved
                                               for name, part in now.items())
            self._parts = now
            self._steps = self._steps or moved or not any(part.asked for part in engine.parts)
            if not look.canary_asked:
                self._busy = any(part.asked for part in engine.parts)
            if moved:
                self._ever_moved = True
                self._gpus.learn(look)
        elif engine.code is not None and _runs(look):
            # It answers, although not what is asked: it has loaded, and when it falls silent that counts.
            self._answered, self._answered_at, self._loads_at = True, look.at, look.at
        self._progress = moved
        self._gpus.clock(look)
        self._doubt.hear(look, moved, self._gpus.work(look))
        return paused and before is not None

    @property
    def _in_vain(self) -> dict[str, float]:
        """Also of replicas that are not told just now."""
        return {**{name: vain for name, (_, _, vain) in self._away.items()}, **self._vain}

    def _note_away(self, now: dict[str, Part], at: float) -> None:
        """A replica that is missing in a page and comes back as it was has not moved. One that stays away is none."""
        for name in self._parts.keys() - now.keys():
            self._away[name] = at, self._parts[name], self._vain.get(name, 0.0)
        for name in self._away.keys() & now.keys():
            _, self._parts[name], self._vain[name] = self._away[name]
        self._away = {name: kept for name, kept in self._away.items()
                      if name not in now and at - kept[0] <= self.limits.stall}

    def _begins(self, run: Run | None) -> bool:
        """Whether the engine was started again, by its supervisor or by somebody: it has its time to load."""
        if run is None or run.phase is Phase.UNREAD:
            return False
        last, self._run = self._run, run
        again = last is not None and (
            run.phase in _DOWN or last.phase in _DOWN or (run.main != last.main and 0 not in (run.main, last.main)))
        # One that is started again and again is not given an hour each time. A count that fell was set back by somebody
        # (`systemctl reset-failed`), and nothing began.
        before, now = last.restarts if last is not None else None, run.restarts
        counted = before is not None and now is not None and now > before
        if again or (counted and self._answered):
            self._answered = False
            return True
        return False

    def _state(self, look: Look, frozen: float) -> tuple[State, list[Reason]]:
        engine, limits = look.engine, self.limits
        phase, told = (look.run.phase, [look.run.reason] if look.run.reason else []) if look.run else (None, [])
        if phase is Phase.MISSING:
            return State.UNKNOWN, told
        if phase in (Phase.ENDED, Phase.PAUSED):
            return State.STOPPED, told
        beside = told if phase is Phase.UNREAD else []
        if engine.absence is not None and not self._answered:
            return self._loading(look, beside)
        if phase is Phase.STARTING:
            return State.LOADING, told
        if engine.code is not None:     # it answered, and its answer tells nothing
            return self._unseen(look, [Reason(engine.code), *beside])
        if engine.absence is not None:
            silent = look.at - self._answered_at
            if silent < limits.silent:
                return self._base
            if _traced(look):
                return State.UNKNOWN, [Reason(Code.TRACED), *beside]
            return State.STALLED, [Reason(Code.METRICS_SILENT, numbers=(("seconds", round(silent, 1)),)), *beside]
        if self._doubt.metrics_lied:
            return self._doubt.alone(look.at, beside)
        # The canary is no request of anybody's.
        if sum(part.asked for part in engine.parts) <= (1 if look.canary_asked and not self._busy else 0):
            return (State.STALLED, [*self._doubt.silent, *beside]) if self._doubt.silent else (State.IDLE, beside)
        return self._running(look, frozen, beside)

    def _loading(self, look: Look, beside: list[Reason]) -> tuple[State, list[Reason]]:
        """Nothing was ever answered, or nothing since it was started. Only a supervisor whose engine runs says that
        something is on its way."""
        run, code = look.run, look.engine.code
        began = self._loads_at
        if run is not None and run.phase is Phase.RUNS and run.entered is not None:
            began = min(began, run.entered)
        if code is None and look.at - began >= self.limits.load:
            return State.STALLED, [Reason(Code.LOADS_TOO_LONG, numbers=(("seconds", round(look.at - began, 1)),)),
                                   *beside]
        if run is not None and run.phase is Phase.STARTING:
            return State.LOADING, [run.reason] if run.reason else []
        if code is not None:
            return self._unseen(look, [Reason(code), *beside])
        loads = run is not None and run.phase is Phase.RUNS
        return State.LOADING if loads else State.UNKNOWN, [Reason(Code.NOT_ANSWERING_YET), *beside]

    def _unseen(self, look: Look, reasons: list[Reason]) -> tuple[State, list[Reason]]:
        """Its page tells nothing: a canary may."""
        return self._doubt.alone(look.at, reasons) if look.engine.code in _TELLS_NOTHING else (State.UNKNOWN, reasons)

    def _running(self, look: Look, frozen: float, beside: list[Reason]) -> tuple[State, list[Reason]]:
        limits, frozen_reason = self.limits, Reason(Code.TOKENS_FROZEN, numbers=(("seconds", round(frozen, 1)),))
        spins = frozen >= limits.spin and self._gpus.spun(look.at) >= max(limits.spin / 2, limits.spin - _LAG)
        if not spins and frozen < limits.stall:
            if frozen and not self._steps:      # it may be a hang that is older than the watch
                return State.UNKNOWN, [Reason(Code.NO_PROGRESS_YET, numbers=(("seconds", round(frozen, 1)),)), *beside]
            return State.SERVING, beside
        if _traced(look):
            return State.SERVING, [Reason(Code.TRACED), *beside]
        # Where another replica moves, the work of the GPUs is no excuse for this one.
        alone = all(self._vain[part.name] >= frozen / 2 for part in look.engine.parts if part.asked)
        if not spins and alone and self._gpus.work(look) and frozen < _PATIENCE * limits.stall:
            return State.SERVING, [Reason(Code.LONG_STEP, numbers=(("seconds", round(frozen, 1)),)), *beside]
        late = [Reason(Code.TOKENS_FROZEN, f"replica {name}", (("seconds", round(seconds, 1)),))
                for name, seconds in self._in_vain.items() if name and seconds >= min(limits.stall, frozen)]
        return State.STALLED, [*(late or [frozen_reason]), *(self._gpus.spinning(look) if spins else []), *beside]

    def _culprit(self, state: State, claims: tuple[Claim, ...]) -> Culprit | None:
        """For as long as the stall lasts."""
        if state is not State.STALLED:
            return None
        before = self._last.culprit if self._last and self._last.state is State.STALLED else None
        return blame.culprit(claims, before)


_DOWN = (Phase.ENDED, Phase.MISSING)
#: What stands in the page of an engine of which only a canary can tell.
_TELLS_NOTHING = (Code.NO_METRICS, Code.METRICS_UNREADABLE)


def _just_accepted(look: Look, seconds: float) -> bool:
    """A unit runs when its acceptance ended well."""
    run = look.run
    return (look.accepted is not None and run is not None and run.phase is Phase.RUNS and run.entered is not None
            and 0 <= look.at - run.entered <= seconds)


def _runs(look: Look) -> bool:
    """Whether nobody says that it does not run."""
    return look.run is None or look.run.phase is Phase.RUNS


def _held(look: Look) -> bool:
    """Whether somebody has paused it: that time counts for nothing."""
    return look.run is not None and look.run.phase is Phase.PAUSED


def _traced(look: Look) -> bool:
    return any(each.state == "t" for each in look.processes)


#: What is wrong with a box that still serves.
_DEGRADES = (Code.XID, Code.SXID, Code.HUNG_TASK, Code.OOM_KILL, Code.AER_STORM, Code.LINK_NARROWER, Code.THROTTLED,
             Code.ECC_UNCORRECTED, Code.ECC_STORM, Code.DISK_LOW, Code.NVML_SILENT, Code.NVML_REFUSES, Code.GPU_TROUBLE,
             Code.TOKENS_SLOW, Code.CANARY_WRONG)
