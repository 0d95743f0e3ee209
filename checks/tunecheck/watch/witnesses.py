"""Who is asked of a stall: the processes that compute on the GPUs, and NCCL's RAS in their network.

Who computes on which GPU is noted while all is well: of a process that is gone nobody can tell any more."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace

from ..errors import ProbeError
from ..host import Host, Unreadable
from ..host.gpm import SmQuestion
from ..host.nccl_ras import RasQuestion, where
from ..host.nvml_samples import GpuSample
from ..model.absence import Absence
from ..parsers.nvidia.nccl_ras import Ras, parse
from .model import Phase, Process, Run
from .processes import belongs, of_group, of_run, process

__all__ = ["Witnesses", "ask"]

#: In seconds: how often it is noted who computes where, and how soon RAS is asked again.
_NOTE_EVERY, _ASK_EVERY = 10.0, 10.0
_MOST = 64


class Witnesses:
    """``run`` and ``gpus`` are the newest that are known. A ``run`` of None: nobody is asked of it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[int, Process] = {}
        self._gone: dict[int, float | None] = {}        # what the counters said when it was missed first
        self._since: dict[int, float] = {}              # when it was seen first
        self._run: Run | None = None                    # as it was told last
        self._noted: float | None = None
        self._listed: frozenset[int] = frozenset()
        self._question: RasQuestion | None = None
        self._asked: float | None = None
        self._ras: Ras | None = None
        self._absence: Absence | None = None
        self._on_sms: SmQuestion | None = None
        self._sms: tuple[tuple[str, float], ...] = ()
        self._sms_asked: float | None = None

    def note(self, run: Run | None, gpus: Sequence[GpuSample], moved: float | None) -> None:
        """Who computes. One that is gone is forgotten when the engine has moved without it. ``moved``: what the
        counters sum up to, None where they say nothing."""
        now, before, run = time.monotonic(), self._run, self._told(run)
        if (run.invocation if run else "") != (before.invocation if before else ""):
            # What the supervisor says is read more seldom: who was seen just now may be of this run.
            self._known = {pid: each for pid, each in self._known.items() if now - self._since[pid] < _NOTE_EVERY}
            self._gone = {pid: then for pid, then in self._gone.items() if pid in self._known}
            self._noted = None
        listed = frozenset(pid for gpu in gpus for pid in gpu.pids)
        if self._noted is not None and now - self._noted < _NOTE_EVERY and listed == self._listed:
            return
        self._noted, self._listed = now, listed
        on: dict[int, list[str]] = {}
        for gpu in gpus:
            for pid in gpu.pids:
                on.setdefault(pid, []).append(gpu.bdf)
        # Without a supervisor they are whoever computes here; of anybody else nothing is kept.
        found = {pid: named for pid, where_on in list(on.items())[:_MOST]
                 if (run is None or belongs(self._host, pid, run))
                 and (named := self._named(pid, tuple(where_on))) is not None}
        for pid in self._known.keys() - found.keys():
            self._gone.setdefault(pid, moved)
        ended = [pid for pid, then in self._gone.items() if pid in found or (
            moved is not None and then is not None and moved != then) or (found.keys() - self._known.keys())]
        for pid in ended:
            del self._gone[pid]
            self._known.pop(pid, None)
        self._known.update(found)
        self._since = {pid: self._since.get(pid, now) for pid in self._known}

    def _told(self, run: Run | None) -> Run | None:
        """As it was told last, where the supervisor gives no answer now."""
        if run is None or run.phase is not Phase.UNREAD or self._run is None:
            self._run = run
        return self._run

    def _named(self, pid: int, gpus: tuple[str, ...]) -> Process | None:
        found = process(self._host, pid)
        if found is None or found.state in ("", "Z", "X"):
            return None
        return replace(found, engine_pid=_inner(self._host, pid), gpus=gpus)

    def processes(self, run: Run | None) -> tuple[Process, ...]:
        """All of the engine, and whoever computed: state X for who is gone."""
        run = self._told(run)
        found = {each.pid: replace(each, engine_pid=_inner(self._host, each.pid))
                 for each in (of_run(self._host, run) if run is not None else ())}
        for pid, known in self._known.items():
            now = found.get(pid) or process(self._host, pid)
            # An id that somebody else has by now is of one that is gone.
            same = now is not None and (now.started == known.started or not now.state)
            found[pid] = replace(known, state=now.state if now is not None and same else "X")
        return tuple(replace(each, waits_in=_waits(self._host, each.pid)) if each.state == "D" else each
                     for each in found.values())

    def ras(self, processes: Sequence[Process]) -> tuple[Ras | None, Absence | None]:
        """The newest answer, and why there is none: NOT_READ while it is on its way. Never waits."""
        now = time.monotonic()
        if self._question is not None and self._question.over:
            self._take(self._question)
        if self._question is None and (self._asked is None or now - self._asked >= _ASK_EVERY):
            first, self._asked = self._asked is None, now
            self._absence = Absence.NOT_READ if first else self._absence
            self._begin(processes)
        return self._ras, self._absence

    def _begin(self, processes: Sequence[Process]) -> None:
        pid = _whom(processes)
        if pid is None:
            self._ras, self._absence = None, Absence.NOT_ASKED
            return
        try:
            self._question = RasQuestion(pid, *where(self._host, pid), ours=_alive(processes))
        except Unreadable as error:
            self._ras, self._absence = None, error.absence
        except OSError:
            self._ras, self._absence = None, Absence.FAILED

    def _take(self, question: RasQuestion) -> None:
        self._question = None
        try:
            answer = question.answer()
        except Unreadable as error:
            self._ras, self._absence = None, error.absence
            return
        found = parse(answer.text, answer.whole)
        self._ras, self._absence = (found, None if found.whole else Absence.INCOMPLETE) if found.understood else \
            (None, Absence.NOT_UNDERSTOOD)

    def sms(self) -> tuple[tuple[str, float], ...]:
        """How many SMs of each GPU were occupied when that was asked last. Never waits."""
        now = time.monotonic()
        if self._on_sms is not None and self._on_sms.over:
            question, self._on_sms, self._sms = self._on_sms, None, ()
            with contextlib.suppress(Unreadable):
                self._sms = tuple(sorted(question.answer().items()))
        if self._on_sms is None and (self._sms_asked is None or now - self._sms_asked >= _ASK_EVERY):
            self._sms_asked = now
            with contextlib.suppress(OSError):
                self._on_sms = SmQuestion()
        return self._sms

    @property
    def asking(self) -> bool:
        """Whether a first answer is still on its way."""
        return self._absence is Absence.NOT_READ or (self._on_sms is not None and not self._sms)

    def forget(self) -> None:
        """No stall is near any more."""
        if self._on_sms is not None:
            self._on_sms.close()
        self._on_sms, self._sms, self._sms_asked = None, (), None
        if self._question is not None:
            self._question.close()
        self._question, self._asked, self._ras, self._absence = None, None, None, None


