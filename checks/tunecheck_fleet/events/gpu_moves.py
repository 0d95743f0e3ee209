"""How many GPUs a host has fewer or more than before, or others in their place, as the facts that count or name them
tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from tunecheck.model.absence import Absence
from tunecheck.rules.codes import DEVICES_INCOMPLETE, GPU_LIST_INCOMPLETE, GPU_NOT_LISTED, NO_GPU_LISTED
from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Cause
from ..model import Problem

__all__ = ["BOARDS", "COUNTED", "GpuMoves", "answers_again", "fewer", "fewer_alone", "gpu_counts", "gpu_moves", "grew",
           "missing_places", "other_number_alone", "replaced", "says_how_many", "untold_of_lost"]

#: Facts that name each board, and what such a name is; a serial number is on the board itself, so it comes first.
BOARDS = {"gpu.serials": "serial", "gpu.uuids": "UUID"}
#: Facts that count every GPU once, and the check that judges two of them and tells the one that changed; the best
#: first.
COUNTED = ("gpu.count", "accelerator-count", "pcie.accelerators", "gpu.name", *BOARDS)
#: Whether the boards answer, counted.
_ANSWERS = "pcie.answers"
#: What a check says of a GPU that is missing, by its address.
_MISSING = {("accelerator-count", code) for code in ("left-since-boot", "not-in-driver", "does-not-answer")}

#: Codes of what cannot be told because a board is not where it was.
_NOT_LISTED = frozenset((GPU_NOT_LISTED, GPU_LIST_INCOMPLETE, NO_GPU_LISTED, DEVICES_INCOMPLETE))


@dataclass(frozen=True)
class GpuMoves:
    """``fewer`` (negative: more) and ``replaced``: numbers of GPUs. ``before`` and ``now``: how many there were and
    are; None where no fact says so. ``gone`` and ``came``: host -> names of boards; ``word``: what these are.
    ``places``: bus addresses of GPUs that are missing, where a check tells them."""

    fewer: int = 0
    replaced: int = 0
    before: int | None = None
    now: int | None = None
    gone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    came: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    word: str = ""
    places: tuple[str, ...] = ()


def gpu_moves(causes: Collection[Cause]) -> GpuMoves:
    """What causes that happened together say of GPUs."""
    told = {cause.fact: cause for cause in causes if cause.fact in COUNTED}
    counts = next((pair for fact in COUNTED if fact in told and (pair := gpu_counts(told[fact]))[0] != pair[1]),
                  (None, None))
    named = next((fact for fact in BOARDS if fact in told and any(_named(told[fact]))), "")
    gone: dict[str, tuple[str, ...]] = {}
    came: dict[str, tuple[str, ...]] = {}
    # Boards of several hosts are several causes: no two hosts have the same ones.
    for cause in causes if named else ():
        if cause.fact == named:
            left, new = _named(cause)
            gone.update((host, left) for host in cause.hosts if left)
            came.update((host, new) for host in cause.hosts if new)
    others = max((replaced(cause) for cause in told.values()), default=0)
    # Of several hosts with other addresses a cause names none.
    missing = [cause for cause in causes if (cause.fact, cause.code) in _MISSING and "*" not in cause.subject]
    places = dict.fromkeys(place for cause in missing for place in _places(cause.subject))
    before, now = counts
    lost = before - now if before is not None and now is not None else 0
    return GpuMoves(lost, others, before, now, gone, came, BOARDS.get(named, ""), tuple(places))


def missing_places(problems: Collection[Problem]) -> frozenset[str]:
    """Bus addresses of GPUs that a host misses, where its checks tell them."""
    return frozenset(place for each in problems if (each.check, each.code) in _MISSING
                     for place in _places(each.subject))


def _places(subject: str) -> list[str]:
    return [place for place in subject.split(", ") if ":" in place]


def says_how_many(cause: Cause) -> bool:
    """Whether a check fails because GPUs are missing, and names none of them."""
    return (cause.fact, cause.outcome) == ("accelerator-count", "fail") and (cause.fact, cause.code) not in _MISSING


def untold_of_lost(cause: Cause) -> bool:
    """Whether a check, whichever it is, cannot tell this because a board does not answer, or is not listed."""
    return cause.outcome == "unknown" and (cause.absence == Absence.LOST.value or cause.code in _NOT_LISTED)


def fewer(cause: Cause) -> int:
    """How many GPUs fewer a fact of COUNTED tells; negative: more."""
    before, now = gpu_counts(cause) if cause.fact in COUNTED else (0, 0)
    return (before or 0) - (now or 0)


def fewer_alone(cause: Cause, numbers: tuple[int, int] | None = None) -> int:
    """How many members fewer the value counts than the one before, and nothing else ({x:8} -> {x:7}); negative: more;
    0: it is another change, or its members are no numbers of anything. Of what is over, as it was. ``numbers``: only
    of what counted so many before, and counts so many now."""
    before, value = cause.before, cause.value
    if numbers is not None and tuple(sum((_members(each) or {}).values()) for each in (before, value)) != numbers:
        return 0
    return _fewer_by(before, value) or (-_fewer_by(value, before) if before is not None else 0)


def other_number_alone(before: Any, value: Any) -> bool:
    """Whether a value that counts how many boards are in which state has some fewer, or more, and none in another
    state: {disabled:8} -> {disabled:7}."""
    if not isinstance(before, dict) or not isinstance(value, dict):
        return False
    return bool(_fewer_by(before, value) or _fewer_by(value, before))


def grew(before: Any, value: Any) -> bool:
    """Whether a fact of COUNTED counts, or names, more than before."""
    first, last = _members(before, lists=True), _members(value, lists=True)
    return bool(first) and last is not None and sum(last.values()) > sum((first or {}).values())


def answers_again(cause: Cause) -> bool:
    """Whether it tells that no fewer boards answer than before: that is no lost GPU."""
    before, value = cause.before, cause.value
    return cause.fact == _ANSWERS and isinstance(before, dict) and isinstance(value, dict) and \
        value.get("false", 0) <= before.get("false", 0) and value.get("true", 0) >= before.get("true", 0)


def replaced(cause: Cause) -> int:
    """How many boards went for which another one came; 0: none, or their names are not known."""
    gone, came = _named(cause)
    return min(len(gone), len(came))


def gpu_counts(cause: Cause) -> tuple[int | None, int | None]:
    """How many GPUs a fact of COUNTED counts, or names, before and since; None where it does not say so."""
    first, last = cause.before, cause.value
    before, value = (_members(each, lists=cause.fact in BOARDS) for each in (first, last))
    if not before or value is None or first is None:
        return None, None       # where none was known, none came
    return sum(before.values()), sum(value.values())


def _named(cause: Cause) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The boards that went, and those that came."""
    before, value = cause.before, cause.value
    if cause.fact not in BOARDS or not isinstance(before, list) or not isinstance(value, list):
        return (), ()
    return tuple(str(each) for each in before if each not in value), tuple(
        str(each) for each in value if each not in before)


def _fewer_by(many: Any, few: Any) -> int:
    before, value = _members(many), _members(few)
    if before is None or value is None or any(before.get(name, 0) < count for name, count in value.items()):
        return 0
    return sum(before.values()) - sum(value.values())


def _members(value: Any, lists: bool = False) -> Mapping[str, int] | None:
    if value is None:
        return {}
    if type(value) is int:
        return {"": value} if value >= 0 else None
    if isinstance(value, dict) and all(type(count) is int and count > 0 for count in value.values()):
        return value
    return Counter(map(str, value)) if lists and isinstance(value, list) else None
