"""What the checks of an all-reduce trial share: its figures by ranks, who is to blame, and why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ...model.finding import Finding
from ...model.measurement import REFUSED, Measured, Measurement
from ..codes import NO_PAIR, NOT_MEASURED
from ..context import Case
from .pair_figures import chosen, measured

__all__ = ["Blame", "attributed", "crossover", "crossover_size", "of_size", "ranks_of", "single", "sized", "tail",
           "unmeasured"]


def unmeasured(case: Case, check: str) -> Finding | None:
    """Return the finding that says why nothing at all can be judged: there is nobody to sum with, the trial did not
    run, or it has not one figure. None where something can be judged."""
    trial = measured(case)
    if len(chosen(case)) < 2:
        return Finding(check, NO_PAIR, "ranks", "skip", "behaviour", "fewer than two accelerators: nothing to reduce")
    if case.measured is None or REFUSED in trial.failures:
        return Finding(check, NOT_MEASURED, "ranks", "skip", "behaviour", "the all-reduce trial did not run")
    if not ranks_of(trial):
        return Finding(check, NOT_MEASURED, "ranks", "unknown", "behaviour", "no all-reduce was measured")
    return None


def ranks_of(trial: Measured) -> list[int]:
    """Return every number of ranks that the trial began with, in rising order."""
    sizes = {each.ranks for each in trial.find("allreduce") if each.ranks}
    sizes |= {int(wrong["ranks"]) for wrong in trial.wrong if wrong.get("ranks")}
    sizes |= {hang.ranks for hang in trial.hangs if hang.trial == "allreduce" and hang.ranks}
    # The key of a failure: "allreduce 2 ranks staged".
    keys = [key.split() for key in trial.failures if key.startswith("allreduce ")]
    sizes |= {int(key[1]) for key in keys if key[1].isdecimal()}
    return sorted(sizes)


def single(trial: Measured, what: str, ranks: int, size: int) -> Measurement | None:
    """Return the figure of one number of ranks and one size in bytes; None where it was not measured, or is not above
    0."""
    same = (each for each in trial.find("allreduce", what) if (each.ranks, each.size) == (ranks, size))
    return next((each for each in same if each.value > 0), None)


class Blame(Enum):
    """Whether P2P is to blame for what went wrong in the arm "p2p", and the same in words. Only the arm without P2P can
    tell."""

    NOT_P2P = "with NCCL_P2P_DISABLE=1 too: not P2P, or not P2P alone"
    P2P = "with NCCL_P2P_DISABLE=1 all is well: P2P is to blame"
    OPEN = "not attributed: the arm with NCCL_P2P_DISABLE=1 did not run"
    STAGED_ONLY = "only with NCCL_P2P_DISABLE=1: not P2P"

    @property
    def spares_p2p(self) -> bool:
        return self in (Blame.NOT_P2P, Blame.STAGED_ONLY)


def attributed(trial: Measured, ranks: int | None) -> Blame:
    """Return what the arm without P2P shows about the groups of so many ranks."""
    staged = [each for each in trial.find("allreduce", "nccl staged") if each.ranks == ranks]
    hung = any(hang.arm == "staged" and hang.ranks == ranks for hang in trial.hangs)
    wrong = any(each.get("arm") == "staged" and each.get("ranks") == ranks for each in trial.wrong)
    if hung or wrong:
        return Blame.NOT_P2P
    return Blame.P2P if staged else Blame.OPEN


def sized(size: int) -> str:
    """Return a size in bytes as all-reduce tables name it, in powers of 1024: 8 B, 64 KB, 256 MB."""
    for unit, factor in (("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B"


def of_size(wrong: Mapping[str, Any]) -> str:
    """Return " of 8 KB" where the size of what was wrong is known, else ""."""
    return f" of {sized(wrong['size'])}" if wrong.get("size") else ""


def tail(each: Measurement) -> tuple[float, float]:
    """Return p50 and p99 in microseconds: of single all-reduces where they were stamped, else of the means over a
    graph."""
    return (each.more.get("p50_ns", each.median * 1000) / 1000, each.more.get("p99_ns", each.p99 * 1000) / 1000)


def crossover(trial: Measured, ranks: int) -> str:
    """Return a sentence about the size from which on NCCL is faster. Users set this size in their engine."""
    both = _beside(trial, ranks)
    if not both:
        return "NCCL was not measured beside it"
    above = crossover_size(trial, ranks)
    if above is None:
        return f"faster than NCCL up to {sized(both[-1][0])}, the largest measured"
    return f"NCCL is faster from {sized(above)} on: set that as the limit of your engine's own all-reduce"


def crossover_size(trial: Measured, ranks: int) -> int | None:
    """Return the smallest measured size in bytes from which on NCCL is faster; None where there is none, or NCCL was
    not measured."""
    both = _beside(trial, ranks)
    # The last change counts: a single outlier in the middle of the table is no crossover.
    last = max((size for size, own, nccl in both if own <= nccl), default=0)
    return next((size for size, own, nccl in both if nccl < own and size > last), None)


def _beside(trial: Measured, ranks: int) -> list[tuple[int, float, float]]:
    """Return (size, own time, NCCL's time) of every size for which both were measured."""
    sizes = sorted({each.size for each in trial.find("allreduce", "own") if each.ranks == ranks and each.size})
    return [(size, own.value, nccl.value) for size in sizes
            if (own := single(trial, "own", ranks, size)) and (nccl := single(trial, "nccl", ranks, size))]