def ask(host: Host, group: str) -> str:
    """What RAS says to the processes of a control group, as text for the evidence, with its deadline. Unreadable where
    it says nothing."""
    processes = of_group(host, group)
    pid = _whom(processes)
    if pid is None:
        raise Unreadable("NCCL RAS", Absence.NOT_ASKED.because("no process of the engine is known"))
    try:
        question = RasQuestion(pid, *where(host, pid), ours=_alive(processes))
    except OSError as error:
        raise Unreadable("NCCL RAS", Absence.FAILED.because(error.strerror or "failed")) from None
    try:
        return question.answer().text
    finally:
        with contextlib.suppress(OSError):
            question.close()


def _whom(processes: Sequence[Process]) -> int | None:
    """Whose network is entered: a process that computes, before one that only belongs to it."""
    alive = [each for each in processes if each.state not in "ZX"]
    return next((each.pid for each in alive if each.gpus), alive[-1].pid if alive else None)


def _alive(processes: Sequence[Process]) -> tuple[int, ...]:
    """Those that compute first."""
    alive = [each for each in processes if each.state not in "ZX"]
    return tuple(each.pid for each in sorted(alive, key=lambda each: not each.gpus))


def _inner(host: Host, pid: int) -> int:
    """Its id in its own namespace, the last of NSpid; 0 where that cannot be read."""
    try:
        text = host.read_bytes(f"/proc/{pid}/status").decode("utf-8", "replace")
        return int(next(line for line in text.splitlines() if line.startswith("NSpid:")).split()[-1])
    except (ProbeError, StopIteration, ValueError, IndexError):
        return 0


def _waits(host: Host, pid: int) -> str:
    """The innermost function of its kernel stack, which only root may read, or what wchan says."""
    for name in ("stack", "wchan"):
        try:
            line = host.read_bytes(f"/proc/{pid}/{name}").decode("utf-8", "replace").strip().split("\n")[0]
        except ProbeError:
            continue
        function = line.rpartition("] ")[2].partition("+")[0].strip()
        if function not in ("", "0"):
            return "".join(char for char in function if char.isprintable())[:80]
    return ""
