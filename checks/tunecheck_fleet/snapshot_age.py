"""When a snapshot that was carried here was made, by its own word: whether it still says anything of today's box."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot_file import MAX_BYTES
from tunecheck.parsers.text.bounds import json_of
from tunecheck.util.at_first_use import dataclass

from .model import Answer

if TYPE_CHECKING:
    from .store import Store

__all__ = ["Age", "Misfit", "misfit", "without_older"]

_DAY = 86400.0
_AS = "2026-11-21T18:00:00Z"
#: How every snapshot of tunecheck begins (facts/snapshot_file.py): its time is known without the 270 KB behind it.
_HEAD = re.compile(rb'\{\s*"schema":\s*"[^"\\]*",\s*"tunecheck":\s*"[^"\\]*",\s*"created":\s*"([0-9TZ:-]{20})"\s*,')


class Age(StrEnum):
    """Why a snapshot's time does not fit."""

    #: It does not say when it was made.
    UNSTATED = "unstated"
    #: What it says is no time.
    NO_TIME = "no-time"
    OLD = "old"
    #: Of a clock that is ahead of this machine's.
    AHEAD = "ahead"


@dataclass(frozen=True)
class Misfit:
    """``code`` says it to programs, ``text`` to people."""

    code: Age
    text: str


def misfit(content: bytes, max_age: float) -> Misfit | None:
    """Why the snapshot's time does not fit; None where it does, or where it is no snapshot."""
    at = _begins(content)
    said, at = ("", at) if at is not None else _made(content)
    if at is None:
        if said is None or said == "":
            return Misfit(Age.UNSTATED, f"age unknown: it does not say when it was made (created, as {_AS})")
        return Misfit(Age.NO_TIME, f"age unknown: created is {repr(said)[:60]}, expected a time as {_AS}")
    age = time.time() - at
    if age > max_age:
        return Misfit(Age.OLD, f"snapshot of {_day(at)}: {_long(age)} old")
    if age < -_DAY:
        return Misfit(Age.AHEAD, f"snapshot of {_day(at)}: {_long(-age)} ahead of this machine's clock")
    return None


def without_older(store: Store, key_of: Callable[[Answer], str | None]) -> Callable[[Answer], Answer]:
    """A filter of answers: one that is older than what the history has of its host says nothing new. Were it taken,
    what has changed since would be told as resolved, and an old state as drift. ``key_of``: which machine tells; of
    another one that has the name now, the time is compared with nothing."""
    known = set(store.known_hosts())

    def newest(answer: Answer) -> Answer:
        if answer.host not in known or not answer.content:
            return answer
        try:
            before = store.newest_document(answer.host)
            at, held = _begins(answer.content) or _made(answer.content)[1], _begins(before) or _made(before)[1]
        except UsageError:      # it never answered
            return answer
        # A time to come is of a wrong clock: it would keep out every right one until then.
        if at is None or held is None or not at < held <= time.time() or _made(answer.content)[1] != at:
            return answer
        if key_of(answer) != key_of(replace(answer, content=before)):
            return answer
        return Answer(answer.host, answer.group, "unreachable", reason=(
            f"its file is of {_second(at)}, older than the snapshot of {_second(held)} that the history has of it; "
            "left out"))

    return newest


def _begins(content: bytes) -> float | None:
    """What its first lines say of its time; None where they are not as ours."""
    head = _HEAD.match(content)
    try:
        return float(calendar.timegm(time.strptime(head[1].decode(), "%Y-%m-%dT%H:%M:%SZ"))) if head else None
    except (ValueError, OverflowError):
        return None


def _made(content: bytes) -> tuple[Any, float | None]:
    """What it says of its time, and that in seconds since 1970; None where it is no time."""
    said: Any = None
    try:
        said = json_of(content, MAX_BYTES).get("created")
        return said, float(calendar.timegm(time.strptime(said, "%Y-%m-%dT%H:%M:%SZ")))
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        return said, None


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _second(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))


def _long(seconds: float) -> str:
    for size, unit in ((365.25 * _DAY, "year"), (_DAY, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.0f} s"
