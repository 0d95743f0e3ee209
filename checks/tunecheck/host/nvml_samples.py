"""Samples what the GPUs do from second to second, in a child that may hang or crash in the driver.

The child opens NVML once and writes a line of JSON a sample, so a sample costs the calls alone: six calls a GPU, a few
milliseconds (own runs on 2 x H200: reading ten times a second cost an engine less than noise, 0.4 %). It makes no CUDA
context. nvmlDeviceGetPcieThroughput waits 20 ms a call and is not asked for."""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import time
from typing import Any

from ..model.absence import Absence
from ..util.at_first_use import dataclass
from ..util.tied import fork, tie
from .base import Unreadable
from .child import Child, let_go_of_everything_but

__all__ = ["GpuSample", "NvmlSampler", "Sample"]

_MOST = 1 << 20
#: In seconds: before a child that ended or hung is followed by another one, longer each time.
_AGAIN, _LONGEST = 2.0, 300.0
#: NVML_ERROR_GPU_IS_LOST and NVML_ERROR_RESET_REQUIRED (nvml.h).
_LOST = {15: "GPU_IS_LOST", 16: "RESET_REQUIRED"}
#: A process that hangs in the driver cannot be killed, and keeps its memory: so many at once.
_MOST_STUCK = 2
_FIELDS = ("gpu", "memory", "power_mw", "limit_mw", "throttle", "temperature", "link_kib", "corrected", "uncorrected")
#: NVML_MEMORY_ERROR_TYPE_CORRECTED and _UNCORRECTED, and NVML_VOLATILE_ECC (nvml.h).
_ERRORS, _VOLATILE = (("corrected", 0), ("uncorrected", 1)), 0
#: NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX (nvml.h), in KiB, and the scope that means all links together.
_LINK_FIELDS, _ALL_LINKS = (138, 139), 0xFFFFFFFF
#: NVML_FI_DEV_PCIE_COUNT_TX_BYTES and _RX_BYTES: counters, which cost no 20 ms.
_PCIE_FIELDS = (197, 198)
#: Samples from one list of the processes on a GPU, and of its errors, to the next, and how many processes are told.
_PIDS_EVERY, _MOST_PIDS = 5, 64


@dataclass(frozen=True)
class GpuSample:
    """One GPU now: utilisation of the SMs and of the memory in %, power and its limit in mW, the bits of
    nvmlClocksEventReasons, temperature in C, KiB that it sent and received over its NVLinks since some time, or with
    ``over_pcie`` over PCIe where it has none; None where the driver does not say.
    ``pids``: processes that compute on it, by the ids of this machine; ``corrected`` and ``uncorrected``: errors of its
    memory since the driver was loaded, None where it has no ECC; both a few samples old. ``error``: NVML's, where the
    GPU gives no answer at all ("GPU_IS_LOST")."""

    bdf: str
    gpu: int | None = None
    memory: int | None = None
    power_mw: int | None = None
    limit_mw: int | None = None
    throttle: int | None = None
    temperature: int | None = None
    link_kib: int | None = None
    over_pcie: bool = False
    error: str = ""
    uuid: str = ""
    pids: tuple[int, ...] = ()
    corrected: int | None = None
    uncorrected: int | None = None


@dataclass(frozen=True)
class Sample:
    """The samples of all GPUs at one time. ``at`` is in seconds of the monotonic clock."""

    at: float
    gpus: tuple[GpuSample, ...]


