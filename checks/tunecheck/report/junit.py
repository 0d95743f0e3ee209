"""Findings as JUnit XML, for CI: one test case per finding.

fail -> failure, unknown -> error, skip -> skipped; a warning passes and says so in system-out. The order of elements is
that of Jenkins' junit-10.xsd, which GitLab, GitHub actions and Azure read too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ..model.finding import Finding
from ..util.at_first_use import regex

if TYPE_CHECKING:
    from .document import Run

__all__ = ["junit", "legal"]

#: What XML 1.0 cannot hold in any form: most control characters, surrogates, two noncharacters.
_ILLEGAL = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT = {"fail": "failure", "unknown": "error", "skip": "skipped"}


def junit(run: Run) -> str:
    """Return the whole file as text. It is ASCII, so that no reader can get its encoding wrong."""
    data, findings = run.document, run.findings
    outcomes = Counter(finding.outcome for finding in findings)
    counts = {"tests": str(len(findings)), "failures": str(outcomes["fail"]), "errors": str(outcomes["unknown"])}
    name = f"tunecheck {data['verb']}"
    root = ElementTree.Element("testsuites", {"name": name, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {
        "name": name, **counts, "skipped": str(outcomes["skip"]), "time": "0",
        "timestamp": run.when.strftime("%Y-%m-%dT%H:%M:%S"), "hostname": legal(data["host"] or "unknown")})
    properties = ElementTree.SubElement(suite, "properties")
    spec = data.get("spec") or {}       # an acceptance has none
    for key, value in {"tunecheck": data["tunecheck"], "boot_id": data["boot_id"], "profile": spec.get("profile"),
                       "spec_digest": spec.get("digest"), "outcome": data["outcome"]}.items():
        if value is not None:
            ElementTree.SubElement(properties, "property", {"name": key, "value": legal(str(value))})
    # CI tells cases apart by their names alone.
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        seen[finding.id, finding.subject] += 1
        count = seen[finding.id, finding.subject]
        _case(suite, finding, f"{finding.subject} #{count}" if count > 1 else finding.subject)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="us-ascii"?>\n{ElementTree.tostring(root, "us-ascii").decode()}\n'


def _case(suite: ElementTree.Element, finding: Finding, name: str) -> None:
    case = ElementTree.SubElement(suite, "testcase", {
        "classname": f"tunecheck.{finding.id}", "name": legal(name) or finding.id, "time": "0"})
    element = _ELEMENT.get(finding.outcome)
    if element:
        result = ElementTree.SubElement(case, element, {"message": legal(finding.message)})
        if element != "skipped":
            result.set("type", finding.layer)
            result.text = legal(_details(finding))
    elif finding.outcome == "warn":
        ElementTree.SubElement(case, "system-out").text = legal(f"WARN {finding.message}\n{_details(finding)}")


def _details(finding: Finding) -> str:
    lines = {"observed": finding.observed, "expected": finding.expected, "layer": finding.layer,
             "evidence": "\n  ".join(finding.evidence), "fix": finding.remedy.text if finding.remedy else ""}
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)


def legal(text: str) -> str:
    """Return the text with an escape in place of each character that XML cannot hold."""
    return _ILLEGAL.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
