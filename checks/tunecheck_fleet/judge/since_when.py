"""Since when what a check finds is so, beside what changed on the host: whether it stands, is news, or came with a
change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ..events.gpu_moves import COUNTED, grew
from ..model import Problem, Thing
from .authority import looked_at
from .rows import widest
from .view import View
from .view_rows import Host, Move

__all__ = ["came_with", "is_standing", "open_before", "read_since", "state", "things_as_before"]


def is_standing(view: View, host: Host, problem: Problem, things: list[Thing]) -> bool:
    """A warning that stands, also where it cannot be told now whether it is still so: nothing happened by that."""
    return problem.outcome in ("warn", "unknown") and view.standing.get(host.host, frozenset()).issuperset(things)


def came_with(view: View, host: Host, check: str, judges: list[str], things: list[Thing],
              steps: Mapping[str, Move]) -> bool:
    """Whether it was first told while a fact that the check looks at became another one than before, in one step or
    several. Nobody could tell before whether it was so; but the change is open, and a warning of what it does is no
    less."""
    while_moving = [(after, move.since.seen) for fact in (*judges, *looked_at(check, steps))
                    if (move := steps.get(fact)) is not None and not move.ours
                    and (after := move.left_after) is not None] if steps else []
    return bool(while_moving) and any(
        (since := view.since(host.host, thing)) is not None and since.after is None
        and any(after < since.seen <= seen for after, seen in while_moving) for thing in things)


def state(view: View, host: Host, things: list[Thing]) -> Literal["new", "known"]:
    """New where it is so of any of its subjects."""
    return "known" if all(view.had(host.host, view.since(host.host, thing)) for thing in things) else "new"


def open_before(view: View, host: Host, things: list[Thing], move: Move) -> bool:
    """Whether it was found of each of its subjects before the change came: then it is no news that it is. Of several
    changes that are told as one, before the first of them."""
    return all((since := view.since(host.host, thing)) is not None and since.seen < (move.first or move.since.seen)
               for thing in things)


def read_since(view: View, host: Host, things: list[Thing], move: Move) -> bool:
    """Whether the value came while something cannot be told, or with that: one of before is no part of it."""
    since = widest(view.since(host.host, thing) for thing in things)
    return since is None or since.seen <= move.since.seen


def things_as_before(view: View, host: Host, problem: Problem, moved: Mapping[str, Move]) -> list[Thing]:
    """What the view has it under; of what is not known of a GPU that came, that of what was not known of the others in
    the same way: it is no news that one more cannot be told."""
    things = problem.things
    if problem.outcome != "unknown" or state(view, host, things) == "known" or not any(
            fact in moved and grew(moved[fact].before, moved[fact].value) for fact in COUNTED):
        return things
    return next((other.things for other in host.problems if (other.check, other.code, other.outcome) == (
        problem.check, problem.code, "unknown") and state(view, host, other.things) == "known"), things)
