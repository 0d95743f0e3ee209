"""An audit as JUnit XML, for CI: a suite per group, a case per fact that was judged in it and per check that has a
cause, never per host: a thousand hosts of 150 facts would be 150,000 cases.

A cause that counts is a failure with its hosts; a split and a waived cause are skipped; a standing, intended or
resolved one is told in the system-out of a case that passed; hosts that did not answer or answered in part are an error
of the case ``coverage``, which every group has; facts that a host which answered does not know are told in its
system-out.
"""

from __future__ import annotations

import datetime
from xml.etree import ElementTree

from tunecheck import __version__
from tunecheck.report.junit import legal
from tunecheck.util.host_names import fold, natural
from tunecheck.util.text import and_more

from ..fleet_report import Cause, FleetReport, HostRow, Split
from .text import change, coverage, groups, interval, kind, lasts, measured, shown_apart

__all__ = ["junit"]

_COVERAGE = "coverage"
#: Hosts of a failure that are named one by one; a CI page shows the text as it is.
_NAMED = 2000


def junit(report: FleetReport) -> str:
    """The whole file as text; ASCII, so that no reader can get its encoding wrong."""
    root = ElementTree.Element("testsuites", {"name": "tunecheck audit"})
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
        causes, splits = _by_fact(report, group)
        judged = {fact for at, fact in report.judged if at == group}
        for fact in sorted({*causes, *splits, *judged}, key=natural):
            _fact(suite, group, fact, causes.get(fact, []), splits.get(fact, []))
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="us-ascii"?>\n{ElementTree.tostring(root, "us-ascii").decode()}\n'


def _by_fact(report: FleetReport, group: str) -> tuple[dict[str, list[Cause]], dict[str, list[Split]]]:
    causes: dict[str, list[Cause]] = {}
    splits: dict[str, list[Split]] = {}
    for cause in report.causes:
        if cause.group == group:
            causes.setdefault(cause.fact, []).append(cause)
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


def _fact(suite: ElementTree.Element, group: str, fact: str, causes: list[Cause], splits: list[Split]) -> None:
    """One element says how the case went, or CI counts it twice."""
    case = _case(suite, group, fact)
    counted = [cause for cause in causes if cause.counts]
    rest = [cause for cause in causes if not cause.counts]
    waived = [cause for cause in rest if cause.waived]
    texts = [_cause_text(cause) for cause in rest] + [_divided(split) for split in splits]
    if counted:
        hosts = len({host for cause in counted for host in cause.hosts})
        message = f"{fact}: {change(counted[0])} on {hosts} host{'s' * (hosts != 1)}; {counted[0].expected}"
        more = and_more(len(counted) - 1, "; ")
        result = ElementTree.SubElement(case, "failure", {"message": legal(message + more),
                                                          "type": counted[0].authority})
        result.text = legal("\n\n".join(_cause_text(cause) for cause in counted))
    elif waived or splits:
        message = (f"waived {lasts(waived[0].waived)}: {waived[0].waived.reason}"
                   if waived and waived[0].waived else f"no verdict: {_divided(splits[0])}")
        ElementTree.SubElement(case, "skipped", {"message": legal(message)})
    if texts:
        ElementTree.SubElement(case, "system-out").text = legal("\n\n".join(texts))


def _cause_text(cause: Cause) -> str:
    lines = {kind(cause): f"{cause.subject} {change(cause)}".strip(), "expected": cause.expected, "found": cause.text,
             "severity": cause.severity, "since": interval(cause.since), "fix": cause.fix, "remedy": cause.remedy,
             f"{len(cause.hosts)} host{'s' * (len(cause.hosts) != 1)}": fold(cause.hosts[:_NAMED])}
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)


def _divided(split: Split) -> str:
    values = [measured(split.fact, value) for value, _ in split.shares[:10]]
    texts = zip(shown_apart(values, 60), split.parts, strict=False)
    shares = " / ".join(f"{value} on {count}" + (f" ({fold(names[:_NAMED])})" if names else "")
                        for value, (_, count, names) in texts)
    return f"{shares}{f'; {split.note}' if split.note else ''}"
