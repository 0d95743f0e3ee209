"""What a report counts, the same in every output: its heading, its last line, and what each host has. What could not be
judged is counted by itself: it says nothing of the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tunecheck.rules.index import BY_ID

from ..entries import Entry, entries
from ..fleet_report import FleetReport
from ..judge.verdict import outcome
from .entry_words import plural
from .text import NOT_DRIFT, OPEN, UNJUDGED, counted_as, kind

__all__ = ["UNREAD", "by_kind", "drifted", "kinds_of_hosts", "of_hosts", "summary", "unjudged", "verdict_line",
           "verdict_word"]

#: What is said of what nobody could ever look at.
UNREAD = "could not be judged"


def verdict_word(report: FleetReport) -> str:
    """The word that the last line begins with."""
    return outcome(report).upper()


def drifted(report: FleetReport) -> set[str]:
    """The hosts with anything that was found and counts, with what an entry brought: they may be more than those of
    the cause that leads."""
    return {host for cause in report.drift for host in cause.hosts}


def unjudged(report: FleetReport) -> set[str]:
    """The hosts with anything that could not be judged."""
    return {host for cause in report.unjudged for host in cause.hosts}


def verdict_line(report: FleetReport) -> str:
    """The last line: DRIFT, CLEAN or UNKNOWN, on how many hosts, and how many were not heard; and since when, where
    that was asked for: then it may count others than the audit alone. What happened together is one cause, as in the
    list, also where -v shows each fact of it."""
    counted = [found.lead for found in entries(report.causes) if found.lead.counts]
    told = [cause for cause in counted if not cause.unjudged]
    silent = max(report.audit.asked, len(report.hosts)) - report.answered
    partial = report.count("partial")
    gaps = [f"{silent} did not answer"] * bool(silent) + [f"{partial} answered in part"] * bool(partial)
    # No verdict is no good one: a group that does not agree is named, whatever else there is.
    undecided = f"; {plural(len(report.splits), 'split')} without a verdict" if report.splits else ""
    tail = f"{undecided}; {' and '.join(gaps)}" if gaps else undecided
    of = f" of {report.fact}" if report.fact else ""
    over = f", over all audits since #{report.previous.id}" if report.over_audits and report.previous else ""
    if not report.answered:
        earlier = f"; {plural(len(counted), 'cause')}{of} from earlier audits" if counted else ""
        return f"UNKNOWN: no host answered, nothing was judged{earlier}{tail}"
    if outcome(report) == "clean":
        # A check asks less of such a host: the specification may name a number, and every host only has one.
        bare = sum(not row.specified for row in report.hosts if row.status in ("ok", "partial"))
        by = f"; {bare} judged without a specification" if report.fact in BY_ID and bare else ""
        return f"CLEAN: no drift{of} on the {plural(report.answered, 'host')} that answered{over}{by}{tail}"
    hosts, blind = drifted(report), len(counted) - len(told)
    if not told:
        on = f"on {plural(len(unjudged(report)), 'host')}"
        # A warning that stands is no drift, and not nothing.
        stand = sum(kind(found.lead) == "standing" for found in entries(report.causes))
        besides = f"; {stand} standing" if stand else ""
        return f"UNKNOWN: {plural(blind, 'cause')}{of} {on} {UNREAD}, and no drift was found{over}{besides}{tail}"
    on = f"on {plural(len(hosts), 'host')}"
    return f"DRIFT: {plural(len(told), 'cause')}{of} {on}{over}{f'; {blind} {UNREAD}' if blind else ''}{tail}"


def by_kind(findings: Iterable[Entry]) -> Counter[str]:
    """How many entries are new, known and so on: one for one thing that happened."""
    return Counter(counted_as(each.lead) for each in findings)


def summary(findings: Sequence[Entry]) -> str:
    """"3 new, 2 known; 4 could not be judged; 1 waived": one entry for one thing that happened."""
    counts = by_kind(findings)
    blind = counts[UNJUDGED]
    open_ones = ", ".join(f"{counts[word]} {word}" for word in OPEN if counts[word])
    rest = ", ".join(f"{counts[word]} {word}" for word in NOT_DRIFT if counts[word])
    unread = f"{blind} {UNREAD}" if blind else ""
    return "; ".join(part for part in (open_ones or ("" if blind else "none"), unread, rest) if part)


def of_hosts(report: FleetReport) -> dict[str, dict[str, int]]:
    """Host -> how many entries that count name it: high, medium, low, and unjudged."""
    found: dict[str, Counter[str]] = {}
    for each in entries(report.causes):
        for host in each.lead.hosts if each.lead.counts else ():
            found.setdefault(host, Counter())[UNJUDGED if each.lead.unjudged else each.lead.severity] += 1
    return {host: dict(counts) for host, counts in found.items()}


def kinds_of_hosts(report: FleetReport) -> dict[str, dict[str, int]]:
    """Host -> how many entries name it: as drift, as unjudged, and of each kind that is no drift."""
    found: dict[str, Counter[str]] = {}
    for each in entries(report.causes):
        word = counted_as(each.lead)
        for host in each.lead.hosts:
            found.setdefault(host, Counter())["drift" if word in OPEN else word] += 1
    return {host: dict(counts) for host, counts in found.items()}
