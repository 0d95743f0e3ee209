"""Waived rows still run and show, but do not count; a waiver that is over, or matches nothing, is said."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import filter as matching
from fnmatch import fnmatchcase
from functools import cache

from tunecheck.util.text import some

from ...fleet_report import Note, Waived
from ...model import codes_of
from ...store.rows import Waiver
from ..authority import checks_of
from ..causes import causes
from ..rows import VALUES, Row
from ..view import View, canon
from ..view_rows import Host

__all__ = ["judged_by", "matches", "may_be_waived", "waive"]

#: An accepted value is so for good: the end of the year 9999, for JSON has no infinity.
_NEVER = 253402300799.0
#: What makes a name a pattern.
_PATTERN = frozenset("*?[")


def waive(view: View, rows: Iterable[Row]) -> tuple[list[Row], list[Note], list[int]]:
    """The rows, those that are waived marked so; notes; and the ids of the waivers that matched. Of several that match
    the one that lasts longest is named."""
    now = view.now
    order = sorted(view.waivers, key=lambda waiver: (-(_NEVER if waiver.until is None else waiver.until), waiver.id))
    hits: dict[int, int] = {waiver.id: 0 for waiver in order}
    done = []
    for row in rows:
        fitting = [waiver for waiver in order if row.state != "resolved" and matches(waiver, row)]
        for waiver in fitting:
            hits[waiver.id] += 1
        live = next((waiver for waiver in fitting if _live(waiver, now)), None)
        done.append(row if live is None else row._replace(waived=Waived(
            live.id, _NEVER if live.until is None else live.until, live.author, live.reason)))
    done = _with_what_follows(view, done)
    notes = [Note(text, waiver.fact.partition("/")[0]) for waiver in sorted(order, key=lambda waiver: waiver.id)
             if (text := _note(view, waiver, hits[waiver.id]))]
    return done, notes, sorted(number for number, count in hits.items() if count)


def _with_what_follows(view: View, rows: list[Row]) -> list[Row]:
    """A waiver covers what the same thing moved besides: a lost GPU is seen by forty facts. What happened after it was
    made is news."""
    from ...entries import entries

    hosts = {(row.host, row.group) for row in rows if row.waived}
    if not hosts:
        return rows
    made = {waiver.id: waiver.created for waiver in view.waivers}
    theirs = [row for row in rows if (row.host, row.group) in hosts and row.state != "resolved"]
    leads = {_name(row): row.waived for row in theirs if row.waived}
    covered: dict[tuple[str, str, str, int], Waived] = {}
    for entry in entries(causes(row._replace(waived=None) for row in theirs)):
        seen = {host: wave.since.seen for wave in entry.lead.all_waves if wave.since for host in wave.hosts}
        for cause in entry.more:
            for host in {*cause.hosts} & seen.keys():
                waived = leads.get((host, entry.lead.fact, _kind(entry.lead.authority), seen[host]))
                if waived is not None:
                    waived = replace(waived, follows=True)
                    covered[host, cause.fact, _kind(cause.authority), seen[host]] = waived
    return [row._replace(waived=waived) if row.waived is None and row.state != "resolved"
            and row.since is not None and (waived := covered.get(_name(row))) is not None
            and row.since.seen_at <= made[waived.id] else row for row in rows]


def _name(row: Row) -> tuple[str, str, str, int]:
    return row.host, row.fact, _kind(row.authority), row.since.seen if row.since is not None else -1


def _kind(authority: str) -> str:
    """The same for all that say which value a host has: hosts of one cause may be told by several."""
    return "value" if authority in VALUES else authority


def matches(waiver: Waiver, row: Row) -> bool:
    """``fact`` is a pattern for a fact's name, a family ending in a dot, or for the desired state the check's id, alone
    or with "/subject" or "/code" (of a fault that is told with several causes, any of its codes), or the name of the
    fact where the check judges no other."""
    pattern = f"{waiver.fact}*" if waiver.fact.endswith(".") else waiver.fact
    return (fnmatchcase(row.group, waiver.group or "*") and fnmatchcase(row.host, waiver.host or "*")
            and any(fnmatchcase(name, pattern) for name in
                {row.fact, f"{row.fact}/{row.subject}", row.about, *_by_code(row.fact, row.code)})
            and (waiver.value is None or waiver.value == canon(row.value)))


@cache
def _by_code(check: str, code: str) -> tuple[str, ...]:
    return tuple(f"{check}/{each}" for each in codes_of(check, code))


def may_be_waived(waivers: Iterable[Waiver], names: Collection[str], hosts: Mapping[str, Host]) -> set[str]:
    """The hosts of which a waiver may cover what is told of one of these facts and checks."""
    found: set[str] = set()
    for waiver in waivers:
        pattern = waiver.fact.endswith(".") or not _PATTERN.isdisjoint(waiver.fact)
        if pattern or any(waiver.fact == name or waiver.fact.startswith(f"{name}/") for name in names):
            found.update(name for name in matching(hosts, waiver.host or "*")
                         if fnmatchcase(hosts[name].group, waiver.group or "*"))
    return found


def _live(waiver: Waiver, now: float) -> bool:
    return waiver.until is None or now < waiver.until


def _note(view: View, waiver: Waiver, count: int) -> str:
    what = f"waiver {waiver.id} ({_shown(waiver)}; {waiver.author}: {waiver.reason[:120]})"
    if not _live(waiver, view.now):
        day = datetime.fromtimestamp(min(waiver.until or 0.0, _NEVER), UTC).strftime("%Y-%m-%d")
        counted = f"its {count} {'value counts' if count == 1 else 'values count'} again" if count else \
            "nothing of it is left; remove it"
        return f"{what} expired on {day}: {counted}"
    # An accepted value waits for a box that has it; a waiver that waits for nothing is a mistake in its pattern.
    # Of an audit that is older it could have matched nothing.
    late = waiver.created > (view.audit.finished or view.now)
    if count or waiver.kind == "accept" or late or not _asked(view, waiver):
        return ""
    return f"{what} matches nothing: {judged_by(waiver.fact) or 'is it mistyped, or done with?'}"


def judged_by(fact: str) -> str:
    """Return which checks have the say about the fact, as a sentence; "" where none has."""
    checks = checks_of(fact)
    return f"{some(checks, 3, ', ')} {'judges' if len(checks) == 1 else 'judge'} {fact}, so name the check" \
        if checks else ""


def _asked(view: View, waiver: Waiver) -> bool:
    """Whether this audit could have matched it: a host of another --limit, or one that never answered, says nothing."""
    hosts = [host for host in view.hosts if fnmatchcase(host.host, waiver.host or "*")]
    if not hosts:
        return not any(fnmatchcase(name, waiver.host or "*") for name in view.known)
    hosts = [host for host in hosts if fnmatchcase(host.group, waiver.group or "*")]
    if not hosts:
        return view.known <= {host.host for host in view.hosts}
    return any(host.told for host in hosts)


def _shown(waiver: Waiver) -> str:
    return " ".join(f"{word} {pattern}" for word, pattern in (
        ("group", waiver.group), ("host", waiver.host), ("fact", waiver.fact), ("value", waiver.value or ""))
        if pattern and pattern != "*")[:200] or "everything"
