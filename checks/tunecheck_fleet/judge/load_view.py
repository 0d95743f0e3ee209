"""A view of an audit out of the store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tunecheck.errors import Misuse, UsageError

from ..lookup import KEY
from ..model import AuditHead
from .approved import approved
from .carried_on import carried_on
from .found.problems import problems_of
from .like.differed import differed
from .naming.wordings import wordings
from .notes import passed
from .options import SPLIT, JudgeOptions
from .said.decisions import said_of
from .shared.before import shared_before
from .shared.values import each_of, kept_of
from .silent import without_left
from .view import View, canon
from .view_parts import (
    ENOUGH,
    OPEN,
    RECENT,
    STATE,
    began_of,
    compared_with,
    contradicted,
    events_of,
    fixes_of,
    found_of,
    gone_dark,
    groups_of,
    host_of,
    mended,
    meta_of,
    missing,
    moves_of,
    resolved_of,
)
from .view_rows import Kept, Move, Outlier, Tally

if TYPE_CHECKING:
    from ..store import Store
    from ..store.rows import HostState

__all__ = ["view"]

_TIMELINE = 30


def view(store: Store, audit_id: int | None, options: JudgeOptions) -> View:
    """Everything the judges need, read once. UsageError: no such audit, host or baseline."""
    audit = store.audit(audit_id)
    also = store.beside(audit.id) if options.union and options.baseline == "previous" else {}
    previous = compared_with(store, audit, options, also)
    heads = store.audits()
    done = [head for head in heads if head.id <= audit.id and head.finished is not None]
    opened = store.open_findings(audit.id)
    began, standing = began_of(opened)
    states = store.hosts(audit.id, also, gauges=(STATE,))
    before = _compared_before(states, store.names(audit.id), also, previous) if options.since is None else {}
    then = differed(store, audit, (*((previous.id,) if previous else ()), *before.values()))
    census, outliers, classes = store.survey(min(SPLIT, options.share), options.at_least, audit.id, also, then.facts)
    kept = [host_of(state, problems_of(state, audit, opened.get(state.host, ())), classes.get(state.host, ""))
            for state in states]
    hosts = tuple(sorted((*kept, *missing(store, audit, {host.host for host in kept})), key=lambda host: host.host))
    census, outliers = without_left(store, hosts, census, outliers, audit, options, then.rows)
    after = previous.id if previous else 0
    # Where no audit before heard a host of this one, the hosts that others heard have earlier ones all the same.
    compared = previous is not None or bool(before)
    # Audits of other limits lie between the two: what they saw is theirs.
    asked = groups_of(hosts)
    first = min([after, *before.values()])
    changes = [row for row in store.changes(first, audit.id)
               if row.host in asked and row.since.seen > before.get(row.host, after)] if compared else []
    volatile = [row for row in store.volatility(RECENT, audit.id, restless=True) if row.suspicious]
    # What looks volatile is reported on its night only, and is not held open: the next night it is another value.
    open_moves, back = _unapproved(store, audit, asked, {row.fact for row in volatile}) if compared \
        else ((), frozenset())
    events = [event for event in events_of(store, audit) if event.host in asked]
    begin = previous.id if previous else audit.id - 1
    names = {row.fact for row in volatile}
    last = done[-3:]
    recent = [row for row in store.changes(last[0].id - 1, audit.id) if row.fact in names] if volatile and last else []
    facts = names.union((row.fact for row in census), (row.fact for row in changes), (move.fact for move in open_moves))
    said = said_of(store, audit)
    seen = View(
        audit=audit, previous=previous, now=time.time() if options.now is None else options.now, hosts=hosts,
        moves=moves_of(changes, asked), unapproved=open_moves, back=back,
        mended=mended(store, open_moves, previous, audit),
        contradicted=contradicted(store, (*moves_of(changes, asked), *open_moves), audit),
        fixes=fixes_of(store, (*moves_of(changes, asked), *open_moves), audit),
        decided=said.decided, carried=carried_on(store, said.by_then, audit), baselines=said.baselines,
        volatile=tuple(volatile), recent=moves_of(recent[-ENOUGH:], asked),
        tallies=tuple(Tally(row.group, row.hardware, row.fact, row.value, row.count) for row in census),
        outliers=tuple(sorted(
            (Outlier(row.host, row.group, row.hardware, row.fact, row.value, row.since) for row in outliers),
            key=lambda outlier: (outlier.fact, outlier.group, outlier.host))),
        events=tuple(event for event in events if event.audit > before.get(event.host, begin)),
        past=tuple(event for event in events if event.audit <= before.get(event.host, begin)),
        regrouped=tuple(store.group_moves(previous.id, audit.id)) if previous is not None else (),
        claims=tuple(store.claims(audit.id)), renamed=tuple(store.renamed(audit.id, KEY)),
        began=began, standing=standing, found=found_of(opened),
        words=store.last_words(gone_dark(hosts, opened), audit.id),
        resolved=resolved_of(store, (
            row for row in store.problems_resolved(first, audit.id, told=True)
            if (row.until or 0) > before.get(row.host, after)), hosts, audit) if compared else (),
        gone=frozenset(store.names(previous.id) - {host.host for host in hosts} if previous is not None else ()),
        in_change=frozenset(state.host for state in states
                            if state.newest in (audit.id, *also) and state.volatile.get(STATE) in OPEN),
        waivers=tuple(store.waivers()),
        flaps={(row.host, row.fact): row.times for row in store.flaps(audit_id=audit.id)},
        meta=meta_of(facts, options.entries),
        timeline=tuple((row.audit, row.at, row.changed, row.answered) for row in store.timeline(_TIMELINE)
                       if row.audit <= audit.id),
        known=frozenset(store.known_hosts()), reference=options.host,
        differing=then.then(store, {row.fact for row in outliers}, options), last=then.last, kept=then.kept,
        followed=then.followed,
        before=before, notes=_ages(states, audit, also))
    if options.host is not None:
        if options.host not in {host.host for host in hosts}:
            raise UsageError(f"baseline host {options.host[:80]!r} is not one of the hosts of audit #{audit.id}",
                             Misuse.NO_SUCH)
        seen = replace(seen, values={host.host: store.at(host.host, audit.id) for host in hosts})
    newest = all(state.newest in (None, audit.id, *also) for state in states if state.answered)
    differing = [(row.host, row.fact) for row in outliers if row.count >= options.share * row.total]
    return replace(seen, shared=_shared(store, seen),
                   shared_then=shared_before(store, previous, audit, hosts, seen.moves, seen.meta),
                   wordings=wordings(store, hosts, seen.words, seen.resolved, audit.id),
                   approved=approved(store, hosts, differing) if newest else frozenset())


def _compared_before(states: Iterable[HostState], own: Collection[str], also: Mapping[int, int | None],
                     previous: AuditHead | None) -> dict[str, int]:
    """Of a host that another audit heard last, the audit with which it is compared: the one before that, and not before
    the one that the whole report is compared with. What this audit asked itself (``own``), also where it got no answer,
    is told as it told that."""
    least = previous.id if previous is not None else 0
    return {state.host: max(also[state.newest] or 0, least) for state in states
            if state.host not in own and state.newest is not None and state.newest in also}


def _ages(states: Iterable[HostState], audit: AuditHead, also: Mapping[int, int | None]) -> tuple[str, ...]:
    """How old the answers of other audits are; of hosts that are silent, notes() says it."""
    count = Counter((state.last_ok, state.last_ok_at) for state in states
                    if also and state.answered and state.last_ok is not None and state.last_ok < audit.id)
    return tuple(f"{hosts} host{'s' * (hosts != 1)} as #{number} heard "
                 f"{'them' if hosts != 1 else 'it'}, {passed(audit.started - (at or audit.started))} before #{audit.id}"
                 for (number, at), hosts in sorted(count.items(), key=lambda item: item[0][0] or 0))


def _unapproved(store: Store, audit: AuditHead, asked: Mapping[str, str],
                but: set[str]) -> tuple[tuple[Move, ...], frozenset[tuple[str, str]]]:
    """Changes from the baseline that nobody approved; and what is as it was before."""
    rows, back = store.unapproved(audit.id, but)
    return moves_of((row for row in rows if row.host in asked), asked), frozenset(back)


def _shared(store: Store, seen: View) -> tuple[Kept, ...]:
    """Identity values that more than one host has. Their hosts are looked up only where the census counts two."""
    twice: dict[tuple[str, str], Any] = {}
    counts: dict[tuple[str, str], int] = {}
    for tally in seen.tallies:
        for each in each_of(tally.value) if seen.of(tally.fact).kind == "identity" else ():
            key = (tally.fact, canon(each))
            counts[key] = counts.get(key, 0) + tally.hosts
            twice[key] = each
    twice = {key: value for key, value in twice.items() if counts[key] > 1}
    return kept_of(seen.hosts, store.held({fact for fact, _ in twice}, seen.audit.id), twice) if twice else ()
