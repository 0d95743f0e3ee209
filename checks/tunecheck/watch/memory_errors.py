"""Errors of the GPUs' memory while an engine is served, by NVML's volatile counters: they begin at 0 where the driver
is loaded, or the GPU is reset. Pure."""

from __future__ import annotations

from collections import deque

from ..host.nvml_samples import GpuSample
from .model import Code, Look, Reason

__all__ = ["MemoryErrors"]

#: Corrected errors in so many seconds. The driver's own alarm for a high rate is Xid 92, whose limit is not published;
#: this one is chosen.
STORM, WITHIN = 100, 3600.0
#: No counter comes near it; a lost device reads as all ones.
_MOST = 1 << 48


class MemoryErrors:
    """What was counted before the watch began is the checks' matter (gpu-ecc), and no news here."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._corrected: dict[str, deque[tuple[float, int]]] = {}

    def judge(self, look: Look) -> list[Reason]:
        """Return what is wrong now: errors that could not be corrected, until the GPU is reset, and corrected ones
        while there were many within an hour."""
        return [reason for gpu in look.gpus or () for reason in (self._lost(gpu), self._storm(gpu, look.at)) if reason]

    def _lost(self, gpu: GpuSample) -> Reason | None:
        # A look without an answer says nothing: what was counted last holds.
        count = _count(gpu.uncorrected)
        if count is None:
            count = self._last.get(gpu.bdf, 0)
        elif count < self._last.get(gpu.bdf, 0):       # the GPU was reset, or the driver loaded anew
            self._first[gpu.bdf] = 0
        first = self._first.setdefault(gpu.bdf, count)
        self._last[gpu.bdf] = count
        return Reason(Code.ECC_UNCORRECTED, gpu.bdf, (("errors", float(count - first)),)) if count > first else None

    def _storm(self, gpu: GpuSample, at: float) -> Reason | None:
        count = _count(gpu.corrected)
        seen = self._corrected.setdefault(gpu.bdf, deque())
        if count is not None:
            if seen and count < seen[-1][1]:
                seen.clear()
            if not seen or count != seen[-1][1]:
                seen.append((at, count))
        # One that is older than the hour tells what there was when it began.
        while len(seen) > 1 and seen[1][0] <= at - WITHIN:
            seen.popleft()
        grown = seen[-1][1] - seen[0][1] if seen else 0
        return Reason(Code.ECC_STORM, gpu.bdf, (("errors", float(grown)),)) if grown >= STORM else None


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value < _MOST else None