class NvmlSampler:
    """Asks every ``interval`` seconds in its child. ``latest`` never blocks: where the driver hangs the samples grow
    old, and after ``deadline`` seconds without one the child is killed, or left behind where it cannot be, and another
    one is started later."""

    def __init__(self, interval: float, deadline: float = 5.0) -> None:
        # A sample that is due a moment after the look is no driver that hangs.
        self.interval, self.deadline = interval, max(deadline, 2 * interval + 1)
        self._child: Child | None = None
        self._pipe = -1
        self._rest = b""
        self._last: Sample | None = None
        self._answered_at = 0.0
        self._next, self._pause = 0.0, _AGAIN
        self._refused = ""
        self._abandoned: list[Child] = []

    def latest(self) -> Sample:
        """Return the newest sample. Unreadable with TIMED_OUT where NVML hangs, CUT_OFF where its process ended, FAILED
        where it refuses or cannot be asked, NOT_READ where there is no sample yet."""
        now = time.monotonic()
        self._abandoned = [child for child in self._abandoned if not child.reaped()]
        if self._child is None and now >= self._next and len(self._abandoned) < _MOST_STUCK:
            self._start(now)
        if self._child is not None:
            self._hear(now)
        if self._last is not None and now - self._last.at <= self.deadline:
            return self._last
        if self._abandoned and self._child is None:
            raise Unreadable("NVML", Absence.TIMED_OUT.because(f"{len(self._abandoned)} processes hang in the driver"))
        if self._refused:
            raise Unreadable("NVML", Absence.FAILED.because(self._refused))
        if self._child is not None and now - self._answered_at <= self.deadline:
            raise Unreadable("NVML", Absence.NOT_READ.because("no sample yet"))
        if self._child is not None:
            left = self._child.kill()
            self._end(now)
            raise Unreadable("NVML", Absence.TIMED_OUT.because(f"no sample within {self.deadline:g} s{left}"))
        raise Unreadable("NVML", Absence.CUT_OFF.because("its process ended"))

    def close(self) -> None:
        """End the child, as far as it can be ended."""
        if self._child is not None:
            self._child.kill()
            self._end(time.monotonic())

    def _start(self, now: float) -> None:
        self._pipe, theirs = os.pipe()
        parent = os.getpid() if _thread.get_native_id() == os.getpid() else 0
        try:
            pid = fork()
        except OSError as error:
            for each in (self._pipe, theirs):
                os.close(each)
            self._pipe, self._next, self._pause = -1, now + self._pause, min(self._pause * 2, _LONGEST)
            raise Unreadable("NVML", Absence.FAILED.because(
                f"no process to ask it could be started ({error.strerror})")) from None
        if pid == 0:
            _sample(theirs, parent, self.interval)      # never returns
        os.close(theirs)
        os.set_blocking(self._pipe, False)
        self._child, self._rest, self._answered_at = Child(pid), b"", now

    def _hear(self, now: float) -> None:
        try:
            part = os.read(self._pipe, _MOST)
        except BlockingIOError:
            return
        if not part:
            self._end(now)
            return
        *lines, self._rest = (self._rest + part).split(b"\n")
        if len(self._rest) > _MOST or not lines:
            return
        self._answered_at = now
        try:
            line = json.loads(lines[-1])
            self._refused = str(line.get("refused", ""))
            if not self._refused:
                self._last, self._pause = Sample(now, tuple(_gpu(each) for each in line["gpus"])), _AGAIN
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
            self._refused = "its answers are damaged"

    def _end(self, now: float) -> None:
        if self._child is not None and not self._child.reaped():
            self._abandoned.append(self._child)
        with contextlib.suppress(OSError):
            os.close(self._pipe)
        self._child, self._pipe = None, -1
        self._next, self._pause = now + self._pause, min(self._pause * 2, _LONGEST)


def _gpu(told: dict[str, Any]) -> GpuSample:
    values = {name: int(told[name]) for name in _FIELDS if told.get(name) is not None}
    return GpuSample(str(told["bdf"]), **values, over_pcie=told.get("over_pcie") is True,
                     error=str(told.get("error", "")), uuid=str(told.get("uuid", ""))[:64],
                     pids=tuple(int(pid) for pid in told.get("pids", ())[:_MOST_PIDS]))


