"""Four of five alike are a majority, or luck: where a fact has two usual values elsewhere, few hosts prove little."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..view import canon

if TYPE_CHECKING:
    from ..votes import Vote

__all__ = ["not_significant", "usual"]

#: How probable a majority may be as mere luck. With parts of two vendors, 60 to 40, four of five hosts are alike in
#: every third group; 80 of 100 are in one of a hundred thousand.
_SIGNIFICANCE = 1e-4
#: A value is usual where so many of a group have it.
_USUAL = 0.2


def usual(votes: Mapping[tuple[str, str, str], Vote], share: float) -> dict[str, dict[str, float]]:
    """Fact -> value -> its largest share in a group that does not agree."""
    shares_of: dict[str, dict[str, float]] = {}
    for (_, _, fact), vote in votes.items():
        if vote.share < share:
            for value, count in vote.shares:
                text, part = canon(value), count / vote.total
                if part >= _USUAL:
                    shares = shares_of.setdefault(fact, {})
                    shares[text] = max(part, shares.get(text, 0.0))
    return shares_of


def not_significant(vote: Vote, value: Any, usual_values: Mapping[str, float]) -> bool:
    """Whether both values are usual elsewhere, and so many of the group have the one by luck alone."""
    probability = usual_values.get(canon(vote.value), 0.0)
    if not probability or canon(value) not in usual_values:
        return False
    return _at_least(vote.count, vote.total, min(probability, 1 - 1e-9)) > _SIGNIFICANCE


def _at_least(count: int, total: int, probability: float) -> float:
    """P(at least ``count`` of ``total``), each with ``probability``."""
    return math.fsum(_terms(count, total, math.log(probability), math.log1p(-probability)))


def _terms(count: int, total: int, yes: float, no: float) -> Iterable[float]:
    whole = math.lgamma(total + 1)
    for hits in range(count, total + 1):
        yield math.exp(whole - math.lgamma(hits + 1) - math.lgamma(total - hits + 1) + hits * yes + (total - hits) * no)
