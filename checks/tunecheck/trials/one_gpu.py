"""The trial of each GPU alone, seen from the parent: what to run, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..host import Host, Unreadable
from ..model.measurement import Measured, Measurement, measurement
from ..parsers.kernel import cpulist
from .evidence import Evidence
from .p2p import Flows, failures_of, hang_of, worker_environment
from .supervisor import Job, Supervisor

__all__ = ["alone"]

_TRIAL = "alone"
_SECONDS_FIXED, _SECONDS_PER_GPU = 30.0, 20.0
_GPUS = "/proc/driver/nvidia/gpus"


def alone(host: Host, ordinals: Sequence[int], collapse: Flows = (), *, supervisor: Supervisor | None = None,
          quick: bool = False) -> Measured:
    """Measure each of ``ordinals`` by itself: its memory, and copies from and to the host. ``quick``: at most 0.3 s for
    each, with fewer samples, smaller buffers, and not all of its memory. ``collapse`` is of pairs, and not used."""
    job = Job("tunecheck.trials.workers.alone:run", {"ordinals": list(ordinals), "quick": quick, "cpus": _near(host)},
              worker_environment())
    watched = supervisor or Supervisor(evidence=Evidence(host))
    outcome = watched.run([job], _SECONDS_FIXED + _SECONDS_PER_GPU * len(ordinals))
    results = outcome.results[0]
    hangs = (hang_of(_TRIAL, outcome, host, ordinals),) if outcome.stall else ()
    failures = failures_of(_TRIAL, outcome)
    refused = [f"GPU{ordinals[result['a']]}: {result['text']}" for result in results if result.get("kind") == "failure"]
    if refused:
        failures = {_TRIAL: "; ".join([*refused, *failures.values()])}
    return Measured(tuple(_figures(results)), tuple(_wrong(results)), hangs, failures,
                    {f"{_TRIAL} seconds": round(outcome.seconds, 3), f"{_TRIAL} quick": quick})


def _near(host: Host) -> dict[str, list[int]]:
    """Return the processors of each GPU's NUMA node, by the GPU's address; what cannot be told is left out."""
    found = {}
    try:
        for bdf in host.list(_GPUS):
            text = host.read_bytes(f"/sys/bus/pci/devices/{bdf}/local_cpulist").decode("ascii", "replace")
            found[bdf] = list(cpulist.parse(text))
    except (AttributeError, Unreadable, ValueError):
        pass
    return found


def _figures(results: Iterable[Mapping[str, Any]]) -> Iterable[Measurement]:
    # Its memory counts as verified where both looks at it were fine.
    bad = {result["a"] for result in results if result.get("kind") == "own memory" and result["wrong"]}
    for result in results:
        kind, samples = result.get("kind"), result.get("samples")
        if not samples:
            continue
        count, size = len(samples), result["size"] >> 20
        if kind == "host copy":
            yield measurement("host copy", result["way"], "GB/s", f"{size} MiB copies of pinned memory by the copy "
                              f"engine, 1 warm-up, {count} samples of 4, events", samples,
                              verified=result["wrong"] is None, a=result["a"], size=result["size"])
        elif kind == "own memory":
            yield measurement("own memory", "copy", "GB/s", f"{size} MiB copies within the GPU by the copy engine, "
                              f"each byte counted once, 1 warm-up, {count} samples of 16, events", samples,
                              verified=result["a"] not in bad, a=result["a"], size=_checked(results, result["a"]))


def _checked(results: Iterable[Mapping[str, Any]], number: int) -> int:
    """Return how many bytes of the GPU's memory were written and read back."""
    return max(int(result["size"]) for result in results
               if result.get("kind") == "own memory" and result["a"] == number)


def _wrong(results: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    for result in results:
        if result.get("kind") in ("host copy", "own memory") and result["wrong"]:
            yield {"trial": result["kind"], "way": result["way"], "a": result["a"], "size": result["size"],
                   **result["wrong"]}
