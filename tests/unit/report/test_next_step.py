"""The one next step is believed only by who sees its reason: what it names stands above it on the same screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.report.all_reports import reports

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.report.grouping import worst_first
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_NEXT = re.compile(r"^next: ", re.MULTILINE)
_CHECK = re.compile(r"tunecheck explain ([a-z0-9-]+)|\(([a-z0-9-]+) says why\)")
#: What is counted only tells nobody why.
_COUNTED = re.compile(r"^(?:UNKNOWN|WARN   ) \d+ more (?:findings of \d+ )?checks? [^\n]*(?:\n {8}[^\n]*)*",
                      re.MULTILINE)


def _unseen(text: str) -> str:
    """The part of the next step that nothing above it has; "" where all of it is there."""
    if not (found := _NEXT.search(text)):
        return ""
    above, step = _COUNTED.sub("", text[:found.start()]), " ".join(text[found.end():].split())
    if checks := [first or second for first, second in _CHECK.findall(step)]:
        shown = r"^(?:FAIL|WARN|UNKNOWN) .*\b{0}\b|^ {{8}}.*\b{0}\b"
        return next((each for each in checks if not re.search(shown.format(each), above, re.MULTILINE)), "")
    command = step.removeprefix("on the box: ").partition(" > ")[0].partition("; ")[0]
    if command.startswith("sudo tunecheck "):
        return "" if re.search(r"^UNKNOWN .*\broot\b|^ {8}.*\broot\b", above, re.MULTILINE) else "root"
    return "" if command in " ".join(above.split()) else command


@pytest.mark.parametrize("width", [80, 120])
def test_the_reason_of_the_next_step_is_on_the_screen(width: int) -> None:
    unseen = {}
    for each in reports():
        text = render(each.verb, each.case, each.findings, Style(width), imported=each.imported)
        if what := _unseen(text):
            unseen[f"{each.name}, {each.verb}"] = what
    assert unseen == {}


def test_v_has_a_fix_only_where_the_screen_left_one_out() -> None:
    """It is named for the fix of the check that the step names: where that fix is shown whole there is no need of
    it."""
    wrong, said = [], 0
    for each in reports():
        text = " ".join(render(each.verb, each.case, each.findings, Style(80), imported=each.imported).split())
        told = "next: -v has the fix for this box" in text
        bare = " ".join(re.findall(r"\w+", text))
        said += told
        first = next((one for one in worst_first(each.findings) if one.outcome in ("fail", "warn")), None)
        fix = first.remedy if first else None
        shown = fix is None or any(
            " ".join(re.findall(r"\w+", way)) in bare for way in (fix.text, fix.play_text) if way)
        if told is shown and (told or "next: tunecheck explain" in text):
            wrong.append(f"{each.name}, {each.verb}")
    assert wrong == [] and said, "there are both"


def test_a_text_that_is_added_joins_those_that_were_given() -> None:
    """A report of the new text alone would lose what the others tell."""
    said = 0
    for each in reports():
        text = " ".join(render(each.verb, each.case, each.findings, Style(120), imported=each.imported).split())
        step = text.rpartition(" next: ")[2]
        if " --from " in step and " next: " in text:
            said += 1
            assert "into a folder box/ with these texts" in step and " --from box/" in step, (each.name, step)
    assert said


_FIGURES = """Device: 0, NVIDIA H200, pciBusID: 3, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA H200, pciBusID: 4, pciDeviceID: 0, pciDomainID:0
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1500.00  380.24
     1 380.24  1500.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1500.00  740.04
     1 740.04  1500.00
"""


@pytest.mark.parametrize("width", range(40, 201, 20))
def test_the_next_step_is_that_of_the_unknown_finding_that_leads(width: int, tmp_path: Path) -> None:
    """Where texts show no fault: what the first finding asks for, and not what most of the others lack."""
    text = tmp_path / "p2p.txt"
    text.write_text(_FIGURES)
    case = Case(gather(load_import(str(text)), None, True))
    findings = judge(case, "preflight")
    (lead,) = [each for each in findings if each.id == "bench-figures"]
    assert lead.code == "no-comparison" and lead.remedy
    said = " ".join(render("preflight", case, findings, Style(width), imported=True).split())
    (command,) = [each.shown for each in lead.remedy.commands]
    above, _, step = said.partition(" next: ")
    assert command == "nvidia-smi topo -m" and command in step and command in above
    assert "lspci" not in step
