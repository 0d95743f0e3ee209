"""From looks to states. Pure: time comes with the looks, so a night is judged in a millisecond.

The signature of a collective that nobody ends (own runs on 2 x H200 with NCCL, 2026-11): utilisation 100 %, memory
utilisation 0 %, power at the level of an idle context, while a decode step has 40 % and half of the power limit. It
alone proves nothing: a rank that compiles on its CPU lets the others spin in the same way. So it only shortens the
time that is allowed without progress."""

from __future__ import annotations

from ..host.nvml_samples import GpuSample
from .model import Code, Culprit, Engine, Limits, Look, Process, Reason, Seen, State

__all__ = ["Judge"]

_FULL, _EMPTY = 95, 1           # % of utilisation: an SM that spins, a memory that nobody reads
_WORKS = 5                      # % of memory utilisation that only work makes
_IDLE_SHARE, _WORK_SHARE = 0.35, 0.45
#: A GPU that works may take this many times the limit for one step.
_PATIENCE = 5
#: Looks that came so many intervals late were not made: this process did not run.
_LATE, _PAUSE = 10, 5.0
#: nvmlClocksEventReasons: hardware slowdown, its thermal part, its power brake.
_BRAKES = 0x8 | 0x40 | 0x80
_BRAKE_SECONDS = 10.0
_GONE = ("GPU_IS_LOST", "RESET_REQUIRED")


