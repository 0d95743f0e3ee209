"""Incidents in words: how one ended, and what several have in common."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ...parsers.text.incidents import Incident

__all__ = ["alike", "clock", "how", "many"]

#: What a stranger's snapshot may tell is no time behind the year 9999.
_LATEST = 253402300799.0
_STEPS = {
    "serving": "it serves again",
    "moved-again": "it moved again by itself",
    "reported": "it was reported, and nothing was stopped",
    "drained": "it was drained",
    "stays-down": "it stays down",
    "interrupted": "the recovery was interrupted",
}


def how(incident: Incident) -> str:
    """Return how it ended, or the step that it is at, with the code of why: "it stays down (too-many)"."""
    step = _STEPS.get(incident.step, f"the step {incident.step!r}")
    if not incident.done and not incident.this_boot:
        step = f"a boot ended it at {step}"
    return f"{step} ({incident.why})" if incident.why else step


def clock(word: str, at: float | None) -> str:
    """Return the time behind its word, "" where there is none."""
    if at is None or not 0 <= at < _LATEST:
        return ""
    return f"{word}{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%MZ}"


def many(found: Sequence[Incident], more: bool) -> str:
    """Return how often. ``more``: there are earlier ones that are not known."""
    times = "once" if len(found) == 1 else f"{len(found)} times"
    return f"at least {times}" if more else times


def alike(found: Sequence[Incident]) -> str:
    """Return who held the others up and which Xid came with it, where that is the same in all of them: ", always rank
    1, always after Xid 79". "" where nothing is."""
    always = "always " if len(found) > 1 else ""
    parts = []
    if (rank := found[0].rank) is not None and all(each.rank == rank for each in found):
        parts.append(f"rank {rank}")
    if (gpu := found[0].gpu) and all(each.gpu == gpu for each in found):
        parts.append(f"GPU {gpu}")
    parts += [f"after Xid {xid}" for xid in found[0].xids if all(xid in each.xids for each in found)]
    if not found[0].xids and all("xid" in each.codes for each in found):
        parts.append("after an Xid")
    return "".join(f", {always}{part}" for part in parts)
