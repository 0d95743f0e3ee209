"""Asks the driver's library in a child of its own session: a call into a sick driver can crash, or never return.

Each group of answers crosses the pipe as one line of JSON when it is there, so what a crash or the deadline cuts off
takes nothing along. The parent never loads the library."""

from __future__ import annotations

import _thread
import contextlib
import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..model.absence import Absence
from ..parsers.nvidia.nvml_keys import KEYS
from ..parsers.pci.bdf import bdf_key
from ..util.tied import fork, tie
from .base import Unreadable
from .child import Child, let_go_of_everything_but
from .nvml_absence import NOT_READ, nvml_reason

__all__ = ["DAMAGED", "NvmlChild"]

_PAIR_KEYS = ("ancestor", "p2p_read", "p2p_write")
#: In bytes. 200 GPUs and their 39,800 pairs are 6 MiB.
_MOST = 64 << 20
_MOST_GPUS = 1024
#: In seconds. Should the parent be killed, nobody else would end a child that hangs.
_ORPHAN = 60
#: What a line that the child did not mean to write makes of itself.
DAMAGED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
_TIME, _END = "timed out", "ended"
_DAMAGED = "CUT_OFF: its answers are damaged"


class NvmlChild(Child):
    """A child that begins to ask at once. ``document`` collects its answers."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self._pipe, theirs = os.pipe()
        parent = os.getpid() if _thread.get_native_id() == os.getpid() else 0
        try:
            pid = fork()
        except OSError as error:
            os.close(self._pipe)
            os.close(theirs)
            raise Unreadable("NVML", Absence.FAILED.because(
                f"no process to ask it could be started ({error.strerror})")) from None
        if pid == 0:
            _child(theirs, parent)      # never returns
        super().__init__(pid)
        self._answered = False
        os.close(theirs)
        os.set_blocking(self._pipe, False)
        # The answers for 16 GPUs fit, so that a child that was started ahead need not wait for us.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, 1 << 20)

    def document(self, deadline: float, until: float, list_lost: Callable[[], Sequence[str]]) -> dict[str, Any]:
        """Return the document (host/base.py). ``until`` is the time to stop at, ``deadline`` the seconds to name;
        ``list_lost`` gives the addresses of every GPU that the driver has, where some gave no handle."""
        answers = _Answers()
        cut_off = self._collect(answers, until)
        if cut_off == _TIME:
            cut_off = f"TIMED_OUT: timed out after {deadline:g} s{self.kill()}"
        elif cut_off == _END:
            # How it ended is known a moment later.
            died = self.ended_within(1.0) and (self.status or 0) < 0
            cut_off = "CUT_OFF: " + (f"killed by signal {-(self.status or 0)}" if died else
                                     f"ended in the middle{self.kill()}")
        try:
            return answers.document(cut_off, list_lost)
        except DAMAGED:
            raise Unreadable("NVML", nvml_reason(_DAMAGED)) from None

    def close(self) -> None:
        """Close the pipe. After its last answer the child has nothing left to do and ends by itself; before it, it is
        killed."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
            if not self._answered:
                self.kill()

    def _collect(self, answers: _Answers, until: float) -> str | None:
        """Read to the last answer. Return None then, else what cut it off."""
        poller = select.poll()
        poller.register(self._pipe, select.POLLIN)
        rest, total = b"", 0
        while True:
            if not poller.poll(max(0.0, until - time.monotonic()) * 1000):
                return _TIME
            chunk = os.read(self._pipe, 1 << 20)
            total += len(chunk)
            if not chunk:
                return _END
            *lines, rest = (rest + chunk).split(b"\n")
            try:
                self._answered = any([answers.take(json.loads(line)) for line in lines])
            except DAMAGED:
                return _DAMAGED
            if self._answered:
                return None
            if total > _MOST:
                return f"CUT_OFF: more than {_MOST >> 20} MiB of answers"


