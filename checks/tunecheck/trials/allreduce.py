"""The all-reduce trial, seen from the parent: one process per GPU, every subset size, two arms, and the soak."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import TrialError
from ..host import Host
from ..model.measurement import Hang, Measured, Measurement, measurement
from .evidence import Evidence
from .p2p import Flows, hang_of, too_slow, worker_environment
from .supervisor import Job, Outcome, Supervisor

__all__ = ["ARMS", "allreduce", "subsets", "together"]

#: Arm -> environment. The second is the reference of a machine whose P2P is broken: it must work wherever NCCL does, so
#: a hang or wrong sum in the first arm alone is P2P's.
ARMS: Mapping[str, Mapping[str, str]] = {"p2p": {}, "staged": {"NCCL_P2P_DISABLE": "1"}}
_STAGED_SIZES = (8192, 65536, 262144)
#: The ladder of the quick trial: what a decode step, a crossover and a prefill ask for.
_QUICK_SIZES, _QUICK_LARGE = (8192, 65536, 262144, 1 << 20), (16 << 20, 64 << 20)
_SECONDS = 120.0
_GRAPH = "200 all-reduces in one CUDA graph, 10 replays, one process per GPU; "
_OWN = _GRAPH + "own one-shot kernel over peer memory, f16 sum"
_NCCL = _GRAPH + "NCCL {version}, f16 sum; stamped_*: single ones, each with a kernel that takes the time"
_BUS = "5 eager all-reduces, 5 samples after one; bytes / time x 2 (n - 1) / n as in nccl-tests; NCCL {version}"


def subsets(count: int) -> list[list[int]]:
    """Return the groups of GPUs that a tensor parallel engine can use: 2, 4 and 8 of the GPUs, and all. Two ranks may
    hang where four pass."""
    sizes = sorted({size for size in (2, 4, 8) if size <= count} | {count}) if count > 1 else []
    return [list(range(size)) for size in sizes]


def allreduce(host: Host, ordinals: Sequence[int], _: Flows = (), *, soak_seconds: float = 60.0,
              nccl_path: str | None = None, supervisor: Supervisor | None = None, shortened: bool = False,
              quick: bool = False, copied: bool = False) -> Measured:
    """Measure every subset of ``ordinals``, the largest with large messages and the soak. Ends at the first hang: what
    follows would run on GPUs whose state is not known. ``shortened``: a few sizes only, for tests. ``quick``: all ranks
    in one ladder of sizes and the soak, with P2P only. ``copied``: p2p has just proven the copies between the GPUs."""
    refused = None if copied else _peer_copies(host, ordinals, supervisor)
    if refused is not None:
        return refused
    if quick:
        return _quick(host, ordinals, soak_seconds, nccl_path, supervisor, shortened)
    found: list[Measured] = []
    groups = subsets(len(ordinals))
    for group in groups:
        last = group is groups[-1]
        for arm in ARMS:
            chosen = [ordinals[number] for number in group]
            parameters: dict[str, Any] = {"ordinals": chosen, "nccl_path": nccl_path,
                                          "soak_seconds": soak_seconds if last and arm == "p2p" else 0}
            if arm == "staged" or shortened:
                parameters["sizes"] = _STAGED_SIZES[:1] if shortened else _STAGED_SIZES
            if not (last and arm == "p2p") or shortened:
                parameters["large"] = [1 << 20] if last and arm == "p2p" else []
            parameters["own"] = arm == "p2p"
            found.append(_once(host, chosen, arm, parameters, supervisor))
            hang = found[-1].hangs[0] if found[-1].hangs else None
            # Whether it hangs without P2P as well says whose fault it is. Not of a process that was stopped or killed.
            if hang and arm == "p2p" and hang.ran and hang.aftermath.verdict != "wedged":
                continue
            if found[-1].hangs or found[-1].failures or any(part.hangs for part in found):
                return together(found)
    return together(found)


def _quick(host: Host, ordinals: Sequence[int], soak_seconds: float, nccl_path: str | None,
           supervisor: Supervisor | None, shortened: bool) -> Measured:
    parameters: dict[str, Any] = {"ordinals": list(ordinals), "nccl_path": nccl_path, "own": True,
                                  "soak_seconds": soak_seconds,
                                  "sizes": _QUICK_SIZES[:1] if shortened else _QUICK_SIZES,
                                  "large": [1 << 20] if shortened else list(_QUICK_LARGE)}
    found = _once(host, ordinals, "p2p", parameters, supervisor)
    return replace(found, notes={**found.notes, "quick": True})


def _peer_copies(host: Host, ordinals: Sequence[int], supervisor: Supervisor | None) -> Measured | None:
    """Make a verified copy between each two neighbours, before anything that waits for another GPU. Return None where
    all is well, else the hang or the failure."""
    watched = supervisor or Supervisor(evidence=Evidence(host))
    probe = Job("tunecheck.trials.workers.probe:run", {"ordinals": list(ordinals)}, worker_environment())
    outcome = watched.run([probe], 60.0)
    if outcome.stall is not None:
        return Measured(hangs=(hang_of("peer copy", outcome, host, ordinals),))
    wrong = [str(result["gpu"]) for result in outcome.results[0] if result.get("usable") is False]
    if wrong:
        return Measured(failures={"allreduce": f"copies from {', '.join(wrong)} do not arrive: see tunecheck p2p"})
    return None if outcome.complete else Measured(failures=_failures(outcome, "p2p", len(ordinals)))


def _once(host: Host, ordinals: Sequence[int], arm: str, parameters: Mapping[str, Any],
          supervisor: Supervisor | None) -> Measured:
    ranks = len(ordinals)
    try:
        meeting = tempfile.TemporaryDirectory(prefix="tunecheck-")
    except OSError as error:
        return Measured(failures={f"allreduce {ranks} ranks {arm}": f"no folder for the ranks to meet in "
                                  f"({error.strerror}); free some disk space, or name a folder in TMPDIR"})
    with meeting as folder:
        job = Job("tunecheck.trials.workers.reduce:run", {**parameters, "folder": folder},
                  {**worker_environment(), **ARMS[arm]})
        watched = supervisor or Supervisor(evidence=Evidence(host))
        outcome = watched.run([job] * len(ordinals), _SECONDS + float(parameters["soak_seconds"]))
    hangs: tuple[Hang, ...] = (hang_of("allreduce", outcome, host, ordinals, arm),) if outcome.stall else ()
    failures = {} if outcome.stall else _failures(outcome, arm, ranks)
    first = outcome.results[0]
    return Measured(tuple(_figures(outcome, arm, ranks)), tuple(_wrong(outcome, arm, ranks)), hangs, failures,
                    {f"nccl {key}": result[key] for result in first if result.get("kind") == "nccl"
                     for key in ("version", "path", "missing") if key in result})


def _failures(outcome: Outcome, arm: str, ranks: int) -> dict[str, str]:
    """Return the reason of one rank: of a rank that said why it failed, before one that waited in vain for it, before
    one that was ended because of that."""
    if outcome.out_of_time:
        return {f"allreduce {ranks} ranks {arm}": too_slow(outcome)}
    said = [(worker, result) for worker, results in enumerate(outcome.results) for result in results
            if "error" in result]
    said.sort(key=lambda each: each[1].get("kind") == TrialError.__name__)
    reasons = [f"rank {worker}: {result['error']}" for worker, result in said]
    reasons += [f"rank {worker}: ended with {code}" for worker, code in enumerate(outcome.codes)
                if code not in (0, None)]
    return {f"allreduce {ranks} ranks {arm}": reasons[0]} if reasons else {}


def _figures(outcome: Outcome, arm: str, ranks: int) -> Iterable[Measurement]:
    version = next((str(result["version"]) for result in outcome.results[0] if "version" in result), "?")
    for result in outcome.results[0]:
        kind = result.get("kind")
        where: dict[str, Any] = {"size": result.get("size"), "ranks": ranks}
        if kind in ("own", "nccl") and result.get("microseconds"):
            more = {key: float(value) for key, value in result.items() if key.endswith("_ns")}
            method = _OWN if kind == "own" else _NCCL.format(version=version)
            yield measurement("allreduce", kind if arm == "p2p" else f"{kind} {arm}", "us", method,
                              result["microseconds"], verified=not result["wrong"], more=more, **where)
        elif kind == "bus":
            yield measurement("allreduce", "bus", "GB/s", _BUS.format(version=version), result["samples"], **where)
        elif kind == "soak":
            yield measurement("soak", "steps", "steps", f"mixed bursts for {result['seconds']:g} s, eager and graph",
                              [float(result["steps"])], verified=not result["wrong"], ranks=ranks,
                              more={"seconds": float(result["seconds"])})


def _wrong(outcome: Outcome, arm: str, ranks: int) -> Iterable[Mapping[str, Any]]:
    for worker, results in enumerate(outcome.results):
        for result in results:
            if result.get("gave_up"):
                yield {"trial": "allreduce", "way": f"own kernel: nothing came from rank {result['waited_for']}",
                       "a": result["waited_for"], "b": worker, "size": result["size"], "ranks": ranks, "arm": arm}
            elif result.get("wrong") and result.get("kind") in ("own", "nccl", "soak"):
                yield {"trial": "allreduce", "way": f"{result['kind']} sum", "b": worker, "size": result.get("size"),
                       "ranks": ranks, "arm": arm}


def together(parts: Sequence[Measured]) -> Measured:
    failures: dict[str, str] = {}
    notes: dict[str, Any] = {}
    for part in parts:
        failures.update(part.failures)
        notes.update(part.notes)
    return Measured(tuple(each for part in parts for each in part.figures),
                    tuple(each for part in parts for each in part.wrong),
                    tuple(each for part in parts for each in part.hangs), failures, notes)
