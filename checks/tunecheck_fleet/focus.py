"""The part of a report that is about one host or one fact."""

from __future__ import annotations

from dataclasses import replace

from tunecheck.rules.index import BY_ID

from .fleet_report import FleetReport, HostRow, Note
from .judge.authority import about
from .judge.not_judged import not_judged

__all__ = ["focus"]


def focus(report: FleetReport, host: str | None, fact: str | None) -> FleetReport:
    """A report of that host alone, of that fact (or check) alone. A fact that ends in a dot is a family. What a report
    about one host has to be asked for (``report(about=host)``): a cause of many hosts has the words of one of them."""
    if host is not None:
        rows = tuple(row for row in report.hosts if row.host == host)
        report = replace(
            report, hosts=rows, audit=replace(report.audit, asked=len(rows)), timeline=(),
            splits=tuple(split for split in report.splits if split.group in {row.group for row in rows}),
            notes=tuple(note for note in report.notes if isinstance(note, Note) and (note.hides or host in note.hosts)),
            causes=tuple(replace(cause, hosts=(host,), group=cause.group_of.get(host, cause.group), group_of={})
                         for cause in report.causes if host in cause.hosts))
    if fact is not None:
        # What a check has the say about is told as its finding alone: asked by the fact's name, it is that.
        causes = tuple(each for each in report.causes
                       if _is(each.fact, fact) or about(each.fact, each.subject, fact))
        blind = not_judged(fact, report.hosts, causes) if fact in BY_ID else ()
        report = replace(report, causes=(*causes, *blind), beside=report.beside or report.causes,
                         splits=tuple(each for each in report.splits if _is(each.fact, fact)),
                         judged=tuple(each for each in report.judged if _is(each[1], fact)),
                         hosts=tuple(_of(row, fact) for row in report.hosts), fact=fact,
                         notes=tuple(part for note in report.notes if isinstance(note, Note)
                                     for part in (note.parts or (note,))
                                     if any(_is(name, fact) for name in part.facts)))
    return report


def _of(row: HostRow, fact: str) -> HostRow:
    """The host as far as the fact goes: where it is another one that a box could not tell, the box is no gap."""
    unknown = {name: why for name, why in row.unknown.items() if _is(name, fact) or (
        name.endswith(".") and fact.startswith(name))}
    partial = row.status == "partial" and not unknown
    return replace(row, unknown=unknown, status="ok" if partial else row.status, reason="" if partial else row.reason)


def _is(name: str, wanted: str) -> bool:
    return name.startswith(wanted) if wanted.endswith(".") else name == wanted
