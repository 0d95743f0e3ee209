"""The p2p trial, seen from the parent: what to run on which GPUs, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..host import Host
from ..model.measurement import Hang, Measured, Measurement, measurement
from .evidence import Evidence
from .gpu_recovery import examine
from .supervisor import Job, Outcome, Supervisor

__all__ = ["Flows", "failures_of", "hang_of", "p2p", "too_slow", "worker_environment"]

#: Sets of transfers (from, to) that run at once.
Flows = Sequence[Sequence[tuple[int, int]]]

_SECONDS_FIXED, _SECONDS_PER_PAIR = 90.0, 10.0
_ENGINE = "512 MiB copies by the copy engine, 1 warm-up, {n} samples of {copies}, events"
_KERNEL = "512 MiB by 16-byte loads and stores of all SMs, 1 warm-up, {n} samples of {copies}, events"
_METHODS = {
    "one way": {"engine": _ENGINE, "kernel": _KERNEL},
    "both ways": {"engine": "sum of both directions, each timed under load of the other; " + _ENGINE,
                  "kernel": "sum of both directions, each timed under load of the other; " + _KERNEL},
}


def worker_environment() -> dict[str, str | None]:
    """Return the environment of a worker: CUDA's numbers in bus order, and all GPUs. A variable that hides some of them
    is meant for the service, not for a trial."""
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": None}


def p2p(host: Host, ordinals: Sequence[int], collapse: Flows = (), *, supervisor: Supervisor | None = None,
        quick: bool = False) -> Measured:
    """Measure every ordered pair of ``ordinals``. ``collapse`` are sets of flows for the posted-write probe; ``quick``
    as in copies.py."""
    count = len(ordinals)
    job = Job("tunecheck.trials.workers.copies:run", {"ordinals": list(ordinals), "quick": quick,
                                              "collapse": [list(map(list, flows)) for flows in collapse]},
              worker_environment())
    watched = supervisor or Supervisor(evidence=Evidence(host))
    outcome = watched.run([job], _SECONDS_FIXED + _SECONDS_PER_PAIR * count * count)
    results = outcome.results[0]
    hangs = (hang_of("p2p", outcome, host, ordinals),) if outcome.stall else ()
    failures = failures_of("p2p", outcome)
    refused: list[list[int]] = next((result["no_access"] for result in results if "no_access" in result), [])
    size = next((result["size"] for result in results if "size" in result and "gpus" in result), None)
    return Measured(tuple(_figures(results)), tuple(_wrong(results)), hangs, failures,
                    {"size": size, "no_access": refused, "seconds": round(outcome.seconds, 3),
                     **_at_once(results), **({"quick": True} if quick else {})})


def _at_once(results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return which sets of pairs were tried at once; ``least``: of what a direction has alone, both ways loaded;
    ``apart``: they share a link, and were measured one by one."""
    tried = [{key: result[key] for key in ("pairs", "least", "apart")} for result in results
             if result.get("kind") == "at once"]
    return {"at once": tried} if tried else {}


def _figures(results: Iterable[Mapping[str, Any]]) -> Iterable[Measurement]:
    checked = {(result["a"], result["b"]) for result in results if result.get("kind") == "integrity"
               and result["way"] == "all"}
    for result in results:
        kind, samples = result.get("kind"), result.get("samples")
        if not samples:
            continue
        where: dict[str, Any] = {"a": result.get("a"), "b": result.get("b")}
        beside = f"; {result['at_once']} pairs without a common link at once" if result.get("at_once", 1) > 1 else ""
        verified = (where["a"], where["b"]) in checked
        if kind == "control":
            yield measurement("control", "engine write", "GB/s", "64 MiB copies without peer access, through the host",
                              samples, verified=result["wrong"] is None, **where)
        elif kind in _METHODS:
            method = _METHODS[kind][result["way"].partition(" ")[0]].format(n=len(samples), copies=result["copies"])
            yield measurement(kind, result["way"], "GB/s", method + beside, samples, verified=verified, **where)
        elif kind == "latency" and result["way"] == "pointer chase":
            yield measurement("latency", "pointer chase", "ns", "3000 dependent loads, 2 MiB, stride 128 B, 1 warm-up, "
                              f"mean over {len(samples)} SMs{beside}", samples, mean=True, **where)
        elif kind == "latency":
            yield measurement("latency", "ping-pong", "ns", "1000 round trips of a flag, 5 addresses", samples,
                              **where)
        elif kind == "flows":
            yield measurement("flows", result["way"], "GB/s", f"{len(result['flows'])} flows at once, 128 MiB writes "
                              "by SMs, sum", samples, more={"flows": len(result["flows"])})


def _wrong(results: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    for result in results:
        if result.get("kind") == "control" and result["wrong"]:
            yield {"trial": "control", "way": "through the host", "a": result["a"], "b": result["b"], **result["wrong"]}
        elif result.get("kind") == "integrity" and result.get("wrong"):
            yield {"trial": "integrity", "way": result["way"], "a": result["a"], "b": result["b"],
                   "size": result["size"], **result["wrong"]}
        elif result.get("gave_up"):
            yield {"trial": "ping-pong", "way": "a flag never arrived", "a": result["a"], "b": result["b"]}


def failures_of(trial: str, outcome: Outcome) -> dict[str, str]:
    """Return why a trial of one worker did not get to its end, where it did not hang; {} where it did get there."""
    error = next((result for result in outcome.results[0] if "error" in result), None)
    if error is not None:
        return {trial: str(error["error"])}
    if outcome.out_of_time:
        return {trial: too_slow(outcome)}
    if outcome.stall is None and outcome.codes != (0,):
        return {trial: f"the worker ended with {outcome.codes[0]}: {outcome.errors[0][-300:] or 'no message'}"}
    return {}


def too_slow(outcome: Outcome) -> str:
    """Return why a trial was ended: nobody hung, so nobody is to blame."""
    if outcome.paused:
        return (f"no worker got on for {outcome.paused:.1f} s, and then every worker did: this machine is too slow or "
                "too busy; end what else runs on it, and run it again")
    return (f"not finished within {outcome.seconds:.0f} s although every worker got on: this machine is too slow or "
            "too busy; end what else runs on it, and run it again")


def hang_of(trial: str, outcome: Outcome, host: Host, ordinals: Sequence[int], arm: str = "p2p") -> Hang:
    """Return who was to blame for a stall, and what became of the GPUs (they are examined now)."""
    assert outcome.stall is not None
    stall = outcome.stall
    alone = len(stall.suspects) == 1

    def named(role: str) -> tuple[str, ...]:
        return tuple(f"pid {each.pid}: {each.why}" if alone else
                     f"worker {each.worker} (GPU{ordinals[each.worker]}, pid {each.pid}): {each.why}"
                     for each in stall.suspects if each.role == role)

    return Hang(trial, stall.phase, stall.after, named("culprit"), named("victim"),
                examine(host, ordinals, outcome.abandoned, worker_environment()), arm, ranks=len(ordinals),
                ran=all(each.runs for each in stall.suspects if each.role == "culprit"),
                remarks=tuple(map(str, stall.evidence.get("remarks", ()))))
