"""What the GPUs do from second to second, sampled in a child that may hang or crash in the driver.

The child opens NVML once and writes a line of JSON a sample, so a sample costs the calls alone: five calls a GPU, a few
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
_FIELDS = ("gpu", "memory", "power_mw", "limit_mw", "throttle", "temperature", "link_kib")
#: nvmlDeviceGetFieldValues: all links of the device together.
_ALL_LINKS = 0xFFFFFFFF


@dataclass(frozen=True)
class GpuSample:
    """One GPU now: utilisation of the SMs and of the memory in %, power and its limit in mW, the bits of
    nvmlClocksEventReasons, temperature in C, KiB that it sent and received over
    NVLink (over PCIe where it has none) since some time; None where the driver does not say. ``error``: NVML's, where
    the GPU gives no answer at all ("GPU_IS_LOST")."""

    bdf: str
    gpu: int | None = None
    memory: int | None = None
    power_mw: int | None = None
    limit_mw: int | None = None
    throttle: int | None = None
    temperature: int | None = None
    link_kib: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Sample:
    """Every GPU at one time. ``at`` is monotonic."""

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
        self._heard = 0.0
        self._next, self._pause = 0.0, _AGAIN
        self._refused = ""
        self._abandoned: list[Child] = []

    def latest(self) -> Sample:
        """The newest sample. Unreadable with TIMED_OUT where NVML hangs, CUT_OFF where its process ended, NO_DRIVER
        or FAILED where it refuses."""
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
        if self._child is not None and now - self._heard <= self.deadline:
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
        self._child, self._rest, self._heard = Child(pid), b"", now

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
        self._heard = now
        try:
            told = json.loads(lines[-1])
            self._refused = str(told.get("refused", ""))
            if not self._refused:
                self._last, self._pause = Sample(now, tuple(_gpu(each) for each in told["gpus"])), _AGAIN
        except (ValueError, TypeError, LookupError, AttributeError):
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
    return GpuSample(str(told["bdf"]), **values, error=str(told.get("error", "")))


def _sample(pipe: int, parent: int, interval: float) -> None:
    """Ask, say, sleep, until the other end is closed. Leaves by os._exit."""
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if parent:
            tie(parent)
        let_go_of_everything_but(pipe)

        def say(line: dict[str, Any]) -> None:
            data = json.dumps(line).encode() + b"\n"
            while data:
                data = data[os.write(pipe, data):]

        try:
            import pynvml  # type: ignore[import-untyped]
        except ImportError:
            say({"refused": "the Python package nvidia-ml-py is not installed"})
            return
        _ask(pynvml, say, interval)
    finally:
        os._exit(0)


def _ask(nvml: Any, say: Any, interval: float) -> None:
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        say({"refused": str(error)[:200]})
        return
    handles, gone = {}, []
    for index in range(count):
        try:
            place = nvml.nvmlDeviceGetPciInfo(handle := nvml.nvmlDeviceGetHandleByIndex(index))
            handles[f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0"] = handle
        except nvml.NVMLError as error:     # a lost GPU gives no handle, and without one no address
            gone.append({"bdf": f"GPU{index}", "error": _LOST.get(error.value, str(error)[:200])})
    while True:
        say({"gpus": [*(_one(nvml, bdf, handle) for bdf, handle in handles.items()), *gone]})
        time.sleep(interval)


def _one(nvml: Any, bdf: str, handle: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"bdf": bdf}

    def rates() -> tuple[int, int]:
        told = nvml.nvmlDeviceGetUtilizationRates(handle)
        return told.gpu, told.memory

    for names, call in (
            (("gpu", "memory"), rates),
            (("power_mw",), lambda: (nvml.nvmlDeviceGetPowerUsage(handle),)),
            (("limit_mw",), lambda: (nvml.nvmlDeviceGetPowerManagementLimit(handle),)),
            (("throttle",), lambda: (nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),)),
            (("temperature",), lambda: (nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),)),
            (("link_kib",), lambda: (_links(nvml, handle),))):
        try:
            found.update(zip(names, call(), strict=True))
        except nvml.NVMLError as error:
            if error.value in _LOST:
                return {"bdf": bdf, "error": _LOST[error.value]}
        except Exception:      # a function that this driver is too old for: the value is not told
            continue
    return found


def _links(nvml: Any, handle: Any) -> int | None:
    """Counters, so asking costs no 20 ms as nvmlDeviceGetPcieThroughput does."""
    links = nvml.nvmlDeviceGetFieldValues(handle, [(nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _ALL_LINKS),
                                                   (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, _ALL_LINKS)])
    if all(each.nvmlReturn == 0 for each in links):
        return sum(int(each.value.ullVal) for each in links)
    pcie = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
                                                  nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES])
    return sum(int(each.value.ullVal) for each in pcie) // 1024 if all(each.nvmlReturn == 0 for each in pcie) else None
