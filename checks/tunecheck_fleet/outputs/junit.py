"""An audit as JUnit XML, for CI: a suite per group, a case per fact that was judged in it and per check that has a
cause, never per host: a thousand hosts of 150 facts would be 150,000 cases.

A cause that is drift is a failure with its hosts. What could not be judged is an error, as in the JUnit of one box: CI
counts errors apart from failures, and shows what is skipped as well; skipped is what somebody decided (a waiver), or a
split, which has no verdict. A standing, intended or resolved cause is told in the system-out of a case that passed, and
what could not be judged in that of a case that fails for other hosts. Hosts that did not answer or answered in part are
an error of the case ``coverage``, which every group has; facts that a host which answered does not know are told in its
system-out.

A case has the name of its fact, which stays the same; what it says begins with the title that the report has for it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

from tunecheck import __version__
from tunecheck.report.junit import legal
from tunecheck.util.host_names import fold, natural
from tunecheck.util.text import and_more

from ..entries import Entry
from ..fleet_report import FleetReport, HostRow, Split
from ..value_words import measured
from ..whole_causes import shown
from .counts import UNREAD
from .entry_words import approving, fix, judgement, lead, needs, part_of, plural, says, silence, title
from .text import UNJUDGED, counted_as, coverage, groups, interval, kind, lasts, shown_apart

__all__ = ["junit"]

_COVERAGE = "coverage"
#: Hosts of a failure that are named one by one; a CI page shows the text as it is.
_NAMED = 2000


def junit(report: FleetReport) -> str:
    """The whole file as text; ASCII, so that no reader can get its encoding wrong."""
    root = ElementTree.Element("testsuites", {"name": "tunecheck audit"})
    found = shown(report, each=True)
    started = datetime.datetime.fromtimestamp(report.audit.started, datetime.UTC)
    for group in groups(report):
        suite = ElementTree.SubElement(root, "testsuite", {
            "name": legal(group), "time": "0", "timestamp": started.strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": legal(report.audit.scope)})
        properties = ElementTree.SubElement(suite, "properties")
        for key, value in {"tunecheck": __version__, "audit": str(report.audit.id),
                           "previous": str(report.previous.id) if report.previous else "none",
                           "coverage": coverage(report)}.items():
            ElementTree.SubElement(properties, "property", {"name": key, "value": legal(value)})
        _coverage(suite, group, [row for row in report.hosts if row.group == group])
        causes, splits = _by_fact(report, found, group)
        judged = {fact for at, fact in report.judged if at == group}
        for fact in sorted({*causes, *splits, *judged}, key=natural):
            _fact(suite, group, fact, causes.get(fact, []), splits.get(fact, []))
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="us-ascii"?>\n{ElementTree.tostring(root, "us-ascii").decode()}\n'


def _by_fact(report: FleetReport, found: Sequence[Entry],
             group: str) -> tuple[dict[str, list[Entry]], dict[str, list[Split]]]:
    causes: dict[str, list[Entry]] = {}
    splits: dict[str, list[Split]] = {}
    for each in found:
        if own := each.lead.of_group(group):
            here = each if len(own) == len(each.lead.hosts) else replace(each, lead=each.lead.on(own))
            causes.setdefault(each.lead.fact, []).append(here)
    for split in report.splits:
        if split.group == group:
            splits.setdefault(split.fact, []).append(split)
    return causes, splits


def _count(element: ElementTree.Element) -> None:
    cases = list(element.iter("testcase"))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("tests", str(len(cases)))


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": legal(f"tunecheck_fleet.{group}"),
                                                      "name": legal(name), "time": "0"})


def _coverage(suite: ElementTree.Element, group: str, rows: list[HostRow]) -> None:
    case = _case(suite, group, _COVERAGE)
    missing = [row for row in rows if row.status != "ok"]
    unknown = [row for row in rows if row.status == "ok" and row.unknown]
    if missing:
        silent = sum(row.status not in ("ok", "partial") for row in missing)
        result = ElementTree.SubElement(case, "error", {
            "message": f"of {len(rows)} host{'s' * (len(rows) != 1)} {silent} did not answer, {len(missing) - silent} "
                       "answered in part", "type": _COVERAGE})
        result.text = legal("\n".join(f"{row.host}: {row.status}{f': {row.reason}' if row.reason else ''}"
                                      for row in missing[:_NAMED]))
    if unknown:
        ElementTree.SubElement(case, "system-out").text = legal("\n".join(
            f"{row.host}: answered, but unknown are {fold(row.unknown, 200)}" for row in unknown[:_NAMED]))


def _fact(suite: ElementTree.Element, group: str, fact: str, found: list[Entry], splits: list[Split]) -> None:
    """One element says how the case went, or CI counts it twice."""
    case = _case(suite, group, fact)
    drifted = [each for each in found if each.lead.drifts]
    unread = [each for each in found if counted_as(each.lead) == UNJUDGED]
    told = drifted or unread
    rest = [each for each in found if each not in told]
    waived = [each.lead.waived for each in rest if each.lead.waived]
    if told:
        result = ElementTree.SubElement(case, "failure" if drifted else "error", {
            "message": legal(_message(told)), "type": told[0].lead.authority})
        result.text = legal("\n\n".join(_cause_text(each) for each in told))
    elif waived or splits:
        message = f"waived {lasts(waived[0])}: {waived[0].reason}" if waived else f"no verdict: {_divided(splits[0])}"
        ElementTree.SubElement(case, "skipped", {"message": legal(message)})
    if texts := [_cause_text(each) for each in rest] + [_divided(split) for split in splits]:
        ElementTree.SubElement(case, "system-out").text = legal("\n\n".join(texts))


def _message(told: list[Entry]) -> str:
    """Of all that the element is about, in a line."""
    first, on = told[0], f"on {plural(len({host for each in told for host in each.lead.hosts}), 'host')}"
    what = f"{UNREAD} {on}: {_said(first)}" if first.lead.unjudged else f"{_said(first)} {on}"
    return "; ".join(part for part in (what, judgement(first), part_of(first)) if part) + and_more(len(told) - 1, "; ")


def _said(finding: Entry) -> str:
    """As the report has it: its title, and what stands behind that."""
    behind = says(finding)
    return f"{title(finding)}{': ' * bool(behind)}{behind}"


def _cause_text(finding: Entry) -> str:
    cause, said = finding.lead, _said(finding)
    lines = {UNREAD if counted_as(cause) == UNJUDGED else kind(cause): said,
             "part of": part_of(finding).removeprefix("part of "), "fact": lead(finding),
             "expected": judgement(finding), "found": "" if cause.text in said else cause.text,
             "severity": "" if cause.unjudged else cause.severity, "since": interval(cause.since),
             "told as of then": "; ".join(silence(cause)),
             "": "" if cause.waived or cause.state == "resolved" else needs(finding), "fix": fix(cause),
             "approve": approving(finding), plural(len(cause.hosts), "host"): fold(cause.hosts[:_NAMED])}
    return "\n".join(f"{name}{': ' * bool(name)}{value}" for name, value in lines.items() if value)


def _divided(split: Split) -> str:
    values = [measured(split.fact, value) for value, _ in split.shares[:10]]
    texts = zip(shown_apart(values, 60), split.parts, strict=False)
    shares = " / ".join(f"{value} on {count}" + (f" ({fold(names[:_NAMED])})" if names else "")
                        for value, (_, count, names) in texts)
    return f"{shares}{f'; {split.note}' if split.note else ''}"
