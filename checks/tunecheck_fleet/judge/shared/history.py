"""When a host had what only one host can have together with another: its key, or one of its boards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events.gpu_moves import BOARDS
from ...fleet_report import Since
from ...lookup import KEY
from ...store.rows import Span
from ...which_audit import left_since

if TYPE_CHECKING:
    from ...store import Store

__all__ = ["SHARED", "shared_history"]

#: What the history calls it.
SHARED = "host.shared"


def shared_history(store: Store, host: str) -> list[Span]:
    """Oldest first; of boards that were shared with the same host from audit to audit one."""
    when = {head.id: head.started for head in store.audits()}
    found: dict[tuple[str, str, int, int | None], Since] = {}
    for fact, other, since, until in (*_keys(store, host), *_boards(store, host)):
        found.setdefault((fact, other, since.seen, until), since)
    return [Span(host, SHARED, f"{fact} with {other}", None, since, until, when.get(until or 0))
            for (fact, other, _, until), since in sorted(found.items(), key=lambda item: (item[0][2], item[0][:2]))]


def _keys(store: Store, host: str) -> Iterator[tuple[str, str, Since, int | None]]:
    audits = store.audits(1)
    events = store.identity_events(None, audits[-1].id) if audits else []
    mended = store.mended(audits[-1].id) if audits else []
    for event in events:
        if event.kind == "duplicate" and host in (event.host, event.other) and event.since is not None:
            other = event.other if event.host == host else event.host
            ends = [each.audit for each in mended if each.host in (host, other) and each.audit > event.audit]
            yield KEY, other, event.since, min((*ends, *_left(store, host, other)), default=None)


def _boards(store: Store, host: str) -> Iterator[tuple[str, str, Since, int | None]]:
    boards = {board for fact in BOARDS for span in store.history(host, fact)
              for board in (span.value if isinstance(span.value, list) else ()) if isinstance(board, str)}
    # Nearly always none: where each has been is looked up of those alone that another host had, too.
    for board in sorted(store.boards_elsewhere(host, boards)):
        spans = store.board(board)
        for own in (span for span in spans if span.host == host):
            for its in (span for span in spans if span.host != host and span.fact == own.fact):
                since = max(own.since, its.since, key=lambda each: each.seen)
                until = min((each for each in (own.until, its.until, *_left(store, host, its.host))
                             if each is not None), default=None)
                if until is None or since.seen < until:
                    yield own.fact, its.host, since, until


def _left(store: Store, *hosts: str) -> list[int]:
    return [number for host in hosts if (number := left_since(store, host)) is not None]
