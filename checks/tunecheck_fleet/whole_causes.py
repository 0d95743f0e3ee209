"""Every cause of a report once and whole, with the entries that it is in (entries.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .entries import Entry, entries, whole
from .fleet_report import Cause, FleetReport

__all__ = ["each_cause", "shown"]


def each_cause(causes: Iterable[Cause]) -> list[Entry]:
    """Every cause once and on all of its hosts, what leads before all that is in its entry: what has one id is one
    thing, though it may be in the entries of several."""
    ranked = list(causes)
    whole_of = {_named(cause): cause for cause in ranked if cause.id}
    found = entries(ranked)
    leading = {_named(entry.lead) for entry in found if entry.lead.id}
    parts: dict[tuple[str, bool], list[tuple[tuple[str, ...], Entry]]] = {}
    for entry in found:
        for cause in entry.more:
            parts.setdefault(_named(cause), []).append((cause.hosts, entry))
    told: set[tuple[str, bool]] = set()
    listed = []
    for entry in found:
        name = _named(entry.lead)
        listed.append(_with_parts(entry, whole_of, parts[name]) if name in parts and name in whole_of else entry)
        for cause in entry.more:
            name = _named(cause)
            if name not in whole_of:
                listed.append(Entry(cause, part_of=entry))
            elif name not in leading | told:
                told.add(name)
                alone = len(parts[name]) == 1
                listed.append(Entry(cause, part_of=entry) if alone else Entry(whole_of[name], parts=tuple(parts[name])))
    return listed


def _with_parts(entry: Entry, whole_of: Mapping[tuple[str, bool], Cause],
                parts: Sequence[tuple[tuple[str, ...], Entry]]) -> Entry:
    """What leads, on all of the hosts that have it. Its fix is that of its own entry."""
    lead = whole_of[_named(entry.lead)]
    return replace(entry, lead=whole(lead, entry.more), parts=tuple(parts))


def shown(report: FleetReport, each: bool = False) -> list[Entry]:
    """The entries of a report; with ``each`` every cause. A cause whose entry is led by one that this report does not
    show is a part of that entry all the same."""
    found = each_cause(report.causes) if each else entries(report.causes)
    if not report.beside:
        return found
    parts = {(*_named(each.lead), host): around for each in each_cause(report.beside)
             for hosts, around in (*each.parts, *([(each.lead.hosts, each.part_of)] if each.part_of else ()))
             for host in hosts}
    return [replace(each, part_of=_around(each.lead, parts) or each.part_of) for each in found]


def _named(cause: Cause) -> tuple[str, bool]:
    return cause.id, cause.state == "resolved"


def _around(cause: Cause, parts: Mapping[tuple[str, bool, str], Entry]) -> Entry | None:
    """The entry that it is in on all of its hosts; None where it stands for itself on one, or is in several."""
    around = [parts.get((*_named(cause), host)) for host in cause.hosts]
    return around[0] if around and all(each is around[0] for each in around) else None
