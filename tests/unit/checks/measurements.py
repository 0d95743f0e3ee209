"""What a trial found, from the few words of a case file: everything healthy that the case does not change.

Healthy: boards behind one Gen5 switch without ACS redirect, as published for RTX PRO 6000 (56.5 GB/s one way, 107 both
ways, 715 ns), and all-reduce figures of the size that 2 x H200 gave for the own kernel and NCCL.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

from tunecheck.model.measurement import Aftermath, Hang, Measured, Measurement

__all__ = ["figures", "measured"]

#: First words of a figure's name -> trial, what, unit, how many of the numbers that follow are what.
_NAMES = {
    "one way": ("one way", "engine write", "GB/s"), "kernel write": ("one way", "kernel write", "GB/s"),
    "both ways": ("both ways", "engine write", "GB/s"), "control": ("control", "engine write", "GB/s"),
    "latency": ("latency", "pointer chase", "ns"), "ping-pong": ("latency", "ping-pong", "ns"),
    "host to device": ("host copy", "host to device", "GB/s"),
    "device to host": ("host copy", "device to host", "GB/s"), "own memory": ("own memory", "copy", "GB/s"),
    "own": ("allreduce", "own", "us"), "nccl": ("allreduce", "nccl", "us"),
    "nccl staged": ("allreduce", "nccl staged", "us"), "bus": ("allreduce", "bus", "GB/s"),
    "soak": ("soak", "steps", "steps"),
}
_OWN = {8: 3.2, 8192: 3.5, 65536: 4.6, 262144: 8.9, 1 << 20: 26.0}
_NCCL = {8: 5.8, 8192: 6.5, 65536: 7.0, 262144: 8.4, 1 << 20: 13.7}
_STAGED = {8192: 10.3, 65536: 15.0, 262144: 34.2}


def figures(gpus: int) -> dict[str, Any]:
    """Every figure of healthy trials on ``gpus`` boards, in the words of a case file."""
    pairs = list(permutations(range(gpus), 2))
    once = [(a, b) for a, b in pairs if a < b]
    groups = sorted({size for size in (2, 4, 8) if size <= gpus} | {gpus}) if gpus > 1 else []
    return {
        **{f"control {a}-{b}": 22.0 for a, b in pairs},
        **{f"{name} {a}-{b}": 56.5 for name in ("one way", "kernel write") for a, b in pairs},
        **{f"latency {a}-{b}": 715 for a, b in pairs},
        **{f"both ways {a}-{b}": 107.0 for a, b in once}, **{f"ping-pong {a}-{b}": 1290 for a, b in once},
        **({"flows ring": 56.0 * gpus, "flows all pairs": 56.0 * gpus} if gpus > 2 else {}),
        **{f"own {ranks} {size}": [value, round(value * 1.28, 2)] for ranks in groups for size, value in _OWN.items()},
        **{f"nccl {ranks} {size}": [value, round(value * 1.1, 2)] for ranks in groups for size, value in _NCCL.items()},
        **{f"nccl staged {ranks} {size}": value for ranks in groups for size, value in _STAGED.items()},
        **({f"bus {gpus} {64 << 20}": 39.0, f"bus {gpus} {256 << 20}": 40.0, f"soak {gpus}": 60000} if groups else {}),
    }


def measured(data: dict[str, Any], gpus: int) -> Measured:
    """``data`` is the case's ``measured:``. A figure is a number, [median, p99], or null: it was not measured."""
    given = data.get("figures", {})
    healthy = {} if data.get("only") else figures(gpus)
    assert set(data) <= {"figures", "only", "wrong", "hangs", "failures", "notes", "unverified", "unchecked"}
    unknown = [name for name in given if given[name] is None and name not in healthy]
    assert not unknown, f"there is no such figure to take away: {unknown}"
    dark = set(data.get("unverified", ()))
    found = [_figure(name, value, gpus) for name, value in {**healthy, **given}.items() if value is not None]
    found = [replace(each, verified=False) if (each.trial in ("host copy", "own memory") and each.a in dark)
             or (each.trial == "one way" and each.a in data.get("unchecked", ())) else each for each in found]
    return Measured(tuple(found), tuple(data.get("wrong", ())), tuple(_hang(each) for each in data.get("hangs", ())),
                    data.get("failures", {}),
                    {"size": 512 << 20, "nccl version": 22809, "nccl path": "libnccl.so.2", **data.get("notes", {})})


def _figure(name: str, value: Any, gpus: int) -> Measurement:
    middle, worst = value if isinstance(value, list) else (value, value)
    if name.startswith("flows "):
        return Measurement("flows", name[6:], "GB/s", "several at once", middle, 3, middle, worst, 0.01, False,
                           more={"flows": gpus})
    words = next(words for words in sorted(_NAMES, key=len, reverse=True) if name.startswith(words + " "))
    trial, what, unit = _NAMES[words]
    rest = name[len(words) + 1:]
    where: dict[str, Any] = {}
    if trial in ("host copy", "own memory"):
        where["a"], where["size"] = int(rest), 256 << 20
    elif "-" in rest:
        where["a"], where["b"] = map(int, rest.split("-"))
    else:
        where["ranks"], *size = map(int, rest.split())
        where |= {"size": size[0]} if size else {}
    more = {"p50_ns": middle * 1000, "p90_ns": middle * 1100, "p99_ns": worst * 1000, "max_ns": worst * 1050} \
        if what == "own" else {"seconds": 60.0} if trial == "soak" else {}
    return Measurement(trial, what, unit, f"as {words} is measured", middle, 5, middle, worst, 0.01, True, more=more,
                       **where)


def _hang(data: dict[str, Any]) -> Hang:
    verdict = data.get("aftermath", "recovered")
    return Hang(data.get("trial", "p2p"), data.get("phase", "measure"), data.get("after", 1.5),
                tuple(data.get("culprits", ())), tuple(data.get("victims", ())),
                Aftermath(verdict, data.get("text", f"it is {verdict}"), 0.7), data.get("arm", "p2p"),
                data.get("bundle"), data.get("ranks"), data.get("ran", True))
