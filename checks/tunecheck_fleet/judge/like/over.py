"""Hosts that differed from most of their like at the previous audit, and do not any more though their value is what it
was: the others came to it, the host was moved, or no value leads in the group any more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from tunecheck.util.text import some

from ...fleet_report import Note
from ...scope import without_limit
from ..moves import Net
from ..options import SPLIT
from ..rows import Row
from ..view import Differing, View, canon
from ..view_rows import Host
from ..votes import Key, Vote
from .began import said

__all__ = ["Over", "over"]

#: Facts that are named, and values.
_NAMED = 3


class Over(NamedTuple):
    """``rows`` tell what is resolved, ``notes`` what ended without a verdict. ``ended``: (host, fact) of both, and of
    what is told as a change; ``settled``: of the rows."""

    rows: list[Row]
    settled: set[tuple[str, str]]
    ended: set[tuple[str, str]]
    notes: list[Note]


def over(view: View, moves: Net, vote_of: Mapping[Key, Vote], still: Collection[tuple[str, str]],
         not_of: Collection[tuple[str, str]], not_facts: Collection[str], mended: Collection[tuple[str, str]]) -> Over:
    """``still``: what is open; ``mended``: what is told as mended already."""
    found = Over([], set(), set(), [])
    hosts = {host.host: host for host in view.hosts}
    # A part of a group proves nothing of the whole.
    whole = without_limit(view.audit.scope) == view.audit.scope
    differs = {(outlier.host, outlier.fact): outlier for outlier in view.outliers}
    changed = {(move.host, move.fact) for move in view.unapproved}
    undecided: dict[tuple[str, str], list[tuple[Differing, Vote | None]]] = {}
    for key, state in sorted(view.differing.items()):
        host = hosts.get(state.host)
        if host is None or not host.told or key in still or state.host in view.before or state.fact in not_facts \
                or not view.was_open(state):
            continue
        move = moves.moves.get(state.host, {}).get(state.fact) or moves.back.get(key)
        outlier = differs.get(key)
        if key in mended or key in not_of or (move is not None and move.since.seen > state.told) or (
                outlier is not None and outlier.since is not None and outlier.since.seen > state.told):
            found.ended.add(key)
            continue
        vote = vote_of.get((host.group, host.cohort, state.fact))
        if not whole:
            continue
        if not view.followed:
            # It may have ended in an audit of which nobody put it down.
            if vote is None or vote.share <= SPLIT or outlier is None:
                found.ended.add(key)
        elif vote is not None and vote.share > SPLIT and outlier is None and vote.total > 1:
            found.ended.add(key)
            # A change that nobody approved stays open as that; what was approved was no finding any more.
            if key not in changed and view.approval(state.host, state.fact, vote.value, state.since) is None:
                found.rows.append(_resolved(view, host, state, vote))
                found.settled.add(key)
        elif vote is None or vote.share <= SPLIT or vote.total < 2:
            found.ended.add(key)
            if key not in changed and view.decision("approve", state.host, state.fact, state.since) is None:
                undecided.setdefault((state.host, host.group), []).append((state, vote))
    found.notes.extend(_note(*where, those) for where, those in sorted(undecided.items()))
    return found


def _resolved(view: View, host: Host, state: Differing, vote: Vote) -> Row:
    meta = view.of(state.fact)
    moved = any(move.host == state.host for move in view.regrouped)
    return Row("majority", meta.severity, state.fact, host.group, state.host,
               expected=f"as {vote.count} of {vote.total} in {host.group}", fix=meta.fix, value=vote.value,
               before=vote.value, whose="others", since=state.since, state="resolved", ended=view.now_since,
               same=canon(vote.value),
               text=f"moved to {host.group}, where most have the same" if moved else
               "the others came to it, this did not change")


def _note(name: str, group: str, those: list[tuple[Differing, Vote | None]]) -> Note:
    vote = those[0][1]
    facts = [each.fact for each, _ in those]
    shares = "" if vote is None else ": " + " / ".join(
        f"{said(those[0][0].fact, value)} on {count}" for value, count in vote.shares[:_NAMED]) + (
        f" / {len(vote.shares) - _NAMED} more values" if len(vote.shares) > _NAMED else "")
    why = f"no value has more than half of {group} any more{shares}" if vote is not None and vote.total > 1 else \
        f"{group} has no other host of its kind that tells it"
    return Note(f"{name} differed from most of its group in {some(facts, _NAMED, ', ')}: that ended without a verdict, "
                f"as {why}", *facts, hosts=(name,))