def _sample(pipe: int, parent: int, interval: float) -> None:
    """Ask, send, sleep, until the other end is closed. The child leaves by os._exit."""
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if parent:
            tie(parent)
        let_go_of_everything_but(pipe)

        def send(line: dict[str, Any]) -> None:
            data = json.dumps(line).encode() + b"\n"
            while data:
                data = data[os.write(pipe, data):]

        try:
            import pynvml  # type: ignore[import-untyped]
        except ImportError:
            send({"refused": "the Python package nvidia-ml-py is not installed"})
            return
        _ask(pynvml, send, interval)
    finally:
        os._exit(0)


def _ask(nvml: Any, send: Any, interval: float) -> None:
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        send({"refused": str(error)[:200]})
        return
    handles, gone = {}, []
    for index in range(count):
        try:
            place = nvml.nvmlDeviceGetPciInfo(handle := nvml.nvmlDeviceGetHandleByIndex(index))
            handles[f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0"] = handle
        except nvml.NVMLError as error:     # a lost GPU gives no handle, and without one no address
            gone.append({"bdf": f"GPU{index}", "error": _LOST.get(error.value, str(error)[:200])})
    fixed: dict[str, dict[str, Any]] = {bdf: {} for bdf in handles}
    turn = 0
    while True:
        if turn % _PIDS_EVERY == 0:
            for bdf, handle in handles.items():
                fixed[bdf] = _named(nvml, handle)
        send({"gpus": [*({**_one(nvml, bdf, handle), **fixed[bdf]} for bdf, handle in handles.items()), *gone]})
        turn += 1
        time.sleep(interval)


def _named(nvml: Any, handle: Any) -> dict[str, Any]:
    """Return what seldom changes: the UUID, the processes that compute on the GPU, its memory's errors."""
    found: dict[str, Any] = {}
    with contextlib.suppress(Exception):
        found["uuid"] = nvml.nvmlDeviceGetUUID(handle)
    with contextlib.suppress(Exception):
        found["pids"] = [each.pid for each in nvml.nvmlDeviceGetComputeRunningProcesses(handle)][:_MOST_PIDS]
    for name, kind in _ERRORS:
        with contextlib.suppress(Exception):        # a board without ECC
            found[name] = nvml.nvmlDeviceGetTotalEccErrors(handle, kind, _VOLATILE)
    return found


def _one(nvml: Any, bdf: str, handle: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"bdf": bdf}

    def rates() -> tuple[int, int]:
        values = nvml.nvmlDeviceGetUtilizationRates(handle)
        return values.gpu, values.memory

    for names, call in (
            (("gpu", "memory"), rates),
            (("power_mw",), lambda: (nvml.nvmlDeviceGetPowerUsage(handle),)),
            (("limit_mw",), lambda: (nvml.nvmlDeviceGetPowerManagementLimit(handle),)),
            (("throttle",), lambda: (nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),)),
            (("link_kib", "over_pcie"), lambda: _links(nvml, handle)),
            (("temperature",), lambda: (nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),))):
        try:
            found.update(zip(names, call(), strict=True))
        except nvml.NVMLError as error:
            if error.value in _LOST:
                return {"bdf": bdf, "error": _LOST[error.value]}
        except Exception:      # a function that this driver is too old for: the value is not told
            continue
    return found


def _links(nvml: Any, handle: Any) -> tuple[int | None, bool]:
    """Return the KiB that the GPU's NVLinks carried, and False; where it has none, the KiB that PCIe carried, and True.
    (None, False) where the driver says neither."""
    nvlinks = _sum(nvml.nvmlDeviceGetFieldValues(handle, [(field, _ALL_LINKS) for field in _LINK_FIELDS]))
    if nvlinks is not None:
        return nvlinks, False
    pcie = _sum(nvml.nvmlDeviceGetFieldValues(handle, list(_PCIE_FIELDS)))
    return (None, False) if pcie is None else (pcie // 1024, True)


def _sum(told: Any) -> int | None:
    return None if any(each.nvmlReturn for each in told) else sum(int(each.value.ullVal) for each in told)