class Judge:
    """Keeps what it needs of earlier looks."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._before: Look | None = None
        self._moved_at = self._busy_at = self._answered_at = 0.0
        self._spin_at: float | None = None
        self._brake_at: float | None = None
        self._answered = False
        self._held: dict[tuple[Code, str], tuple[float, Reason]] = {}
        self._last: Seen | None = None

    @property
    def near(self) -> bool:
        """Whether requests have run for a while without progress, so that the processes are worth a look."""
        return self._last is not None and (self._last.frozen >= min(self.limits.spin, self.limits.stall) / 2
                                           or self._last.state is State.STALLED)

    def judge(self, look: Look) -> Seen:
        """The state as of this look; looks come in the order of their time."""
        paused = self._clocks(look)
        frozen = self._frozen(look)
        state, reasons = self._state(look, frozen)
        beside = [*self._events(look), *look.standing, *self._gpus(look),
                  *([Reason(Code.WATCH_PAUSED)] if paused else [])]
        if state in (State.SERVING, State.IDLE) and any(each.code in _DEGRADES for each in beside):
            state = State.DEGRADED
        if any(each.code is Code.GPU_GONE for each in beside) and state not in (State.STOPPED,):
            state = State.LOST
        since = self._last.since if self._last and self._last.state is state else look.at
        seen = Seen(state, since, tuple(dict.fromkeys([*reasons, *beside])), _culprit(look.processes)
                    if state is State.STALLED else None, frozen, look.engine)
        self._before, self._last = look, seen
        return seen

    def _clocks(self, look: Look) -> bool:
        """Take note of progress. Returns whether this process itself had stood still: then nothing is known of the
        time between, and every clock begins anew."""
        before, engine = self._before, look.engine
        # A look that waits for an answer in vain is long, and no pause.
        paused = before is not None and look.at - look.took - before.at > max(_LATE * self.limits.interval, _PAUSE)
        if engine.absence is None:
            self._answered, self._answered_at = True, look.at
        last = before.engine if before else None
        if before is None:
            self._answered_at = look.at
        if before is None or paused or _progress(last, engine):
            self._moved_at = look.at
        if paused:
            self._answered_at, self._spin_at = look.at, None
        if not engine.running or (last is not None and last.absence is None and not last.running):
            self._busy_at = look.at
        spins = look.gpus is not None and _spin(look.gpus)
        self._spin_at = (self._spin_at if self._spin_at is not None else look.at) if spins else None
        return paused

    def _frozen(self, look: Look) -> float:
        if look.engine.absence is not None or not look.engine.running:
            return 0.0
        return max(0.0, look.at - max(self._moved_at, self._busy_at))

    def _state(self, look: Look, frozen: float) -> tuple[State, list[Reason]]:
        unit, engine, limits = look.unit, look.engine, self.limits
        if unit is not None and unit.active in ("inactive", "deactivating"):
            return State.STOPPED, [Reason(Code.UNIT_STOPPED)]
        if unit is not None and unit.active == "failed":
            return State.STOPPED, [Reason(Code.UNIT_FAILED)]
        beside = [Reason(Code.UNIT_UNREADABLE)] if unit is not None and not unit.active else []
        if unit is not None and unit.active in ("activating", "reloading"):
            return State.LOADING, [Reason(Code.UNIT_STARTING)]
        if engine.code is not None:     # it answered, and its answer tells nothing
            return State.UNKNOWN, [Reason(engine.code), *beside]
        if engine.absence is not None:
            silent = look.at - self._answered_at
            if not self._answered and silent < limits.load:
                # Only a unit that runs says that something is on its way to its first answer.
                loads = unit is not None and unit.active == "active"
                return State.LOADING if loads else State.UNKNOWN, [Reason(Code.NOT_ANSWERING_YET), *beside]
            if silent < limits.silent:
                return (self._last.state if self._last else State.UNKNOWN), beside
            if any(each.state == "t" for each in look.processes):
                return State.UNKNOWN, [Reason(Code.TRACED), *beside]
            return State.STALLED, [Reason(Code.METRICS_SILENT, numbers=(("seconds", round(silent, 1)),)), *beside]
        if not engine.running:
            return State.IDLE, beside
        return self._running(look, frozen, beside)

    def _running(self, look: Look, frozen: float, beside: list[Reason]) -> tuple[State, list[Reason]]:
        limits, told = self.limits, Reason(Code.TOKENS_FROZEN, numbers=(("seconds", round(frozen, 1)),))
        spun = look.at - self._spin_at if self._spin_at is not None else 0.0
        spins = frozen >= limits.spin and spun >= limits.spin
        late = frozen >= limits.stall
        if not spins and not late:
            return State.SERVING, beside
        if any(each.state == "t" for each in look.processes):
            return State.SERVING, [Reason(Code.TRACED), *beside]
        if not spins and look.gpus and any(map(_works, look.gpus)) and frozen < _PATIENCE * limits.stall:
            return State.SERVING, [Reason(Code.LONG_STEP, numbers=(("seconds", round(frozen, 1)),)), *beside]
        gpus = [Reason(Code.GPUS_SPINNING, each.bdf) for each in look.gpus or () if _spins(each)] if spins else []
        return State.STALLED, [told, *gpus, *beside]

    def _events(self, look: Look) -> list[Reason]:
        """What happened keeps the box degraded for a while."""
        restarts = (self._before.unit.restarts if self._before and self._before.unit else None,
                    look.unit.restarts if look.unit else None)
        again = [Reason(Code.UNIT_RESTARTED, numbers=(("restarts", float(restarts[1])),))] if (
            restarts[0] is not None and restarts[1] is not None and restarts[1] > restarts[0]) else []
        for each in (*look.events, *again):
            self._held[each.code, each.subject] = (look.at, each)
        self._held = {key: kept for key, kept in self._held.items() if look.at - kept[0] <= self.limits.hold}
        return [each for _, each in self._held.values()]

    def _gpus(self, look: Look) -> list[Reason]:
        gone = [Reason(Code.GPU_GONE, each.bdf) for each in look.gpus or () if each.error in _GONE]
        braked = [each for each in look.gpus or () if each.throttle is not None and each.throttle & _BRAKES]
        self._brake_at = (self._brake_at if self._brake_at is not None else look.at) if braked else None
        if self._brake_at is None or look.at - self._brake_at < _BRAKE_SECONDS:
            return gone
        return [*gone, *(Reason(Code.THROTTLED, each.bdf, (("bits", float(each.throttle or 0)),)) for each in braked)]


#: What is wrong with a box that still serves.
_DEGRADES = (Code.XID, Code.SXID, Code.HUNG_TASK, Code.OOM_KILL, Code.AER_STORM, Code.LINK_NARROWER, Code.THROTTLED,
             Code.DISK_LOW, Code.NVML_SILENT)


def _progress(last: Engine | None, engine: Engine) -> bool:
    """Whether a counter moved. One that is smaller began anew: the engine was restarted, which is progress too."""
    if engine.absence is not None:
        return False
    return last is None or last.absence is not None or engine.moved != last.moved


def _spins(gpu: GpuSample) -> bool:
    return (gpu.gpu is not None and gpu.gpu >= _FULL and gpu.memory is not None and gpu.memory <= _EMPTY
            and (gpu.power_mw is None or not gpu.limit_mw or gpu.power_mw <= _IDLE_SHARE * gpu.limit_mw))


def _works(gpu: GpuSample) -> bool:
    return (gpu.memory or 0) >= _WORKS or bool(gpu.power_mw and gpu.limit_mw and gpu.power_mw >= _WORK_SHARE
                                               * gpu.limit_mw)


def _spin(gpus: tuple[GpuSample, ...]) -> bool:
    """Some GPU only waits, and none works."""
    return any(map(_spins, gpus)) and not any(map(_works, gpus))


def _culprit(processes: tuple[Process, ...]) -> Culprit | None:
    """Stopped by a signal before stuck in the kernel: the others wait for it."""
    for letter in "TD":
        for each in processes:
            if each.state == letter:
                return Culprit(each.pid, each.name, letter)
    return None


