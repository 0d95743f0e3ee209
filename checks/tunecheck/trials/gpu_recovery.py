"""Are the GPUs usable after a stall? Only a fresh context that works is believed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..host import Host, Unreadable
from ..model.measurement import Aftermath
from .supervisor import Job, Outcome, Supervisor

__all__ = ["examine"]

_PROBE_SECONDS = 20.0
_PROBE_LIMITS = {"start": 10.0, "driver": 10.0, "memory": 5.0, "verify": 5.0}
#: Utilisation lags by about half a second behind a process that is gone.
_LAG_SECONDS = 1.2
_BUSY_PERCENT = 99


def examine(host: Host, ordinals: Sequence[int], abandoned: Mapping[int, str],
            environment: Mapping[str, str | None] | None = None) -> Aftermath:
    """Return in what state the GPUs are after a stall. ``abandoned`` are workers that SIGKILL did not end: with one of
    them no probe is started."""
    began = time.monotonic()
    if abandoned:
        where = ", ".join(f"pid {pid} ({text})" for pid, text in abandoned.items())
        return Aftermath("wedged", f"{where} cannot be killed: reboot needed", time.monotonic() - began)
    latched: list[str] = []
    # A fresh context may clear a latch, so NVML is read before the probe makes one; the probe only loads its code then.
    probe = Supervisor(_PROBE_LIMITS).run(
        [Job("tunecheck.trials.workers.probe:run", {"ordinals": list(ordinals)}, environment or {})], _PROBE_SECONDS,
        lambda: latched.extend(_still_busy(host)))
    usable = {result["gpu"] for result in probe.results[0] if result.get("usable") is True}
    seconds = time.monotonic() - began
    if not probe.complete or len(usable) < len(ordinals):
        return Aftermath("wedged", f"a fresh context does not work ({_why(probe)}): GPU reset or reboot needed",
                         seconds)
    if latched:
        after = _still_busy(host)
        names = ", ".join(latched)
        if after:
            return Aftermath("wedged", f"{', '.join(after)} stays at 100 % without a process although a fresh context "
                             "works: GPU reset or reboot needed", time.monotonic() - began)
        return Aftermath("ghost latch", f"{names} stood at 100 % without a process until a fresh context cleared it: "
                         "usable", time.monotonic() - began)
    return Aftermath("recovered", "every GPU works in a fresh context", seconds)


def _why(probe: Outcome) -> str:
    if probe.stall is not None:
        return f"it hung in {probe.stall.phase}"
    if probe.out_of_time:
        return f"its check was not finished within {probe.seconds:.0f} s"
    errors = [result["error"] for result in probe.results[0] if "error" in result]
    wrong = [result["gpu"] for result in probe.results[0] if result.get("usable") is False]
    return errors[0] if errors else f"wrong data on {', '.join(wrong)}" if wrong else f"exit code {probe.codes[0]}"


def _still_busy(host: Host) -> list[str]:
    """Return the GPUs that show full load without a process for longer than the counter lags. Empty where NVML does not
    tell."""
    until = time.monotonic() + _LAG_SECONDS
    while True:
        try:
            document: dict[str, Any] = host.nvml(5.0)
        except Unreadable:
            return []
        busy = [gpu["bdf"] for gpu in document.get("gpus", []) if not gpu["values"].get("processes")
                and gpu["values"].get("utilization_gpu", 0) >= _BUSY_PERCENT]
        if not busy or time.monotonic() > until:
            return busy
        time.sleep(0.05)
