"""What one look at a serving box holds, and what may be said of it. docs/watch.md has every code."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ..host.nvml_samples import GpuSample
from ..model.absence import Absence
from ..parsers.nvidia.nccl_ras import Ras
from ..serving.accepted import Accepted
from .codes import STALLS, Code, Reason
from .run import Phase, Run

__all__ = ["BAD", "STALLS", "Answer", "Claim", "Code", "Culprit", "Engine", "Kind", "Limits", "Look", "Part", "Phase",
           "Process", "Reason", "Run", "Seen", "State", "Witness"]


class State(StrEnum):
    """The state of what is served."""

    SERVING = "serving"
    IDLE = "idle"
    LOADING = "loading"
    DEGRADED = "degraded"
    STALLED = "stalled"
    LOST = "lost"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


#: States in which nobody is served as he should be.
BAD = (State.DEGRADED, State.STALLED, State.LOST, State.STOPPED)


class Witness(StrEnum):
    """Who says that somebody holds the others up."""

    RAS = "nccl-ras"
    PROCESS = "process"
    GPU = "gpu"


class Kind(StrEnum):
    """What is said of him."""

    STOPPED = "stopped"         # process: by a signal
    ENDED = "ended"             # process: gone, or a zombie
    HANGS = "hangs"             # process: in the kernel
    SILENT = "silent"           # RAS: it gives no answer
    DEAD = "dead"               # RAS: NCCL has given it up
    FAILED = "failed"           # RAS: NCCL reports an error of it
    BEHIND = "behind"           # RAS: it has launched fewer operations than the others
    IDLE = "idle"               # GPU: does nothing, while the others only wait
    COMPUTES = "computes"       # GPU: does something else than wait, while the others only wait


class Answer(StrEnum):
    """What a canary came to. ``late``: no answer in time; ``failed``: it broke off, or the engine is dead behind its
    server; ``refused``: says nothing of the engine; ``key``: the key is refused."""

    RIGHT = "right"
    WRONG = "wrong"
    LATE = "late"
    FAILED = "failed"
    REFUSED = "refused"
    KEY = "key"


@dataclass(frozen=True)
class Part:
    """One replica of an engine, which can hang alone. ``asked``: requests that run or wait; ``moved``: a sum of
    counters that grows with every step, prompt or output."""

    name: str
    asked: int
    moved: float


@dataclass(frozen=True)
class Engine:
    """The engine's own metrics, all replicas together and each. ``absence``: why there are none. ``decoded``: tokens
    that are counted as they come; ``steps``: of a batch, where tokens are counted at a request's end; ``prompted``:
    prompt tokens."""

    running: int | None = None
    waiting: int | None = None
    moved: float | None = None
    generated: float | None = None
    absence: Absence | None = None
    code: Code | None = None
    replicas: tuple[Part, ...] = ()
    decoded: float | None = None
    steps: float | None = None
    prompted: float | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its replicas, or itself as the only one."""
        if self.replicas or self.running is None or self.moved is None:
            return self.replicas
        return (Part("", self.running + (self.waiting or 0), self.moved),)


@dataclass(frozen=True)
class Process:
    """A process of the engine. ``state`` is the letter of proc(5): R, S, D, Z, T (stopped), t (traced), X (gone); ""
    where nobody can read it. ``engine_pid``: its id where it lives itself, as in a container; 0 where it is not known.
    ``gpus``: addresses of those it computes on. ``waits_in``: the kernel's function, where it says one. ``started``:
    clock ticks from the boot to its start, "" where that is not known; an id may be given again."""

    pid: int
    name: str
    state: str
    engine_pid: int = 0
    gpus: tuple[str, ...] = ()
    waits_in: str = ""
    started: str = field(default="", compare=False)


