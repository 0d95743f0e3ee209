"""What only one host can have, and several had at the audit before: so that what they share no more is told as over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...fleet_report import Since
from ...lookup import KEY
from ...model import AuditHead
from ..view import canon
from ..view_parts import host_of
from ..view_rows import Host, Kept, Meta, Move
from .values import each_of, kept_of

if TYPE_CHECKING:
    from ...store import Store

__all__ = ["shared_before"]


def shared_before(store: Store, previous: AuditHead | None, audit: AuditHead, hosts: Collection[Host],
                  moves: Iterable[Move], meta: Mapping[str, Meta]) -> tuple[Kept, ...]:
    """Keys and values that several hosts had then. Looked up only where a host is not asked any more, or such a value
    of one changed."""
    if previous is None:
        return ()
    names = {host.host for host in hosts}
    left = store.names(previous.id) - names
    facts = {fact for fact, about in meta.items() if about.kind == "identity"}
    changed = any(move.fact in facts and move.before is not None for move in moves)
    keys, mended = _claimed(store, previous), _mended(store, previous, audit)
    if not left and not changed and not keys and not mended:
        return ()
    then = [host_of(state, (), "") for state in store.hosts(previous.id, bare=True)]
    # By whichever of all facts the same hosts shared, it was one finding.
    held = store.held(facts, previous.id) if left or changed else {}
    return (*_keys(then, keys, mended), *kept_of(then, held, _twice(held)))


def _twice(held: Mapping[str, Mapping[str, tuple[Any, Since]]]) -> dict[tuple[str, str], Any]:
    counts: Counter[tuple[str, str]] = Counter()
    values: dict[tuple[str, str], Any] = {}
    for facts in held.values():
        for fact, (value, _) in facts.items():
            for each in each_of(value):
                key = fact, canon(each)
                counts[key] += 1
                values[key] = each
    return {key: values[key] for key, count in counts.items() if count > 1}


def _claimed(store: Store, previous: AuditHead) -> list[tuple[str, str, Since]]:
    """(key, host, since when) of clones as of then."""
    return [(claim.key, name, claim.since) for claim in store.claims(previous.id)
            if claim.since is not None and claim.asked for name in (claim.host, claim.other)]


def _mended(store: Store, previous: AuditHead, audit: AuditHead) -> list[tuple[str, str, Since]]:
    """(key, host, since when) of hosts that shared the key until after that audit."""
    events = store.identity_events(None, audit.id)
    begun = {event.host: event.since for event in reversed(events) if event.kind == "duplicate"}
    begun |= {event.other: event.since for event in reversed(events) if event.kind == "duplicate"
              if event.other not in begun}
    return [(event.other, event.host, begun.get(event.host) or Since(previous.id, previous.started))
            for event in store.mended(audit.id) if event.audit > previous.id]


def _keys(then: Iterable[Host], claimed: Iterable[tuple[str, str, Since]],
          mended: Iterable[tuple[str, str, Since]]) -> list[Kept]:
    found: dict[str, dict[str, Since]] = {}
    answered = {host.host for host in then if host.answered}
    for key, name, since in (*claimed, *mended):
        own = found.setdefault(key, {})
        own[name] = min((since, own.get(name, since)), key=lambda each: each.seen)
    for host in then:
        if host.key in found:
            found[host.key].setdefault(host.host, min(found[host.key].values(), key=lambda each: each.seen))
    return [Kept(KEY, key, tuple(sorted(names)), names) for key, names in sorted(found.items())
            if len(names) > 1 and answered & names.keys()]
