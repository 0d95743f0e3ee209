"""What is known at the moment of a stall, before anything is killed. Bounded: every read has a deadline of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..facts.nvidia.nvml import nvml
from ..host import Host, Unreadable
from ..host.prefetch import PS
from ..model.absence import Absence
from ..parsers.kernel.tasks import looks_like_driver, parse_ps
from . import counts
from .ras import COMMAND as RAS
from .supervisor import Suspect

__all__ = ["Evidence"]

_THREADS = 64
_PY_SPY = "py-spy"
#: NCCL waits a second for a rank that gives no answer.
_RAS_SECONDS = 1.1
_RAS_LEAST = 0.02


class Evidence:
    """Collect evidence of a stall. ``host`` is asked for everything, so that a RecordingHost keeps it for the bundle.
    ``then``: PCIe error counters from before the trial."""

    def __init__(self, host: Host, then: counts.Counts | None = None) -> None:
        self._host = host
        self._then = then or {}
        self._expected: float | None = None

    def expect(self) -> None:
        """Prepare for a stall that may come. NCCL is asked now, since it waits for a rank that gives no answer. Called
        at the beginning of each pause, so that its answer is of this one."""
        if self._expected is not None:
            self._ras(_RAS_LEAST)       # of an earlier pause, which passed
        self._host.ahead(RAS)
        self._expected = time.monotonic()

    def _ras(self, seconds: float) -> str:
        """Return what NCCL's RAS says within so many seconds of the question. With a rank that does not answer it waits
        for its own timeout, and the operator would wait for us."""
        asked, self._expected = self._expected or time.monotonic(), None
        try:
            done = self._host.run(RAS, max(_RAS_LEAST, asked + seconds - time.monotonic()))
        except Unreadable as error:
            late = error.reason.absence is Absence.TIMED_OUT
            return f"(no answer in {time.monotonic() - asked:.1f} s)" if late else f"({error.reason})"
        return done.stdout or done.stderr

    def __call__(self, suspects: Sequence[Suspect], seconds: float) -> Mapping[str, Any]:
        """Return the evidence: threads of every worker with state, kernel function and stack; Python stacks; kernel
        log; NVML. Under "remarks" is what belongs into a report: counters that moved, who else hangs, what gave no
        answer."""
        until = time.monotonic() + seconds
        alive = [suspect for suspect in suspects if suspect.process_state != "gone"]
        # Stopped processes cannot be read by py-spy without being waited for: only those that run.
        spies = [(_PY_SPY, "dump", "--nonblocking", "--pid", str(suspect.pid)) for suspect in alive]
        self._host.ahead(*spies, ("dmesg",), PS, RAS, nvml=True)
        found: dict[str, Any] = {"processes": {}, "python": {}}
        for suspect in alive:
            found["processes"][f"worker {suspect.worker}, pid {suspect.pid}"] = self._threads(suspect.pid, until)
        for suspect, argv in zip(alive, spies, strict=True):
            found["python"][f"worker {suspect.worker}"] = self._output_of(argv, until)
        found["nccl ras"] = self._ras(_RAS_SECONDS)
        found["kernel log"] = self._output_of(("dmesg",), until)[-8000:]
        remarks = self._stuck(suspects, until)
        told = nvml(self._host, True, round(max(0.1, until - time.monotonic()), 1))
        found["nvml"] = told.value or told.why()
        if told.value is None:
            remarks.append(f"NVML gave no answer: {told.why()}")
        else:
            remarks += [f"NVML on {who}: {why}" for who, why, _ in told.value.troubles()]
        later = counts.now(self._host, dict.fromkeys(key[0] for key in self._then), told.value)
        found["moved"] = counts.moved(self._then, later)
        if found["moved"]:
            remarks.insert(0, f"PCIe errors since the trial began: {', '.join(found['moved'])}")
        found["remarks"] = remarks
        return found

    def _stuck(self, suspects: Sequence[Suspect], until: float) -> list[str]:
        """Return sentences about the driver's other users that hang in the kernel: one of them may hold what our
        workers wait for."""
        tasks = parse_ps(self._output_of(PS, until))[0]
        ours = {suspect.pid for suspect in suspects}
        others = [task for task in tasks if task.pid not in ours and looks_like_driver(task.name)][:8]
        return [f"{task.name} (pid {task.pid}) is stuck in the kernel, state D"
                f"{self._function(f'/proc/{task.pid}/task/{task.thread}/wchan')}" for task in others]

    def _function(self, path: str) -> str:
        name = self._text(path)
        return f", in {name}" if name.isidentifier() else ""

    def _threads(self, pid: int, until: float) -> list[dict[str, str]]:
        try:
            names = self._host.list(f"/proc/{pid}/task")[:_THREADS]
        except Unreadable as error:
            return [{"error": error.reason}]
        threads = []
        for name in names:
            if time.monotonic() > until:
                threads.append({"error": "no time left"})
                break
            threads.append({leaf: self._text(f"/proc/{pid}/task/{name}/{leaf}")
                            for leaf in ("comm", "stat", "wchan", "stack", "syscall")})
        return threads

    def _text(self, path: str) -> str:
        try:
            return self._host.read_bytes(path).decode("utf-8", "replace").strip()
        except Unreadable as error:
            return f"({error.reason})"

    def _output_of(self, argv: tuple[str, ...], until: float) -> str:
        try:
            done = self._host.run(argv, max(0.1, until - time.monotonic()))
        except Unreadable as error:
            return f"({error.reason})"
        return done.stdout or done.stderr

