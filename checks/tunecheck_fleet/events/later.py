"""What a lost GPU takes with it in a later audit. A GPU that does not answer is still listed, with its link and its
bridges; after the reboot that is recommended it is in no list any more, and every list is one GPU shorter. That is no
other thing that happened."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from ..fleet_report import Cause
from .folds import OF_LOST
from .gpu_moves import COUNTED, fewer, fewer_alone, gpu_counts, replaced, says_how_many, untold_of_lost

__all__ = ["of_lost"]


def of_lost(lost: Collection[Cause], later: Sequence[Cause]) -> list[bool]:
    """Of each cause of a later audit, whether it only says again that the GPUs are gone that the causes ``lost`` of an
    earlier one tell. Nothing does unless one of them counts the GPUs as these do, nor where they tell of other GPUs:
    what has members fewer may then be of those."""
    told = {gpu_counts(cause) for cause in lost if cause.fact in COUNTED and fewer(cause) > 0}
    none = [False] * len(later)
    if len(told) != 1:
        return none
    ((before, now),) = told
    if before is None or now is None or any(
            replaced(each) or (fewer(each) and gpu_counts(each) != (before, now)) for each in later):
        return none
    same = [fewer_alone(each, (before, now)) > 0 for each in later]
    return [_is_of_lost(each, so) for each, so in zip(later, same, strict=True)] if any(same) else none


def _is_of_lost(cause: Cause, counts_gpus: bool) -> bool:
    if untold_of_lost(cause):
        return True
    # What cannot be told now may follow from it; it says of no other thing that it happened.
    says_no_more = counts_gpus or fewer_alone(cause) > 0 or cause.outcome == "unknown" or says_how_many(cause)
    return says_no_more and any(fnmatchcase(cause.fact, pattern) for pattern in OF_LOST)
