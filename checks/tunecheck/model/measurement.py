"""The results of the trials, as plain data: judged by rules/measured/, reported as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ..util.at_first_use import dataclass

__all__ = ["REFUSED", "Aftermath", "Hang", "Measured", "Measurement", "measurement"]

#: The key among ``failures`` of trials that were not begun at all.
REFUSED = "refused"


@dataclass(frozen=True)
class Measurement:
    """One figure. ``what`` names it ("engine write", "pointer chase"), ``a`` and ``b`` are GPU numbers in address order
    (source and destination, or reader and owner), ``size`` bytes where it matters. ``spread`` is (max - min) / median;
    ``verified``: the data that was moved was checked."""

    trial: str
    what: str
    unit: str
    method: str
    value: float
    samples: int
    median: float
    p99: float
    spread: float
    verified: bool
    a: int | None = None
    b: int | None = None
    size: int | None = None
    ranks: int | None = None
    more: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Aftermath:
    """What became of the GPUs after a stall. ``verdict``: recovered, ghost latch, or wedged."""

    verdict: str
    text: str
    seconds: float


@dataclass(frozen=True)
class Hang:
    """A trial that stopped making progress. ``ran``: all its workers did run, so that it may be P2P they waited for;
    ``arm``: "p2p" as the box is, "staged" with NCCL_P2P_DISABLE=1; ``ranks``: how many GPUs took part; ``remarks``:
    what stood out in the evidence (error counters that moved, what gave no answer)."""

    trial: str
    phase: str
    after: float
    culprits: tuple[str, ...]
    victims: tuple[str, ...]
    aftermath: Aftermath
    arm: str = "p2p"
    bundle: str | None = None
    ranks: int | None = None
    ran: bool = True
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """Everything that the trials found. ``wrong``: findings of wrong data, each with trial, way, a, b, size, words,
    offset. ``failures``: what could not be measured, by trial, with the reason. ``notes``: plain facts (versions, sizes
    used)."""

    figures: tuple[Measurement, ...] = ()
    wrong: tuple[Mapping[str, Any], ...] = ()
    hangs: tuple[Hang, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unfinished(self) -> str:
        """Why the measurement was not begun, or did not get to its end for another reason than a hang. "" where it
        did."""
        if REFUSED in self.failures:
            return self.failures[REFUSED]
        named = "; ".join(f"{name}: {text}" for name, text in self.failures.items())
        return f"not to the end: {named}" if named else ""

    def find(self, trial: str, what: str | None = None) -> tuple[Measurement, ...]:
        return tuple(each for each in self.figures if each.trial == trial and what in (None, each.what))


def measurement(trial: str, what: str, unit: str, method: str, samples: Sequence[float], *, mean: bool = False,
                verified: bool = False, **where: Any) -> Measurement:
    """Make a figure from its samples. Its value is their median, or with ``mean`` their mean (where each sample is
    another SM)."""
    import statistics  # start-up time: rules load this file

    ordered = sorted(samples)
    middle = statistics.median(ordered)
    worst = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return Measurement(trial, what, unit, method, statistics.fmean(ordered) if mean else middle, len(ordered), middle,
                       worst, (ordered[-1] - ordered[0]) / middle if middle else 0.0, verified, **where)