@dataclass(frozen=True)
class Look:
    """One look. ``at`` is monotonic, ``took`` the seconds it lasted until then, ``gpus`` None where NVML did not
    answer. ``events``: what happened since the last look. ``conditions``: what is so now beside engine and GPUs.
    ``processes``, ``ras``: asked only when a stall is near; ``ras_absence``: why there is no answer of NCCL's RAS.
    ``sms``: by address, how many of a GPU's SMs are occupied, in %. ``asking``: one of the two has not answered yet.
    ``accepted``: what was measured of just this run of the engine. ``canary``: what a question came to, in the look in
    which that is known; ``canary_asked``: one is under way."""

    at: float
    engine: Engine
    gpus: tuple[GpuSample, ...] | None = None
    run: Run | None = None
    events: tuple[Reason, ...] = ()
    conditions: tuple[Reason, ...] = ()
    processes: tuple[Process, ...] = ()
    took: float = 0.0
    ras: Ras | None = None
    ras_absence: Absence | None = None
    sms: tuple[tuple[str, float], ...] = ()
    asking: bool = False
    accepted: Accepted | None = None
    canary: Answer | None = None
    canary_asked: bool = False


@dataclass(frozen=True)
class Limits:
    """In seconds. ``stall``: so long may requests run without a token or a prompt step. A compiler that works for a new
    shape, and a prompt of 128 K tokens on one board, take up to a minute (policy of this project, 2026-11). ``spin``:
    the same where the GPUs only wait for each other. ``silent``: so long may the metrics give no answer. ``hold``: so
    long an event of the past makes the box degraded. ``load``: so long may an engine take to its first answer.
    ``floor``: share of the accepted speed below which it is slow; 0: none (floor.py). ``canary``: from
    one question to an idle engine to the next; 0: none (doubt.py)."""

    stall: float = 120.0
    spin: float = 30.0
    silent: float = 30.0
    hold: float = 300.0
    load: float = 3600.0
    interval: float = 1.0
    floor: float = 0.0
    canary: float = 0.0


@dataclass(frozen=True)
class Claim:
    """What one witness says. ``pid``: on this machine, 0 where it is not known; ``engine_pid``: where the process lives
    itself. ``rank`` in the ``communicator`` (its hash). ``gpu``: address. ``launched`` operations of the
    ``collective``, where others have launched ``others``. ``error``: NCCL's, or the kernel's function. ``index``:
    NVML's of the GPU, as the engine sees it."""

    witness: Witness
    kind: Kind
    pid: int = 0
    name: str = ""
    engine_pid: int = 0
    rank: int | None = None
    gpu: str = ""
    uuid: str = ""
    communicator: str = ""
    collective: str = ""
    launched: int | None = None
    others: int | None = None
    error: str = ""
    index: int | None = None


@dataclass(frozen=True)
class Culprit:
    """Who holds the others up. ``letter``: the state of its process, where that is why: T was stopped by a signal, D
    hangs in the kernel, Z and X ended. ``kinds``: what its witnesses say; a pid of 0 and a rank of None are not
    known."""

    pid: int
    name: str
    letter: str = ""
    rank: int | None = None
    gpu: str = ""
    uuid: str = ""
    collective: str = ""
    witnesses: tuple[Witness, ...] = ()
    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True)
class Seen:
    """The verdict of one look. ``since`` is the monotonic time at which the state began, ``frozen`` the seconds without
    progress while requests run, ``invocation`` the id of the engine's run (run.py). ``claims``: what witnesses say of
    who holds the others up; told of a stall alone."""

    state: State
    since: float
    reasons: tuple[Reason, ...] = ()
    culprit: Culprit | None = None
    frozen: float = 0.0
    engine: Engine = field(default_factory=Engine)
    gpus: tuple[GpuSample, ...] | None = None
    invocation: str = ""
    claims: tuple[Claim, ...] = ()
    ras: Ras | None = None
    ras_absence: Absence | None = None
    sms: tuple[tuple[str, float], ...] = ()
    asking: bool = False
