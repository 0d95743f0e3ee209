"""Findings about a load: did every request get its answer, within what was wanted, and did the GPUs keep their clocks.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model.acceptance_codes import OK
from ..model.finding import Finding
from .figures import finding
from .measured import Measured

__all__ = ["load"]

#: Of the requests, within the limits that were given.
_GOOD = 0.99
#: Of the looks at a GPU, above which a reason for a lower clock is no accident.
_OFTEN = 0.1
_FAULTS = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


def load(seen: Measured) -> Iterator[Finding]:
    for each in seen.load:
        subject = f"{each['level']:g} {'streams' if each['mode'] == 'closed' else 'requests/s'}"
        figure = f"{subject} for {each['seconds']:g} s: {each['tok_s']:.1f} tok/s"
        good = each["goodput"]
        if each["failed"] or not each["requests"]:
            why = "; ".join(each["errors"])
            yield finding(
                "load", "requests-failed", subject, "fail",
                f"{figure}; {each['failed']} of {each['requests']} requests failed: {why}", str(each["failed"]),
                "every request answered", "look at the engine's log, and at its limits of "
                "waiting and running requests")
        elif each["behind"]:
            yield finding("load", "server-behind", subject, "fail",
                          f"{figure}; the server does not keep up: requests piled up", "behind",
                          "answers as fast as requests come", "ask for a lower rate, or serve on more GPUs")
        elif good and good["share"] < _GOOD:
            wanted = ", ".join(f"{name} {limit:g} s" for name, limit in good["slo"].items())
            yield finding("load", "outside-limits", subject, "fail",
                          f"{figure}; {good['share']:.1%} of the requests were within {wanted}", f"{good['share']:.3f}",
                          f"at least {_GOOD:.0%}", "ask for less load, or look at clocks and power")
        else:
            code, outcome = (OK, "pass") if good else ("no-limits", "skip")
            yield finding("load", code, subject, outcome, figure + ("" if good else "; no limits are given (--slo)"))
        yield from _clocks(each, subject)


def _clocks(step: Mapping[str, Any], subject: str) -> Iterator[Finding]:
    # Earlier documents have no count of looks that failed.
    missed, looks = step.get("missed", 0), max((gpu["looks"] for gpu in step["devices"] or ()), default=0)
    partial = [gpu["bdf"] for gpu in step["devices"] or () if gpu["looks"] < looks]
    if missed or partial:
        code, gap = ("nvml-silent", f"NVML did not answer {missed} of {missed + looks} looks") if missed else (
            "gpu-missing", f"GPU {', '.join(partial)} was not always there")
        yield finding(
            "load", code, f"{subject} NVML", "warn", f"{gap}, so nobody knows the clocks and what slowed them "
            "down in that time", gap, "an answer every two seconds",
            "look at the driver: tunecheck check, and dmesg for an Xid")
    for gpu in step["devices"] or ():
        slow = {name: share for name, share in gpu["throttled"].items() if name in _FAULTS and share > _OFTEN}
        if slow:
            shown = ", ".join(f"{name} in {share:.0%} of {gpu['looks']} looks" for name, share in slow.items())
            yield finding("load", "gpu-slowed-down", f"{subject} {gpu['bdf']}", "warn",
                          f"GPU {gpu['bdf']} was slowed down: {shown}", shown, "no slowdown by heat or power supply",
                          "look at cooling and power; run: tunecheck explain gpu-throttle")
