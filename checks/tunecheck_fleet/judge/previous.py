"""Against the box's own earlier self: what changed, between which audits, and whether we changed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal

from tunecheck.util.text import some

from ..fleet_report import Since
from .authority import judged
from .moves import Net
from .rows import Row
from .view import View, canon
from .view_rows import Move
from .votes import Vote

__all__ = ["previous"]

_NAME = "identity.hostname"
#: So many others have to have had a value, for a host that changes to it to be as they are; and what is said then.
_FEW = 2
_AS_OTHERS = "changed to what most of the others have"
_NONE: Mapping[tuple[str, str], str] = MappingProxyType({})
#: Of an approved value, in a sentence.
_VALUE = 80


def previous(view: View, moves: Net, found: Mapping[tuple[str, str, str], Vote],
             rolled: Mapping[tuple[str, str, str], tuple[int, int]], not_of: Collection[tuple[str, str]],
             not_facts: Collection[str], not_hosts: Collection[str],
             unsaid: Mapping[tuple[str, str], str] = _NONE) -> list[Row]:
    """What changed since the previous audit, and what changed earlier and was approved by nobody.

    ``not_of``: (host, fact) that a higher authority has judged; ``not_facts``: facts that never rest; ``not_hosts``:
    another machine than before, of which no value is a change. ``unsaid``: (host, fact) of which the check that judges
    it, named here, says nothing new: the change is news of its own, as bad as its fact says. An open finding makes no
    change less bad: a second GPU that a host loses is lost, too, and nobody is alerted by what was found before."""
    not_of = {each for each in not_of if each not in unsaid}
    rows = _earlier(view, moves, found, not_of, not_facts, not_hosts)
    joined = _joined(view, moves)
    hosts = {host.host: host for host in view.hosts}
    said: dict[tuple[str, ...], str] = {}
    for host, facts in sorted(moves.moves.items()):
        if host in not_hosts:
            continue
        for fact, move in sorted(facts.items()):
            if (host, fact) in not_of or fact in not_facts or (fact == _NAME and _renamed(view, move)):
                continue
            meta = view.of(fact)
            where = hosts.get(host)
            vote = found.get((move.group, where.cohort if where else "", fact))
            roll = rolled.get((move.group, fact, canon(move.value)))
            if view.returned(host, fact) and not move.ours:
                rows.append(Row("previous", meta.severity, fact, move.group, host, expected="changed", fix=meta.fix,
                                value=move.before, before=move.value, since=move.held, ended=move.since,
                                state="resolved", same=canon(move.before)))
                continue
            rows.append(Row(
                "previous", meta.severity, fact, move.group, host, expected="changed", fix=meta.fix, value=move.value,
                before=move.before, since=move.since, state=_state(view, host, move.since),
                text=_text(view, moves, vote, roll, move, where.cohort if where else "", said) or (
                    _approved(view, host, fact) if view.left(host, fact, move.value) and not move.ours else ""),
                same=canon(move.value), intended=move.ours,
                rollout=roll is not None))
    rows = [row._replace(expected=_AS_OTHERS, fix="none") if (row.host, row.fact) in joined and row.state != "resolved"
            else row for row in rows]
    rows = [row._replace(unread=why) if row.state != "resolved" and row.host in hosts and (
        why := hosts[row.host].unread(row.fact)) else row for row in rows]
    untold = _untold(view)
    return [row._replace(text="; ".join(filter(None, (row.text, _unsaid(unsaid[row.host, row.fact], row.host, untold))))
                         ) if (row.host, row.fact) in unsaid else row for row in rows]


def _unsaid(check: str, host: str, untold: Collection[tuple[str, str]]) -> str:
    """What the check says of a change that is no news to it. That it cannot tell is no word that it is so."""
    now = "cannot be told now" if (host, check) in untold else "is still"
    return f"{check} was open before this change, and {now}"


def _untold(view: View) -> set[tuple[str, str]]:
    """(host, check) that does not know."""
    return {(host.host, problem.check) for host in view.hosts for problem in host.problems
            if problem.outcome == "unknown"}


def _earlier(view: View, moves: Net, found: Mapping[tuple[str, str, str], Vote], not_of: Collection[tuple[str, str]],
             not_facts: Collection[str], not_hosts: Collection[str]) -> list[Row]:
    """Changes of earlier audits, which stay open until somebody approves them; and what has left the baseline since,
    though it is as it was at the previous audit. Not what put something right: a check that failed until then, or a
    value that the others had all the time, unless another one was approved."""
    hosts = {host.host: host for host in view.hosts}
    joined = Counter((move.group, hosts[move.host].cohort, move.fact, canon(move.value)) for move in view.unapproved
                     if move.host in hosts)
    over: dict[tuple[str, int], list[tuple[str, str]]] = {}
    untold = _untold(view)
    for host, check, subject, audit in view.mended:
        if (host, check) not in untold:     # a check that does not know has not seen that anything was put right
            over.setdefault((host, audit), []).append((check, subject))
    rows = []
    for move in view.unapproved:
        where = hosts.get(move.host)
        if where is None or not where.told or (move.host, move.fact) in not_of or move.fact in not_facts \
                or move.fact in moves.moves.get(move.host, {}) or _mended(move, over) \
                or (move.host in not_hosts and not view.had(move.host, move.since)) or (
                    move.fact == _NAME and _renamed(view, move)):
            continue
        vote = found.get((move.group, where.cohort, move.fact))
        text = canon(move.value)
        left = view.left(move.host, move.fact, move.value)
        if not left and vote is not None and canon(vote.value) == text \
                and vote.count > 2 * joined[move.group, where.cohort, move.fact, text]:
            continue
        meta = view.of(move.fact)
        rows.append(Row("previous", meta.severity, move.fact, move.group, move.host, expected="changed", fix=meta.fix,
                        value=move.value, before=move.before, since=move.since,
                        state=_state(view, move.host, move.since), same=text,
                        text=_approved(view, move.host, move.fact) if left else ""))
    return rows


def _joined(view: View, moves: Net) -> set[tuple[str, str]]:
    """(host, fact) that changed to what most of the other hosts of its group and hardware have had all the time,
    however few these are: nobody wants that put back."""
    hosts = {host.host: host for host in view.hosts}
    changed = {(move.host, move.fact): move for move in view.unapproved}
    changed |= {(host, fact): move for host, facts in moves.moves.items() for fact, move in facts.items()}
    keys = {each: (hosts[each[0]].group, hosts[each[0]].cohort, each[1], canon(move.value))
            for each, move in changed.items() if each[0] in hosts}
    came = Counter(keys.values())
    wanted = {key[:3] for key in came}
    totals: Counter[tuple[str, str, str]] = Counter()
    held: Counter[tuple[str, str, str, str]] = Counter()
    for tally in view.tallies:
        if (key := (tally.group, tally.hardware, tally.fact)) in wanted:
            totals[key] += tally.hosts
            held[(*key, canon(tally.value))] += tally.hosts
    return {each for each, key in keys.items() if (stayed := held[key] - came[key]) >= _FEW
            and 2 * stayed > totals[key[:3]] - came[key]}


def _renamed(view: View, move: Move) -> bool:
    """Whether the machine has another name, which is told as that."""
    return any(event.host == move.host and event.kind == "renamed"
               and (move.since.after or 0) < event.audit <= move.since.seen for event in (*view.past, *view.events))


def _mended(move: Move, over: Mapping[tuple[str, int], list[tuple[str, str]]]) -> bool:
    """Whether a check of this fact failed until the value came."""
    return any(True for check, subject in over.get((move.host, move.since.seen), ())
               for _ in judged(check, subject, (move.fact,)))


def _state(view: View, host: str, since: Since) -> Literal["new", "known"]:
    """As of everything else: new is what came after the audit that this one is compared with, however long ago."""
    return "known" if view.had(host, since) else "new"


def _approved(view: View, host: str, fact: str) -> str:
    """Which value was approved, of one that is another."""
    decision = view.decided[("approve", host, fact)]
    value = view.baselines[host, fact]
    said = "that there is none" if value == "null" else value.strip('"')[:_VALUE]
    return f"{decision.author} approved {said} as of #{decision.audit}"


def _text(view: View, moves: Net, vote: Vote | None, roll: tuple[int, int] | None, move: Move,
          like: str, said: dict[tuple[str, ...], str]) -> str:
    """``said``: what is said already of others that did the same."""
    if roll is None:
        return ""
    audit, count = roll
    if vote is None or not vote.moved or canon(vote.value) != canon(move.value):
        return f"rollout: {count} changed to it in #{audit}"
    key = (move.group, like, move.fact)
    if key not in said:
        said[key] = _fleet_moved(view, moves, vote, move, like, audit)
    return said[key]


def _fleet_moved(view: View, moves: Net, vote: Vote, move: Move, like: str, audit: int) -> str:
    """How many have it now, of those that tell what they have; of all others it is said who they are."""
    hosts = [host for host in view.hosts if host.group == move.group and host.cohort == like and host.told]
    silent = [host.host for host in hosts if not host.answered]
    untold = [host.host for host in hosts if host.answered and host.unread(move.fact)]
    tell = {host.host for host in hosts}.difference(silent, untold)
    others = {outlier.host for outlier in view.outliers
              if (outlier.fact, outlier.group, outlier.hardware) == (move.fact, move.group, like)}
    # Where no value leads by so much, nobody lists the others.
    now = len(tell - others) if others or vote.count == vote.total else min(vote.count, len(tell))
    came = {name for name, facts in moves.moves.items() if (each := facts.get(move.fact)) is not None
            and each.group == move.group and each.since.seen == audit and canon(each.value) == canon(move.value)}
    told = f"fleet moved: now on {now} of {len(tell)}, {min(len(came & tell), now)} of them in #{audit}"
    for names, what in ((sorted(others & tell), "not on {}"),
                        ([name for name in silent if name in came], "{}, silent now, moved too"),
                        ([name for name in silent if name not in came], "not known of {}, silent now"),
                        (untold, "{} cannot tell it now")):
        told += f"; {what.format(some(names, 3, ', '))}" if names else ""
    return told
