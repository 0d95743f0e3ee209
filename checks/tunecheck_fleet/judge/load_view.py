"""A view of an audit out of the store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tunecheck.errors import UsageError
from tunecheck.facts.registry.definition import Entry

from ..model import AuditHead, Problem
from ..verdict import Since
from .approved import approved
from .authority import HAPPENING
from .options import SPLIT, JudgeOptions
from .view import Event, Host, Kept, Meta, Move, Outlier, Resolved, Tally, View, canon

if TYPE_CHECKING:
    from ..store import Store
    from ..store.rows import ChangeRow, HostState, ProblemSince

__all__ = ["view"]

#: Audits that the look at volatile facts goes back, and changes that are enough to tell their class.
_RECENT, _ENOUGH = 10, 20_000
_TIMELINE, _FLAP_DAYS = 30, 30.0
#: What our roles left on the box, and which of it says that they are not done: a trial boot waits, or runs.
_STATE, _OPEN = "roles.state", ("staged", "trial")


def view(store: Store, audit_id: int | None, options: JudgeOptions) -> View:
    """Everything the judges need, read once. UsageError: no such audit, host or baseline."""
    audit = store.audit(audit_id)
    previous = _previous(store, audit, options)
    heads = store.audits()
    done = [head for head in heads if head.id <= audit.id and head.finished is not None]
    open_problems = store.problems_since(audit.id)
    of_host: dict[str, list[ProblemSince]] = {}
    for row in open_problems:
        of_host.setdefault(row.host, []).append(row)
    also = store.beside(audit.id) if options.union and options.baseline == "previous" and options.since is None else {}
    states = store.hosts(audit.id, also)
    # What is new on a host goes by the audit before the one that it answered last.
    before = {state.host: also[state.newest] or 0 for state in states
              if state.newest in also and state.newest != audit.id and state.newest is not None}
    census, outliers, classes = store.survey(min(SPLIT, options.share), options.at_least, audit.id, also)
    kept = [replace(_host(state, _problems(state, audit, of_host.get(state.host, ()))), kin=classes.get(state.host, ""))
            for state in states]
    hosts = tuple(sorted((*kept, *_missing(store, audit, {host.host for host in kept})), key=lambda host: host.host))
    after = previous.id if previous else None
    # Audits of other limits lie between the two: what they saw is theirs.
    asked = {host.host for host in hosts}
    changes = [row for row in store.changes(min([after or 0, *before.values()]), audit.id)
               if row.host in asked and row.since.seen > before.get(row.host, after or 0)] if previous else []
    volatile = [row for row in store.volatility(_RECENT, audit.id) if row.suspicious]
    # What looks volatile is reported on its night only, and is not held open: the next night it is another value.
    open_moves, back = _unapproved(store, previous, audit, asked, before, {row.fact for row in volatile})
    events = [event for event in _events(store, audit) if event.host in asked]
    begin = previous.id if previous else audit.id - 1
    names = {row.fact for row in volatile}
    last = done[-3:]
    recent = [row for row in store.changes(last[0].id - 1, audit.id) if row.fact in names] if volatile and last else []
    facts = names.union((row.fact for row in census), (row.fact for row in changes), (move.fact for move in open_moves))
    seen = View(
        audit=audit, previous=previous, now=time.time() if options.now is None else options.now, hosts=hosts,
        moves=_moves(changes), unapproved=open_moves, back=back, mended=_mended(store, open_moves, previous, audit),
        decided={(row.decision.kind, row.host, row.name): row.decision for row in store.decided(audit.id)},
        volatile=tuple(volatile), recent=_moves(recent[-_ENOUGH:]),
        tallies=tuple(Tally(row.group, row.hardware, row.fact, row.value, row.count) for row in census),
        outliers=tuple(sorted(
            (Outlier(row.host, row.group, row.hardware, row.fact, row.value, row.since) for row in outliers),
            key=lambda outlier: (outlier.fact, outlier.group, outlier.host))),
        events=tuple(event for event in events if event.audit > before.get(event.host, begin)),
        past=tuple(event for event in events if event.audit <= before.get(event.host, begin)),
        claims=tuple(store.claims(audit.id)),
        began={(row.host, row.check, row.subject): row.since for row in open_problems},
        standing=frozenset((row.host, row.check, row.subject) for row in open_problems
                           if row.outcome == "warn" and row.check not in HAPPENING
                           and (row.since.after is None or row.ours)),
        resolved=_resolved(row for row in store.problems_resolved(min([previous.id, *before.values()]), audit.id)
                           if (row.until or 0) > before.get(row.host, previous.id)) if previous else (),
        in_change=frozenset(state.host for state in states
                            if state.newest in (audit.id, *also) and state.volatile.get(_STATE) in _OPEN),
        waivers=tuple(store.waivers()),
        flaps={(row.host, row.fact): row.times for row in store.flaps(_FLAP_DAYS, audit.id)},
        meta=_meta(facts, options.entries),
        timeline=tuple((row.audit, row.at, row.changed, row.answered) for row in store.timeline(_TIMELINE)
                       if row.audit <= audit.id),
        known=frozenset(store.known_hosts()), reference=options.host,
        before=before, notes=_ages(states, audit, also))
    if options.host is not None:
        if options.host not in {host.host for host in hosts}:
            raise UsageError(f"baseline host {options.host[:80]!r} is not one of the hosts of audit #{audit.id}")
        seen = replace(seen, values={host.host: store.at(host.host, audit.id) for host in hosts})
    newest = all(state.newest in (None, audit.id, *also) for state in states if state.answered)
    differing = [(row.host, row.fact) for row in outliers if row.count >= options.share * row.total]
    return replace(seen, shared=_shared(store, seen),
                   approved=approved(store, hosts, differing) if newest else frozenset())


def _previous(store: Store, audit: AuditHead, options: JudgeOptions) -> AuditHead | None:
    if options.number is not None:
        if options.number >= audit.id:
            raise UsageError(f"audit #{options.number} is not before #{audit.id}: nothing can have changed since")
        return store.audit(options.number)
    if isinstance(options.since, float):
        begin = options.since
        older = [head for head in store.audits() if head.id < audit.id and head.finished is not None]
        # The last one that ran before that time has seen the values of that time.
        return next((head for head in reversed(older) if head.started <= begin), older[0] if older else None)
    return store.previous(audit.id)


def _host(state: HostState, problems: tuple[Problem, ...]) -> Host:
    return Host(state.host, state.group, state.hardware, state.status, state.reason,
                state.key or state.claimed, state.tunecheck, state.spec, state.boot_id, state.last_ok, state.last_ok_at,
                problems, state.outcomes, state.unknown)


def _outcome(text: str) -> Literal["fail", "warn", "unknown"]:
    return "fail" if text == "fail" else "warn" if text == "warn" else "unknown"


def _ages(states: Iterable[HostState], audit: AuditHead, also: Mapping[int, int | None]) -> tuple[str, ...]:
    """How old the answers are that are not of this audit."""
    count = Counter((state.last_ok, state.last_ok_at) for state in states
                    if also and state.last_ok is not None and state.last_ok < audit.id)
    return tuple(f"{hosts} host{'s' * (hosts != 1)} as #{number} heard "
                 f"{'them' if hosts != 1 else 'it'}, {(audit.started - (at or audit.started)) / 3600:.1f} h before "
                 f"#{audit.id}" for (number, at), hosts in sorted(count.items(), key=lambda item: item[0][0] or 0))


def _problems(state: HostState, audit: AuditHead, open_rows: Iterable[ProblemSince]) -> tuple[Problem, ...]:
    """The problems of the host in this audit. The store keeps the texts of the newest answer only: of an older audit it
    knows that a check failed, and not with which text."""
    if state.newest is None or state.newest <= audit.id:
        return state.problems
    newest = {(problem.check, subject, str(problem.outcome)): problem
              for problem in state.problems for subject in problem.subjects}
    # A finding on two of them is one problem.
    return tuple(dict.fromkeys(
        newest.get((row.check, row.subject, row.outcome),
                   Problem(row.check, row.subject, _outcome(row.outcome), "its words of then are not kept"))
        for row in open_rows))


def _missing(store: Store, audit: AuditHead, there: set[str]) -> tuple[Host, ...]:
    """Asked, and without a row: no box that is left out could be told from one that is well."""
    left = [(host, group) for host, group in sorted(store.pending(audit.id)) if host not in there]
    since = store.running(audit.id) if left and audit.finished is None else None
    if since is not None:
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(since))
        reason = f"not asked yet (the audit is running since {when})"
    elif audit.finished is None:
        reason = "the audit ended before it was asked"
    else:
        reason = "nothing of it was kept in this audit: another one asked it at the same time"
    return tuple(Host(host, group, status="unreachable", reason=reason, waits=since is not None)
                 for host, group in left)


def _moves(rows: Iterable[ChangeRow]) -> tuple[Move, ...]:
    return tuple(sorted((Move(row.host, row.group, row.fact, row.before, row.value, row.since, row.receipt is not None)
                         for row in rows), key=lambda move: (move.since.seen, move.fact, move.host)))


def _resolved(rows: Iterable[ProblemSince]) -> tuple[Resolved, ...]:
    return tuple(sorted((Resolved(row.host, row.group, row.check, row.subject, _outcome(row.outcome), row.since)
                         for row in rows), key=lambda problem: (problem.check, problem.host, problem.subject,
                                                                problem.outcome)))


def _unapproved(store: Store, previous: AuditHead | None, audit: AuditHead, asked: set[str], before: Mapping[str, int],
                but: set[str]) -> tuple[tuple[Move, ...], frozenset[tuple[str, str]]]:
    """Changes of earlier audits that nobody approved; and what is as it was before."""
    if previous is None:
        return (), frozenset()
    rows, back = store.unapproved(audit.id, but)
    return (_moves(row for row in rows if row.host in asked
                   and row.since.seen <= before.get(row.host, previous.id)), frozenset(back))


def _mended(store: Store, open_moves: Iterable[Move], previous: AuditHead | None,
            audit: AuditHead) -> frozenset[tuple[str, str, str, int]]:
    """(host, check, subject, audit) of findings that were over when such a change came: it was put right by that."""
    moved = {(move.host, move.since.seen) for move in open_moves}
    if not moved:
        return frozenset()
    first = min(seen for _, seen in moved)
    return frozenset((row.host, row.check, row.subject, row.until)
                     for row in store.problems_resolved(first - 1, audit.id)
                     if row.until is not None and (row.host, row.until) in moved)


def _events(store: Store, audit: AuditHead) -> tuple[Event, ...]:
    """Who was replaced or renamed, up to this audit."""
    found = [Event(row.host, row.kind, row.other, row.audit, row.before, row.key, row.since)
             for row in store.identity_events(None, audit.id) if row.kind != "duplicate"]
    return tuple(sorted(found, key=lambda event: (event.host, event.kind, event.other, event.audit)))


def _meta(facts: Iterable[str], entries: Mapping[str, Entry] | None) -> dict[str, Meta]:
    from tunecheck.facts import registry

    known = getattr(registry, "entry_of", None)
    found: dict[str, Meta] = {}
    for fact in facts:
        entry = entries.get(fact) if entries is not None else known(fact) if known else None
        if entry is not None:
            found[fact] = Meta(entry.kind, entry.severity, entry.fix)
    return found


def _shared(store: Store, seen: View) -> tuple[Kept, ...]:
    """Identity values that more than one host has. Their hosts are looked up only where the census counts two."""
    twice: dict[tuple[str, str], Any] = {}
    counts: dict[tuple[str, str], int] = {}
    for tally in seen.tallies:
        for each in _each(tally.value) if seen.of(tally.fact).kind == "identity" else ():
            key = (tally.fact, canon(each))
            counts[key] = counts.get(key, 0) + tally.hosts
            twice[key] = each
    facts = {fact for (fact, _), count in counts.items() if count > 1}
    if not facts:
        return ()
    holders: dict[tuple[str, str], dict[str, Since]] = {}
    held = store.held(facts, seen.audit.id)
    for host in seen.hosts:
        for fact, (value, since) in held.get(host.host, {}).items() if host.last_ok is not None else ():
            for each in _each(value):
                if counts.get((fact, canon(each)), 0) > 1:
                    holders.setdefault((fact, canon(each)), {})[host.host] = since
    return tuple(Kept(fact, twice[fact, text], tuple(sorted(names)), names)
                 for (fact, text), names in sorted(holders.items()) if len(names) > 1)


def _each(value: Any) -> tuple[Any, ...]:
    """Of a list of serial numbers every one, for a board can be told of by two boxes."""
    return () if value is None else tuple(dict.fromkeys(value)) if isinstance(value, list) and all(
        isinstance(part, str) for part in value) else (value,)
