"""By what a host began to differ from most of its like, and how that is said."""

from __future__ import annotations

from typing import Any

from ...fleet_report import Began, Since
from ...value_words import measured, value_text
from ..votes import Vote

__all__ = ["OWN", "began_text", "fewer_text", "said"]

#: By its own doing: its value changed, or it was so when the host was first heard.
OWN: tuple[Began, ...] = ("changed", "first")
#: Characters of a value in a sentence.
_VALUE = 60


def began_text(began: Began, since: Since | None, group: str, fact: str, vote: Vote) -> str:
    """Where its own value did not change: what did, and when."""
    if since is None:
        return ""
    if began == "regrouped":
        return f"moved to {group} in #{since.seen}, where {_most(fact, vote)}"
    if began == "others":
        return f"the others moved since #{since.after}, this did not"
    if began == "share":
        return f"its own value did not change: #{since.seen} is the first audit in which so many others have one value"
    return ""


def fewer_text(fact: str, vote: Vote) -> str:
    """Of what stays open though fewer than a majority have one other value."""
    return f"it differed from a majority when it was found; now {_most(fact, vote)}"


def said(fact: str, value: Any) -> str:
    """A value of this fact in a sentence."""
    return "none" if value is None else value_text(measured(fact, value))[:_VALUE]


def _most(fact: str, vote: Vote) -> str:
    return f"{vote.count} of {vote.total} have {said(fact, vote.value)}"
