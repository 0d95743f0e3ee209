"""Against the box's own earlier self: what changed, between which audits, and whether we changed it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from ..verdict import Since
from .majority import Vote
from .moves import Net
from .rows import Row
from .view import View, canon

__all__ = ["previous"]


def previous(view: View, moves: Net, found: Mapping[tuple[str, str, str], Vote],
             rolled: Mapping[tuple[str, str, str], tuple[int, int]], not_of: Collection[tuple[str, str]],
             not_facts: Collection[str], not_hosts: Collection[str]) -> list[Row]:
    """``not_of``: (host, fact) that a higher authority has judged; ``not_facts``: facts that never rest; ``not_hosts``:
    another machine than before, of which no value is a change."""
    rows = []
    hosts = {host.host: host for host in view.hosts}
    for host, facts in sorted(moves.moves.items()):
        if host in not_hosts:
            continue
        for fact, move in sorted(facts.items()):
            if (host, fact) in not_of or fact in not_facts:
                continue
            meta = view.of(fact)
            where = hosts.get(host)
            vote = found.get((move.group, where.cohort if where else "", fact))
            roll = rolled.get((move.group, fact, canon(move.value)))
            rows.append(Row(
                "previous", meta.severity, fact, move.group, host, expected="changed", fix=meta.fix, value=move.value,
                before=move.before, since=move.since, state=_state(view, move.since),
                text=_text(vote, roll, move.value), same=canon(move.value), intended=move.ours,
                rollout=roll is not None))
    return rows


def _state(view: View, since: Since) -> Literal["new", "known"]:
    return "new" if since.seen >= view.audit.id else "known"


def _text(vote: Vote | None, roll: tuple[int, int] | None, value: object) -> str:
    if roll is None:
        return ""
    audit, count = roll
    if vote is not None and vote.moved and canon(vote.value) == canon(value):
        return f"fleet moved: now on {vote.count} of {vote.total}, {count} of them in #{audit}"
    return f"rollout: {count} changed to it in #{audit}"
