"""Time between two arrivals of text, of thousands kept as quantiles and a histogram: bounded, however long an answer.
Pure. One arrival may bring several tokens (speculation, coalescing), so a gap is that between tokens only where each
comes alone; what an arrival brings stands beside it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["FIRST", "LAST", "PER_DECADE", "Gaps", "edge", "gaps_of", "merged"]

_QUANTILES = 20
#: Bins in a factor of ten: one is 12 % wide, less than an engine's own jitter.
PER_DECADE = 20
#: From 1 us, and what is shorter, to 100 s, and what is longer: two reads of one buffer and a dead engine.
FIRST, LAST = -3 * PER_DECADE, 5 * PER_DECADE - 1


@dataclass(frozen=True)
class Gaps:
    """The gaps between arrivals. ``quantiles``: 21 of them, 0 to 100 %, and ``p99``, in ms; ``bins``: number of a bin,
    see edge(), to how many gaps it has."""

    quantiles: tuple[float, ...]
    p99: float | None
    bins: Mapping[int, int]


def gaps_of(times: Sequence[float]) -> Gaps:
    """Return the gaps between the arrivals of one answer. ``times`` in seconds."""
    gaps = sorted(1000 * (later - earlier) for earlier, later in pairwise(times))
    if not gaps:
        return Gaps((), None, {})

    def at(share: float) -> float:
        return round(gaps[round(share * (len(gaps) - 1))], 4)

    bins = Counter(_bin(gap) for gap in gaps)
    return Gaps(tuple(at(step / _QUANTILES) for step in range(_QUANTILES + 1)), at(0.99), dict(sorted(bins.items())))


def _bin(gap: float) -> int:
    return min(LAST, max(FIRST, math.floor(PER_DECADE * math.log10(gap)))) if gap > 0 else FIRST


def edge(number: int) -> float:
    """Return where a bin begins, in ms; it ends where the next begins."""
    return float(10.0 ** (number / PER_DECADE))


def merged(several: Sequence[Gaps]) -> dict[str, float] | None:
    """Return the gaps of several runs in ms: p50, the median of the runs'; p99 and most, the worst run's. None where
    there is nothing."""
    told = [each for each in several if each.quantiles and each.p99 is not None]
    if not told:
        return None
    half = _QUANTILES // 2
    return {"p50": statistics.median(each.quantiles[half] for each in told),
            "p99": max(each.p99 for each in told if each.p99 is not None),
            "most": max(each.quantiles[-1] for each in told)}
