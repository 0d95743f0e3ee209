"""What the checks of a p2p trial share: its figures by pair, and the reasons why there are none."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ..facts.paths import PairPath, paths
from ..trials.measured import Measured, Measurement
from .finding import Case, Finding

__all__ = ["ENGINE", "figure", "label", "measured", "one_way", "path_of", "unmeasured"]

ENGINE = "engine write"


def measured(case: Case) -> Measured:
    """The trial's outcome; an empty one where no trial ran."""
    return case.measured or Measured()


def unmeasured(case: Case, check: str) -> Finding | None:
    """Why nothing can be judged: nothing to measure, it hung, it failed, or the data was wrong without P2P already."""
    found = measured(case)
    if len(case.snapshot.topology.devices) < 2:
        return Finding(check, "pairs", "skip", "behaviour", "fewer than two accelerators: no pair to measure")
    if found.hangs:
        return Finding(check, "pairs", "unknown", "behaviour", "not measured to the end: the trial hung (trial-hang)")
    if "p2p" in found.failures:
        return Finding(check, "pairs", "unknown", "behaviour", f"not measured: {found.failures['p2p']}")
    if any(wrong["trial"] == "control" for wrong in found.wrong):
        return Finding(check, "pairs", "unknown", "behaviour", "the control arm fails: copies through the host arrive "
                       "wrong too, so nothing can be said about P2P (p2p-integrity)")
    if found.notes.get("no_access"):
        return Finding(check, "pairs", "unknown", "behaviour", "no peer access: see p2p-access")
    return None


def figure(case: Case, trial: str, what: str, a: int, b: int) -> Measurement | None:
    return next((each for each in measured(case).find(trial, what) if (each.a, each.b) == (a, b)), None)


def one_way(case: Case) -> Iterator[tuple[Measurement, PairPath | None]]:
    """Every one-way figure of the copy engine with what the tree predicts for its pair."""
    for each in measured(case).find("one way", ENGINE):
        yield each, path_of(case, each)


def path_of(case: Case, each: Measurement) -> PairPath | None:
    wanted = {each.a, each.b}
    return next((path for path in paths(case.snapshot) if {path.pair.a, path.pair.b} == wanted), None)


def label(each: Measurement) -> str:
    return f"GPU{each.a}->GPU{each.b}"


def middle(figures: list[Measurement]) -> float:
    return median(each.value for each in figures)
