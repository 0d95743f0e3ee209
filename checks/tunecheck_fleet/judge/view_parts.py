"""What the store tells, as the judges see it."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tunecheck.errors import Misuse, UsageError
from tunecheck.facts.registry.definition import Entry
from tunecheck.rules.index import BY_ID

from ..fleet_report import HostRow, Since
from ..model import AuditHead, Problem, Thing
from ..store.sanitize import plain
from .asked import CHECKING, MISSES, may_be_asked, may_be_fixed
from .authority import HAPPENING
from .found.problems import key_of, outcome_of
from .options import JudgeOptions
from .view_rows import Event, FixSpan, Host, Meta, Move, Resolved

if TYPE_CHECKING:
    from ..store import Store
    from ..store.rows import ChangeRow, HostState, ProblemSince
    from .found.problems import Open

__all__ = [
    "ENOUGH",
    "OPEN",
    "RECENT",
    "STATE",
    "began_of",
    "compared_with",
    "contradicted",
    "events_of",
    "fixes_of",
    "found_of",
    "gone_dark",
    "groups_of",
    "host_of",
    "mended",
    "meta_of",
    "missing",
    "moves_of",
    "resolved_of",
]

#: Audits that the look at volatile facts goes back, and changes that are enough to tell their class.
RECENT, ENOUGH = 10, 20_000
_CUT = re.compile(r" and [0-9]+ more$")
#: What our roles left on the box, and which of it says that they are not done: a trial boot waits, or runs.
STATE, OPEN = "roles.state", ("staged", "trial")


def compared_with(store: Store, audit: AuditHead, options: JudgeOptions,
                  also: Collection[int] = ()) -> AuditHead | None:
    """``also``: audits of the hosts that this one did not ask, and the report has all the same."""
    if options.number is not None:
        earlier = store.audit(options.number)
        if options.number >= audit.id:
            raise UsageError(f"audit #{options.number} is not before #{audit.id}: nothing can have changed since",
                             Misuse.NO_SUCH)
        return earlier
    if isinstance(options.since, float):
        begin = options.since
        older = [head for head in store.audits() if head.id < audit.id and head.finished is not None]
        # The last one that ran before that time has seen the values of that time. One that heard none of these hosts
        # (it was of another inventory, or all were silent) knows nothing of them.
        early = [head for head in reversed(older) if head.started <= begin]
        late = [head for head in older if head.started > begin]
        names = store.names(audit.id, also)
        return next((head for head in (*early, *late) if not names.isdisjoint(store.names(head.id, answered=True))),
                    None)
    return store.previous(audit.id)


def host_of(state: HostState, problems: tuple[Problem, ...], kin: str) -> Host:
    return Host(state.host, state.group, state.hardware, state.status, state.reason,
                state.key or state.claimed, state.tunecheck, state.spec, state.boot_id, state.last_ok, state.last_ok_at,
                problems, state.outcomes, state.unknown, kin, unasked=state.unasked, first=state.first_audit,
                skipped=state.skipped, dark=state.dark, reported=state.reported)


def began_of(open_rows: Mapping[str, Sequence[Open]]) -> tuple[
        dict[str, Mapping[Thing, Since]], dict[str, frozenset[Thing]]]:
    """Since when each host has its problems, and which warnings among them stand. Hosts that share their rows share
    what is made of them."""
    began: dict[str, Mapping[Thing, Since]] = {}
    standing: dict[str, frozenset[Thing]] = {}
    made: dict[int, tuple[dict[Thing, Since], frozenset[Thing]]] = {}
    for host, rows in open_rows.items():
        if id(rows) not in made:
            made[id(rows)] = {key_of(row): row.since for row in rows}, _standing(rows)
        began[host], standing[host] = made[id(rows)]
    return began, standing


def found_of(open_rows: Mapping[str, Sequence[Open]]) -> dict[str, Mapping[str, Mapping[Thing, str]]]:
    """Host -> check -> what it failed, or warned of, and has not ended: thing -> fail or warn. Hosts that share their
    rows share what is made of them."""
    made: dict[int, dict[str, dict[Thing, str]]] = {}
    for rows in open_rows.values():
        if id(rows) not in made:
            found = made[id(rows)] = {}
            for row in rows:
                if row.outcome != "unknown":
                    found.setdefault(row.check, {})[key_of(row)] = row.outcome
    return {host: made[id(rows)] for host, rows in open_rows.items()}


def gone_dark(hosts: Iterable[Host | HostRow],
              open_rows: Mapping[str, Iterable[Open]]) -> dict[str, set[tuple[str, str, str, str]]]:
    """Host -> (check, subject, code, outcome) of what failed or warned, and of which its check says now that it is
    unknown."""
    found: dict[str, set[tuple[str, str, str, str]]] = {}
    for host in hosts:
        if not host.problems:       # most, where one host is read for many
            continue
        dark = {plain(problem.check, 200) for problem in host.problems if problem.outcome == "unknown"}
        if those := {(row.check, row.subject, row.code, row.outcome) for row in open_rows.get(host.host, ())
                     if dark and row.check in dark and row.outcome != "unknown"}:
            found[host.host] = those
    return found


def _standing(rows: Sequence[Open]) -> frozenset[Thing]:
    """The warnings of a host that were there when it was first heard, or came with our own roles. A host that loses a
    GPU and has it back loses and has back what was said of that, and a list that is cut short names others meanwhile:
    neither is another warning than before."""
    warnings = [row for row in rows if row.outcome == "warn" and row.check not in HAPPENING]
    found = {key_of(row) for row in warnings if row.since.after is None or row.ours or row.again}
    there = {check for check, _, _ in found}
    cut = {row.check for row in warnings if _CUT.search(row.subject)}
    return frozenset(found | {key_of(row) for row in warnings
                              if row.with_gpus and row.check in there & cut})


def missing(store: Store, audit: AuditHead, there: set[str]) -> tuple[Host, ...]:
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


def groups_of(hosts: Iterable[Host]) -> dict[str, str]:
    """Host -> its group in this audit. The store's rows of changes have the group of the newest audit, which may be one
    of another inventory."""
    return {host.host: host.group for host in hosts}


def moves_of(rows: Iterable[ChangeRow], groups: Mapping[str, str]) -> tuple[Move, ...]:
    return tuple(sorted((Move(row.host, groups.get(row.host, row.group), row.fact, row.before, row.value, row.since,
                              row.receipt is not None, row.held, left=row.left)
                         for row in rows), key=lambda move: (move.since.seen, move.fact, move.host)))


def resolved_of(store: Store, rows: Iterable[ProblemSince], hosts: Iterable[Host], audit: AuditHead
                ) -> tuple[Resolved, ...]:
    found, there = list(rows), {host.host: host for host in hosts}
    groups = groups_of(there.values())
    # What a host was judged with when something was found, where it is judged without a specification now.
    bare = {name for name, host in there.items() if host.told and host.spec is None}
    by = store.judged_by({(row.host, number) for row in found if row.outcome != "unknown" for number in (
        row.since.seen, (row.until or 0) - 1, row.until or 0)}, audit.id)

    def of(row: ProblemSince) -> Resolved:
        last, over = (row.host, (row.until or 0) - 1), (row.host, row.until or 0)
        return Resolved(row.host, groups.get(row.host, row.group), row.check, row.subject, outcome_of(row.outcome),
                        row.since, row.told, row.host in bare and by.get((row.host, row.since.seen)) is not None,
                        last in by and by[last] != by.get(over), row.ended, row.code)

    return tuple(sorted(map(of, found), key=lambda problem: (problem.check, problem.host, problem.subject,
                                                             problem.outcome)))


def mended(store: Store, open_moves: Iterable[Move], previous: AuditHead | None,
            audit: AuditHead) -> frozenset[tuple[str, str, str, int]]:
    """(host, check, subject, audit) of which a check found nothing more when such a change came: it was put right by
    that."""
    moved = {(move.host, move.since.seen) for move in open_moves}
    if not moved:
        return frozenset()
    first = min(seen for _, seen in moved)
    return frozenset((row.host, row.check, row.subject, row.until)
                     for row in store.problems_resolved(first - 1, audit.id, {host for host, _ in moved}, of="subject")
                     if row.until is not None and (row.host, row.until) in moved)


def contradicted(store: Store, moves: Iterable[Move], audit: AuditHead) -> frozenset[tuple[str, str, str, int, int]]:
    """(host, check, subject, since audit, until audit) of findings, over by now, that words of these facts may have
    been the reason of."""
    changed = [move for move in moves if may_be_asked(move.fact)]
    if not changed:
        return frozenset()
    first = min(move.since.seen for move in changed)
    return frozenset((row.host, row.check, row.subject, row.since.seen, row.until)
                     for row in store.problems_resolved(first - 1, audit.id, {move.host for move in changed})
                     if row.until is not None and row.check in CHECKING and row.outcome != "unknown")


def fixes_of(store: Store, moves: Iterable[Move], audit: AuditHead) -> tuple[FixSpan, ...]:
    """What the fixes of findings said on hosts where a fact changed that a fix may change."""
    hosts = {move.host for move in moves if may_be_fixed(move.fact)}
    return tuple(FixSpan(host, problem.check, problem.code, problem.puts, problem.takes, seen, until)
                 for host, problem, seen, until in store.told_spans(dict.fromkeys(hosts, BY_ID), audit.id)
                 if problem.puts or problem.takes or (problem.check, problem.code) in MISSES) if hosts else ()


def events_of(store: Store, audit: AuditHead) -> tuple[Event, ...]:
    """Who was replaced or renamed, up to this audit."""
    found = [Event(row.host, "replaced" if row.kind == "replaced" else "renamed", row.other, row.audit, row.before,
                   row.key, row.since)
             for row in store.identity_events(None, audit.id) if row.kind in ("replaced", "renamed")]
    return tuple(sorted(found, key=lambda event: (event.host, event.kind, event.other, event.audit)))


def meta_of(facts: Iterable[str], entries: Mapping[str, Entry] | None) -> dict[str, Meta]:
    from tunecheck.facts import registry

    known = getattr(registry, "entry_of", None)
    found: dict[str, Meta] = {}
    for fact in facts:
        entry = entries.get(fact) if entries is not None else known(fact) if known else None
        if entry is not None:
            found[fact] = Meta(entry.kind, entry.severity, entry.fix)
    return found