class _Answers:
    """Puts the lines of the child together."""

    def __init__(self) -> None:
        self.refused: str | None = None
        self.count: int | None = None
        self.top: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        self.gpus: dict[int, dict[str, Any]] = {}
        self.lost: dict[int, str] = {}
        self.pairs: dict[tuple[int, int], dict[str, Any]] = {}

    def take(self, line: dict[str, Any]) -> bool:
        """Keep one line. Return whether it is the last one."""
        if "count" in line:
            self.count = int(line["count"])
            if not 0 <= self.count <= _MOST_GPUS:
                raise ValueError("count")
        if "gpu" in line:
            gpu = self.gpus.setdefault(line["gpu"], {"values": {}, "errors": {}})
            if "bdf" in line:
                gpu["bdf"] = str(line["bdf"])
            gpu["values"].update(line["values"])
            gpu["errors"].update(line["errors"])
        elif "lost" in line:
            self.lost[int(line["lost"])] = str(line["error"])
        elif "from" in line:
            self.pairs[int(line["from"]), int(line["to"])] = {"values": line["values"], "errors": line["errors"]}
        elif "refused" in line:
            self.refused = str(line["refused"])
        elif "values" in line:
            self.top.update(line["values"])
            self.errors.update(line["errors"])
        return "end" in line or "refused" in line

    def document(self, cut_off: str | None, list_lost: Callable[[], Sequence[str]]) -> dict[str, Any]:
        if self.refused is not None:
            raise Unreadable("NVML", nvml_reason(self.refused))
        if self.count is None or (cut_off and not self.gpus and not self.lost):
            raise Unreadable("NVML", nvml_reason(cut_off or "CUT_OFF: no answer"))
        for key in {"driver", "library"} - set(self.top) - set(self.errors):
            self.errors[key] = cut_off or NOT_READ
        self._find_lost_gpus(list_lost)
        for index in sorted(set(range(self.count)) - set(self.gpus)):
            self.errors[f"gpu {index}"] = self.lost.get(index) or cut_off or NOT_READ
        gpus = sorted(({"bdf": gpu["bdf"], "index": index, "values": gpu["values"],
                        "errors": _filled(KEYS, gpu, self.lost.get(index) or cut_off)}
                       for index, gpu in self.gpus.items()), key=lambda gpu: bdf_key(gpu["bdf"]))
        return {"driver": self.top.get("driver"), "library": self.top.get("library"), "errors": self.errors,
                "gpus": gpus, "pairs": self._pairs(cut_off)}

    def _find_lost_gpus(self, list_lost: Callable[[], Sequence[str]]) -> None:
        """Find the addresses of lost GPUs. A lost GPU gives no handle, and without a handle no address. NVML counts in
        address order: where as many boards of the driver are without a handle as indices, they are these."""
        if not self.lost:
            return
        seen = {gpu["bdf"] for gpu in self.gpus.values()}
        silent = sorted((bdf for bdf in list_lost() if bdf not in seen), key=bdf_key)
        if len(silent) == len(self.lost):
            for index, bdf in zip(sorted(self.lost), silent, strict=True):
                self.gpus[index] = {"bdf": bdf, "values": {}, "errors": {}}

    def _pairs(self, cut_off: str | None) -> list[dict[str, Any]]:
        found = []
        for a, first in sorted(self.gpus.items()):
            for b, second in sorted(self.gpus.items()):
                if a != b:
                    pair = self.pairs.get((a, b), {"values": {}, "errors": {}})
                    reason = self.lost.get(a) or self.lost.get(b) or cut_off
                    found.append({"a": first["bdf"], "b": second["bdf"], "values": pair["values"],
                                  "errors": _filled(_PAIR_KEYS, pair, reason)})
        return found


def _filled(keys: Any, part: dict[str, Any], reason: str | None) -> dict[str, str]:
    """Return the errors of a part, and ``reason`` for each key that has neither a value nor an error."""
    missing = {key: reason or NOT_READ for key in keys if key not in part["values"]}
    return {**missing, **part["errors"]}


def _child(pipe: int, parent: int) -> None:
    """Ask, send the answers, end. The child leaves by os._exit: neither the parent's clean-up nor nvmlShutdown (15 ms)
    is wanted."""
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _ORPHAN)
        if parent:
            tie(parent)
        let_go_of_everything_but(pipe)
        _no_core_dump()

        def send(line: dict[str, Any]) -> None:
            data = json.dumps(line).encode() + b"\n"
            while data:
                data = data[os.write(pipe, data):]

        from .nvml_calls import ask

        try:
            import pynvml  # type: ignore[import-untyped]
        except ImportError:
            send({"refused": "NOT_INSTALLED: the Python package nvidia-ml-py is not installed"})
        else:
            ask(pynvml, send)
    finally:
        os._exit(0)


def _no_core_dump() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
