"""A view of an audit for one host: of the others no more than what is said of this one takes.

What holds of the host alone is read first, and tells which facts and checks its causes can be about. Of these, and of
no others, every host counts: a cause is whole, its name and its words depend on all that have it. Of hosts that are
alike one is read for all: that have the same findings since the same audits, told them in the same words in each audit,
say the same of themselves, and of which nothing else is known in this report, no change, no value that differs, no
waiver.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..fleet_report import Decision
from ..lookup import KEY
from ..model import AuditHead
from .approved import MOST, apart, approved
from .authority import JUDGED, judging, looked_at
from .carried_on import carried_on
from .found.problems import problems_of
from .like.differed import differed
from .naming.wordings import wordings
from .options import SPLIT, JudgeOptions
from .said.decisions import said_of
from .said.waivers import may_be_waived
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
from .view_rows import Host, Kept, Meta, Outlier, Tally

if TYPE_CHECKING:
    from ..store import Store
    from ..store.one_host import OneHost
    from ..store.rows import HostState, ProblemSince
    from ..store.rows import Outlier as Differs

__all__ = ["host_view"]

#: Of so many hosts all are read where one is silent.
_ALL = 100


def host_view(store: Store, audit_id: int | None, options: JudgeOptions, name: str, listed: bool) -> View | None:
    """None: only the view of all hosts can tell. ``listed``: with everything that was judged, of all hosts."""
    audit = store.audit(audit_id)
    previous = compared_with(store, audit, options)
    waivers = tuple(store.waivers())
    # Before the first comparison all is judged by its numbers; with another host, or other audits, all is read anyhow.
    if previous is None or options.union or options.host is not None:
        return None
    states = store.hosts(audit.id, bare=True)
    # What it had when it was last heard is held against all of its like, and tells of each.
    silent = {state.host for state in states if not state.answered}
    if name in silent or (silent and len(states) <= _ALL):
        return None
    one = store.one_host(name, audit.id)
    meta = meta_of(one.facts.values(), options.entries)
    rest = tuple(row for row in store.volatility(RECENT, audit.id, restless=True) if row.suspicious)
    restless = {row.fact for row in rest}

    # What the host can have causes about.
    bare = _hosts(store, audit, one, states)
    here = {host.host: host for host in bare}
    groups = groups_of(bare)
    over = store.problems_resolved(previous.id, audit.id, told=True)
    own = store.problems_since(audit.id, hosts={name})
    state = next(iter(store.hosts(audit.id, only={name})), None)
    checks = {row.check for row in (*own, *over) if row.host == name} | {
        problem.check for problem in (state.problems if state else ())}
    shared = _shared(one, bare, [fact for fact in meta if meta[fact].kind == "identity"])
    then_shared = shared_before(store, previous, audit, bare, moves_of(
        store.changes(previous.id, audit.id, set(meta)), groups), meta)
    own_then = [kept for kept in then_shared if name in kept.hosts]
    facts = one.differing(options.share, options.at_least, lambda fact: meta.get(fact, Meta()).kind == "config")
    if options.judges("majority"):
        facts |= one.divided(SPLIT, options.share, options.at_least,
                             lambda fact: meta.get(fact, Meta()).kind == "config")
    then = differed(store, audit, (previous.id,))
    facts |= {kept.fact for kept in (*shared, *then_shared)} | then.of(name)
    facts |= {row.fact for row in store.changes(previous.id, audit.id, host=name)}
    facts |= {row.fact for row in store.unapproved(audit.id, restless, host=name)[0]}
    pairs = one.pairs() if listed else set()
    if listed:      # what only hosts told that are silent now is judged by its moves alone
        facts |= {fact for _, fact in (one.moved(previous.id, groups) | one.last_told()) - pairs}
    about = {fact for check in checks for which in (judging, looked_at) for fact in which(check, one.facts.values())}
    moving = facts | about | restless

    # The others, as far as they share in that.
    census, outliers = one.survey(facts, min(SPLIT, options.share), options.at_least, then.facts)
    census, outliers = without_left(store, bare, census, outliers, audit, options, then.rows)
    changes = store.changes(previous.id, audit.id, moving)
    opened, back = store.unapproved(audit.id, restless, moving)
    flaps = store.flaps(audit_id=audit.id, facts=moving | checks)
    events = [event for event in events_of(store, audit) if event.host in here]
    claims, renamed = store.claims(audit.id), store.renamed(audit.id, KEY)
    said = said_of(store, audit)
    carried = carried_on(store, said.by_then, audit)
    odd = one.odd()
    named = {name, *odd, *silent, *(row.host for rows in (over, outliers, changes, opened, flaps) for row in rows),
             *(each for each, _ in (*back, *carried)),
             *(each for kept in (*shared, *own_then) for each in kept.hosts),
             *(each for event in events for each in (event.host, event.other)),
             *(each for claim in claims for each in (claim.host, claim.other)),
             *(name for each in renamed for name in (each.host, *(step.before for step in each.steps))),
             *(claim.host for claim in options.claims), *may_be_waived(waivers, checks | moving, here)}
    wanted = checks | {check for check in JUDGED if judging(check, facts)}
    hosts, found = _read(store, audit, bare, wanted, {name, *odd}, _alike(one, here, wanted, said.decided, named))
    began, standing = began_of(found)
    allowed = _approved(store, hosts, [row for row in outliers if row.count >= options.share * row.total], audit,
                        state.group if state is not None else "", states)
    if allowed is None:
        return None
    moves = moves_of((row for row in changes if row.host in here), groups)
    kept_open = moves_of((row for row in opened if row.host in here), groups)
    heads = [head for head in store.audits() if head.id <= audit.id and head.finished is not None][-3:]
    judged = pairs | one.found() | {(here[row.host].group, row.check) for row in over if row.host in here
                                    and here[row.host].told} if listed else set()
    words, resolved = store.last_words(gone_dark(hosts, found), audit.id), resolved_of(store, over, hosts, audit)
    return View(
        audit=audit, previous=previous, now=time.time() if options.now is None else options.now, hosts=hosts,
        moves=moves, unapproved=kept_open, back=frozenset(back), mended=mended(store, kept_open, previous, audit),
        contradicted=contradicted(store, (*moves, *kept_open), audit),
        fixes=fixes_of(store, (*moves, *kept_open), audit),
        decided=said.decided, carried=carried, baselines=said.baselines,
        volatile=rest, recent=moves_of(store.changes(heads[0].id - 1, audit.id, restless)[-ENOUGH:], groups)
        if restless and heads else (),
        tallies=tuple(Tally(row.group, row.hardware, row.fact, row.value, row.count) for row in census),
        outliers=tuple(sorted(
            (Outlier(row.host, row.group, row.hardware, row.fact, row.value, row.since) for row in outliers),
            key=lambda outlier: (outlier.fact, outlier.group, outlier.host))),
        shared=shared, shared_then=then_shared,
        gone=frozenset(store.names(previous.id) - here.keys()),
        regrouped=tuple(store.group_moves(previous.id, audit.id)),
        events=tuple(event for event in events if event.audit > previous.id),
        past=tuple(event for event in events if event.audit <= previous.id), claims=tuple(claims),
        renamed=tuple(renamed),
        began=began, standing=standing, found=found_of(found),
        words=words, resolved=resolved, wordings=wordings(store, hosts, words, resolved, audit.id),
        in_change=frozenset({name} if state is not None and state.newest == audit.id
                            and state.volatile.get(STATE) in OPEN else ()),
        waivers=waivers, flaps={(row.host, row.fact): row.times for row in flaps},
        differing=then.then(store, {row.fact for row in outliers}, options), last=then.last, kept=then.kept,
        followed=then.followed,
        meta=meta, approved=allowed, judged=frozenset(judged),
        names=frozenset(fact for _, fact in pairs) if listed else frozenset(one.told(about)))


def _hosts(store: Store, audit: AuditHead, one: OneHost, states: Iterable[HostState]) -> list[Host]:
    """Every host, without its problems."""
    classes = one.classes
    kept = [host_of(state, (), classes.get(state.host, "")) for state in states]
    return sorted((*kept, *missing(store, audit, {host.host for host in kept})), key=lambda host: host.host)


class _Read(NamedTuple):
    """``hosts``: all of them, without their problems where another one is read in their place. ``found``: host -> what
    is found there, of those that are read."""

    hosts: tuple[Host, ...]
    found: dict[str, list[ProblemSince]]


def _alike(one: OneHost, hosts: Mapping[str, Host], checks: Collection[str],
           decided: Mapping[tuple[str, str, str], Decision], named: Collection[str]) -> list[list[str]]:
    """Every host with a finding of these checks, those together that are alike. ``named``: hosts of which something
    else is known. ``decided``: as in View; who said the same of all of them makes no difference between them."""
    said: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
    for (kind, host, name), decision in decided.items():
        said[host].add((kind, name, decision.id))
    found: list[list[str]] = []
    for together in one.alike(checks):
        groups: dict[Hashable, list[str]] = defaultdict(list)
        for host in together:
            groups[host if host in named else (hosts[host].first, frozenset(said.get(host, ())))].append(host)
        found += groups.values()
    return found


def _read(store: Store, audit: AuditHead, hosts: Iterable[Host], checks: Collection[str], whole: Collection[str],
          groups: Iterable[list[str]]) -> _Read:
    """The first host of each of the groups, with what is found there of these checks. ``whole``: hosts of which
    everything is read."""
    names = {group[0] for group in groups}
    rows = dict.fromkeys((*store.problems_since(audit.id, None, whole), *store.problems_since(audit.id, checks, names)))
    found: dict[str, list[ProblemSince]] = {}
    for row in rows:
        found.setdefault(row.host, []).append(row)
    told = {state.host: state for state in store.hosts(audit.id, only={*whole, *names}, gauges=())}
    return _Read(tuple(host._replace(
        problems=problems_of(told[host.host], audit, found.get(host.host, ())), outcomes=told[host.host].outcomes,
        boot_id=told[host.host].boot_id) if host.host in told else host for host in hosts), found)


def _shared(one: OneHost, hosts: Iterable[Host], facts: Collection[str]) -> tuple[Kept, ...]:
    """What the host and others have and only one can have."""
    held = one.holders(facts)
    own = {(fact, canon(each)): each for fact, (value, _) in held.get(one.name, {}).items() for each in each_of(value)}
    counts = Counter((fact, canon(each)) for name, facts_of in held.items() for fact, (value, _) in facts_of.items()
                     if one.knows(name, fact) for each in each_of(value))
    return tuple(kept for kept in kept_of(hosts, held, {key: each for key, each in own.items() if counts[key] > 1})
                 if one.name in kept.hosts)


def _approved(store: Store, hosts: tuple[Host, ...], differing: list[Differs], audit: AuditHead,
              group: str, states: Iterable[HostState]) -> frozenset[tuple[str, str]] | None:
    """As approved() tells of all hosts; None: of so many that it has to be asked of all."""
    if not differing or not all(state.newest in (None, audit.id) for state in states if state.answered):
        return frozenset()
    those = apart(hosts)
    near = [(row.host, row.fact) for row in differing if row.host in those and row.group == group]
    if near and len(those) > MOST:
        return None
    return approved(store, hosts, near)
