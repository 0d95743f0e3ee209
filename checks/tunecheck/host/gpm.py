"""Measures how many of a GPU's SMs are occupied, by NVML's GPM (Hopper and later). Utilisation does not tell it.

Utilisation is 100 % where one kernel runs, on one SM or on all. GPM compares two samples; asked only where a stall is
near, in a child that may hang in the driver. It needs no CUDA context."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ..model.absence import Absence
from .base import Unreadable
from .question import Question

__all__ = ["SmQuestion"]

#: In seconds: what lies between the two samples, and for everything.
_APART, _DEADLINE = 0.5, 6.0
#: NVML_GPM_METRIC_SM_UTIL (nvml.h): the share of SMs that have work, in %.
_SM_UTIL = 2


class SmQuestion(Question):
    """One question for the occupied SMs of all GPUs, under way in a child."""

    def __init__(self) -> None:
        super().__init__(_work, _DEADLINE)

    def answer(self) -> dict[str, float]:
        """Return the share of occupied SMs in %, by address of the GPU. A GPU that does not tell it is left out.
        Unreadable where no GPU tells it."""
        try:
            shares = json.loads(self.received())
            valid = {str(bdf): float(share) for bdf, share in shares.items() if 0 <= share <= 100}
        except (ValueError, TypeError, AttributeError, RecursionError):
            valid = {}
        if not valid:
            raise Unreadable("NVML GPM", Absence.NOT_SUPPORTED.because("no GPU tells how many of its SMs are occupied"))
        return valid


def _work(pipe: int, _: float) -> None:
    import pynvml as nvml  # type: ignore[import-untyped]

    nvml.nvmlInit()
    first = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            place = nvml.nvmlDeviceGetPciInfo(handle)
            first[f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0"] = handle, _sample(nvml, handle)
        except nvml.NVMLError:
            continue
    time.sleep(_APART)
    valid = {}
    for bdf, (handle, before) in first.items():
        try:
            asked = nvml.c_nvmlGpmMetricsGet_t()
            asked.version, asked.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, 1
            asked.sample1, asked.sample2 = before, _sample(nvml, handle)
            asked.metrics[0].metricId = _SM_UTIL
            nvml.nvmlGpmMetricsGet(asked)
            if asked.metrics[0].nvmlReturn == 0:
                valid[bdf] = round(asked.metrics[0].value, 2)
        except nvml.NVMLError:
            continue
    os.write(pipe, json.dumps(valid).encode())


def _sample(nvml: Any, handle: Any) -> Any:
    """Take one sample. It is never freed: the child ends."""
    return nvml.nvmlGpmSampleGet(handle, nvml.nvmlGpmSampleAlloc())
