"""What the checks of a p2p trial share: its figures by pair, and the reasons why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from math import isfinite
from statistics import median

from ...facts.peer_paths import PairPath, paths
from ...model.finding import Finding
from ...model.measurement import REFUSED, Measured, Measurement
from ...util.text import some
from ..codes import (
    CONTROL_WRONG,
    MEASURED_IN_PART,
    NO_PAIR,
    NO_PEER_ACCESS,
    NOT_MEASURED,
    TRIAL_FAILED,
    TRIAL_HUNG,
)
from ..context import Case

__all__ = ["DIRECT", "ENGINE", "by_pair", "class_of", "figure", "label", "listed", "measured", "middle", "one_way",
           "several", "unmeasured"]

ENGINE = "engine write"
#: Classes where the way does not go through the CPU: there PCIe and NVLink explain every figure.
DIRECT = ("switch", "cascade", "nvlink")
_NAMED = 6


def measured(case: Case) -> Measured:
    """Return the outcome of the trial, an empty one where no trial ran. Figures that are no positive number are left
    out."""
    trial = case.measured or Measured()
    sane = tuple(each for each in trial.figures if isfinite(each.value) and each.value > 0)
    return trial if len(sane) == len(trial.figures) else replace(trial, figures=sane)


def chosen(case: Case) -> list[int]:
    """Return the numbers of the accelerators that were to be measured: those of --gpus, else all."""
    named: list[int] | None = measured(case).notes.get("chosen")
    return list(range(len(case.snapshot.topology.devices))) if named is None else named


def unmeasured(case: Case, check: str) -> Finding | None:
    """Return the finding that says why nothing can be judged: there is no pair, the trial hung or failed, the data was
    wrong without P2P already, or a pair is missing. None where all can be judged."""
    trial = measured(case)
    count = len(chosen(case))
    if count < 2:
        return Finding(check, NO_PAIR, "pairs", "skip", "behaviour", "fewer than two accelerators: no pair to measure")
    if case.measured is None or REFUSED in trial.failures:
        return Finding(check, NOT_MEASURED, "pairs", "skip", "behaviour", "the p2p trial did not run")
    refused = trial.notes.get("no_access") or ()
    if len(refused) == count * (count - 1):
        return Finding(check, NO_PEER_ACCESS, "pairs", "skip", "behaviour", "no peer access at all: see p2p-access")
    return next((Finding(check, code, "pairs", "unknown", "behaviour", reason)
                 for code, reason in _reasons(case, trial)), None)


def _reasons(case: Case, trial: Measured) -> Iterator[tuple[str, str]]:
    """Yield code and sentence of everything that keeps a pair from being judged."""
    if any(hang.trial == "p2p" for hang in trial.hangs):
        yield TRIAL_HUNG, "not measured to the end: the trial hung (trial-hang)"
    if "p2p" in trial.failures:
        yield TRIAL_FAILED, f"not measured: {trial.failures['p2p']}"
    if any(wrong["trial"] == "control" for wrong in trial.wrong):
        yield CONTROL_WRONG, ("the control arm fails: copies through the host arrive wrong too, so nothing can be said "
                              "about P2P (p2p-integrity)")
    if trial.notes.get("no_access"):
        yield NO_PEER_ACCESS, "not measured, as some pairs have no peer access: see p2p-access"
    seen = {(each.a, each.b) for each in trial.find("one way", ENGINE)}
    missing = [pair for pair in permutations(chosen(case), 2) if pair not in seen]
    if missing:
        yield MEASURED_IN_PART, f"not measured: {some([f'GPU{a}->GPU{b}' for a, b in missing], 4)}"


def by_pair(case: Case, trial: str, what: str) -> list[tuple[Measurement, PairPath | None]]:
    """Return the figures of a trial, each with the way through the tree that it took; None for a way that is not
    known."""
    ways = {frozenset((path.pair.a, path.pair.b)): path for path in paths(case.snapshot)}
    return [(each, ways.get(frozenset((each.a or 0, each.b or 0)))) for each in measured(case).find(trial, what)]


def one_way(case: Case) -> list[tuple[Measurement, PairPath | None]]:
    """Return every one-way figure of the copy engine, each with its pair's way through the tree."""
    return by_pair(case, "one way", ENGINE)


def figure(case: Case, trial: str, what: str, each: Measurement) -> float | None:
    """Return the figure of another trial for the same ordered pair; None where it is missing."""
    same = (other.value for other in measured(case).find(trial, what) if (other.a, other.b) == (each.a, each.b))
    return next(same, None)


def class_of(path: PairPath | None) -> str:
    """Return the latency class of a path, else its relation, else "unknown way"."""
    return (path.latency_class or path.pair.relation.value if path else None) or "unknown way"


def label(each: Measurement, both: bool = False) -> str:
    return f"GPU{each.a}{'-' if both else '->'}GPU{each.b}"


def several(figures: Sequence[Measurement], unit: str, digits: int = 1, most: bool = False, both: bool = False) -> str:
    """Return figures as text: "GPU0->GPU1 56.1 GB/s"; of many "12 directions of 53.9 to 56.1 GB/s (least GPU3->GPU5)",
    or with ``most`` the pair with the most."""
    ordered = sorted(figures, key=lambda each: each.value)
    least, top = (f"{each.value:.{digits}f}" for each in (ordered[0], ordered[-1]))
    worst = label(ordered[-1 if most else 0], both)
    if len(ordered) == 1:
        return f"{worst} {least} {unit}"
    count = f"{len(ordered)} {'pairs' if both else 'directions'} of"
    if least == top:
        return f"{count} {top} {unit}"
    return f"{count} {least} to {top} {unit} ({'most' if most else 'least'} {worst})"


def listed(figures: Sequence[Measurement], both: bool = False) -> str:
    """Return the figures as text, each with its pair, the smallest first: "GPU0->GPU1 27.0, GPU1->GPU0 28.1 and 4
    more"."""
    ordered = sorted(figures, key=lambda each: each.value)
    return some([f"{label(each, both)} {each.value:.1f}" for each in ordered], _NAMED)


def middle(figures: Sequence[Measurement]) -> float:
    return median(each.value for each in figures)
