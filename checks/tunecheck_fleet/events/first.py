"""Whose fix has to come first: a check says of which others nothing is mended while it fails (Check.before)."""

from __future__ import annotations

from collections.abc import Iterable

from tunecheck.rules.index import BY_ID

from ..fleet_report import Cause

__all__ = ["before", "comes_before", "first_of"]


def before(cause: Cause) -> tuple[str, ...]:
    """The checks of which nothing is mended while this is so."""
    known = BY_ID.get(cause.fact) if cause.authority == "desired" and cause.outcome in ("fail", "warn") else None
    return known.before if known is not None else ()


def comes_before(cause: Cause, other: Cause) -> bool:
    """Whether the fix of ``other`` is refused on one of its hosts while ``cause`` is so."""
    return other.authority == "desired" and other.fact in before(cause) and not set(cause.hosts).isdisjoint(other.hosts)


def first_of(cause: Cause, causes: Iterable[Cause]) -> Cause:
    """What has to be mended first, of all that is open: the cause itself, where nothing stands in its way. A failure
    before a warning."""
    ahead = [each for each in causes if each.state != "resolved" and comes_before(each, cause)]
    return min(ahead, key=lambda each: each.outcome != "fail", default=cause)
