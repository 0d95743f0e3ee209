"""Against the fleet: what most hosts of one group and hardware have. It may be wrong, so it is only ever "differs".

A host differs where enough of its like have one other value. What is open stays open as long as more than half of them
have one, however many came that have the same as the host: nobody has mended it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ...fleet_report import Began, Note, Since
from ..moves import Net
from ..options import SPLIT, JudgeOptions
from ..rows import Row
from ..view import Differing, View, canon
from ..view_rows import Host, Move, Outlier
from ..votes import Key, Vote, votes
from .began import OWN, began_text, fewer_text
from .over import over
from .significance import not_significant, usual

__all__ = ["Compared", "majority"]


class Compared(NamedTuple):
    """``settled``: which (host, fact) the rows judge. ``open``: who differs in this audit, and ``ended``: who did at
    the one before, and does not any more; what is in neither was not judged. ``notes``: of what ended without a
    verdict."""

    rows: list[Row]
    settled: set[tuple[str, str]]
    open: list[Differing]
    ended: set[tuple[str, str]]
    notes: list[Note]


def majority(view: View, moves: Net, vote_of: Mapping[Key, Vote], rolled: Collection[tuple[str, str, str]],
             not_of: Collection[tuple[str, str]], not_facts: Collection[str], options: JudgeOptions) -> Compared:
    """``not_of``: (host, fact) with a desired value; ``not_facts``: volatile facts."""
    rows, settled, still = [], set(), []
    elsewhere = usual(vote_of, options.share)
    hosts = {host.host: host for host in view.hosts}
    regrouped = {move.host for move in view.regrouped}
    changed = {(move.host, move.fact): move for move in view.unapproved}
    facts = {fact for _, fact in view.differing}
    # Of what was open, the others count however few they have become.
    votes_of = {**votes(view, moves, options, facts), **vote_of}
    for outlier in view.outliers:
        vote = votes_of.get((outlier.group, outlier.hardware, outlier.fact))
        if vote is None or (outlier.host, outlier.fact) in not_of or outlier.fact in not_facts \
                or canon(outlier.value) == canon(vote.value):
            continue
        held = view.differed(outlier)
        enough = vote.total >= options.at_least and vote.share >= options.share
        if not (vote.share > SPLIT if held else enough) or (not (held and held.kept) and not_significant(
                vote, outlier.value, elsewhere.get(outlier.fact, {}))):
            continue
        move = moves.moves.get(outlier.host, {}).get(outlier.fact)
        began, since = (held.began, held.since) if held else _began(
            view, outlier, move, vote, regrouped, hosts, changed)
        if began not in OWN:
            move = None     # it changed earlier than it began to differ
        own = move or (changed.get((outlier.host, outlier.fact)) if began == "changed" else None)
        own = own if own is not None and canon(own.value) == canon(outlier.value) else None
        meta = view.of(outlier.fact)
        rows.append(Row(
            "majority", meta.severity, outlier.fact, outlier.group, outlier.host,
            expected=f"differs from {vote.count} of {vote.total} in {outlier.group}", fix=meta.fix, value=outlier.value,
            before=own.before if own else vote.value, whose="own" if own else "others", since=since,
            state="new" if _fresh(view, outlier.host, since) else "known", began=began,
            text="; ".join(filter(None, (began_text(began, since, outlier.group, outlier.fact, vote),
                                         "" if enough else fewer_text(outlier.fact, vote)))),
            same=canon(outlier.value),
            unread=hosts[outlier.host].unread(outlier.fact) if outlier.host in hosts else "",
            rollout=move is not None and (outlier.group, outlier.fact, canon(outlier.value)) in rolled))
        still.append(held if held and held.kept else
                     Differing(outlier.host, outlier.fact, since, began, view.audit.id))
        if not (move is not None and view.returned(outlier.host, outlier.fact)
                and (outlier.host, outlier.fact) in view.baselines):    # what it had in between is over
            settled.add((outlier.host, outlier.fact))
    back, done = _back(view, moves, votes_of, not_of, not_facts, rolled, options)
    ended = over(view, moves, votes_of, {(each.host, each.fact) for each in still}, not_of, not_facts, done)
    return Compared([*rows, *back, *ended.rows], settled | done | ended.settled, still, ended.ended, ended.notes)


def _began(view: View, outlier: Outlier, move: Move | None, vote: Vote, regrouped: Collection[str],
           hosts: Mapping[str, Host], changed: Collection[tuple[str, str]]) -> tuple[Began, Since | None]:
    """By what and since when it differs, where it did not at the audit before. ``changed``: what is open as a change
    of the host that nobody approved: that is the same finding, whatever the others have."""
    last, since = view.last, move.since if move else outlier.since
    own: Began = "changed" if since is not None and since.after is not None else "first"
    if move is not None or (outlier.host, outlier.fact) in changed or (
            last is not None and since is not None and since.seen > last.id):
        return own, since
    where = hosts.get(outlier.host)
    # What other audits heard beside this one is compared with more hosts than they had.
    came = last is None or bool(view.before) or (where is not None and where.first > last.id)
    if outlier.host in regrouped and not came:
        return "regrouped", view.now_since
    if vote.moved and view.previous is not None and not view.before:
        return "others", view.now_since
    return (own, since) if came else ("share", view.now_since)


def _fresh(view: View, host: str, since: Since | None) -> bool:
    return not view.had(host, since) if since is not None else view.previous is None and host not in view.before


def _back(view: View, moves: Net, vote_of: Mapping[Key, Vote], not_of: Collection[tuple[str, str]],
          not_facts: Collection[str], rolled: Collection[tuple[str, str, str]],
          options: JudgeOptions) -> tuple[list[Row], set[tuple[str, str]]]:
    """Hosts that differed at the previous audit, changed, and do not any more; and those that began to differ since,
    and came back to what they had."""
    rows, settled = [], set()
    hardware = {host.host: host.cohort for host in view.hosts}
    changed = {(host, fact): move for host, facts in moves.moves.items() for fact, move in facts.items()}
    for (host, fact), move in sorted((changed | moves.back).items(), key=lambda item: item[0]):
        vote = vote_of.get((move.group, hardware.get(host, ""), fact))
        came_back = (host, fact) in moves.back
        state = view.differing.get((host, fact))
        state = state if state is not None and move.since.seen > state.told and (
            view.was_open(state) or (came_back and state.over == move.since.seen)) else None
        # Who did what the others had done while it was silent has put nothing right: nothing was found on it.
        if state is None and (view.followed or came_back):
            continue
        if vote is None or not (vote.share > SPLIT if state else vote.share >= options.share) or vote.moved \
                or canon(move.value) != (canon(vote.value) if state else vote.before) \
                or (host, fact) in not_of or fact in not_facts \
                or (move.group, fact, canon(move.value)) in rolled \
                or (view.left(host, fact, move.value) and not move.ours):   # approved is another one
            continue
        meta = view.of(fact)
        rows.append(Row(
            "majority", meta.severity, fact, move.group, host, expected=f"again as {vote.count} of {vote.total} in "
            f"{move.group}", fix=meta.fix, value=move.before, before=vote.value,
            # What it came back to it had before: else nobody knows.
            whose="own" if (host, fact) in view.back else "others", since=state.since if state else move.held,
            state="resolved", ended=move.since, same=canon(move.before)))
        settled.add((host, fact))
    return rows, settled
