"""Time between arrivals: bounded, and true to what came."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tunecheck.serving.gaps import FIRST, LAST, Gaps, edge, gaps_of, merged


def test_quantiles_and_bins_of_one_answer() -> None:
    times = [each / 1000 for each in range(0, 990, 10)] + [1.98, 2.98]     # 98 gaps of 10 ms, then 1000 ms twice
    found = gaps_of(times)
    assert len(found.quantiles) == 21 and found.quantiles[10] == pytest.approx(10) and found.p99 == pytest.approx(1000)
    assert sum(found.bins.values()) == len(times) - 1
    for number, count in found.bins.items():
        assert count == sum(edge(number) <= 1000 * (later - earlier) < edge(number + 1)
                            for earlier, later in pairwise(times))


@pytest.mark.parametrize("times", [[], [1.0]])
def test_one_arrival_has_no_gap(times: list[float]) -> None:
    assert gaps_of(times) == Gaps((), None, {}) and merged([gaps_of(times)]) is None


def test_it_is_bounded_whatever_came() -> None:
    times, now = [], 0.0
    for number in range(20000):
        now += 10.0 ** (number % 13 - 8)      # from 10 ns to 10000 s
        times.append(now)
    found = gaps_of([*times, now])
    assert len(found.quantiles) == 21 and len(found.bins) <= LAST - FIRST + 1
    assert min(found.bins) == FIRST and max(found.bins) == LAST


def test_the_worst_run_decides_the_tail() -> None:
    runs = [Gaps((1.0,) * 20 + (9.0,), 5.0, {}), Gaps((2.0,) * 21, 2.0, {}), Gaps((3.0,) * 20 + (7.0,), 3.0, {})]
    assert merged(runs) == {"p50": 2.0, "p99": 5.0, "most": 9.0}
