"""One cause is one entry; and a report that only lacks evidence says that nothing is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, case_of, findings_of
from tests.unit.facts.trees import Machine, full, switches

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.report.text_parts import nothing_wrong
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def _with_a_silent_gpu(gpus: int) -> Machine:
    machine = full(switches(gpus))
    board = next(name for name in sorted(machine.lists["/sys/bus/pci/devices"])
                 if machine.reads[f"/sys/bus/pci/devices/{name}/class"].startswith(b"0x0302"))
    return machine.file(f"/sys/bus/pci/devices/{board}/config", b"\xff" * 4096)


@pytest.mark.parametrize("gpus", [2, 4, 8])
@pytest.mark.parametrize("width", [0, 60, 80])
def test_what_a_silent_gpu_leaves_open_is_one_entry(gpus: int, width: int) -> None:
    case = Case(gather(_with_a_silent_gpu(gpus).host(), None, True))
    findings = judge(case, "topo")
    payload = [each for each in findings if each.id == "link-payload" and each.outcome == "unknown"]
    assert len(payload) == gpus, "every GPU is open, as what one of them takes is not known"
    text = render("topo", case, findings, Style(width))
    rows = [row for row in re.split(r"(?m)^(?=[A-Z]{4,7} )", text)
            if row.startswith("UNKNOWN") and "link-payload" in row]
    assert len(rows) == 1 and f"link-payload ({gpus})" in rows[0] and "does not answer" in " ".join(rows[0].split())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_nothing_wrong_is_said_where_nothing_is(path: Path) -> None:
    _, case, verb = case_of(path)
    findings = list(findings_of(path))
    outcomes = {each.outcome for each in findings}
    for imported in (True, False):
        said = nothing_wrong(findings, imported, "nvidia-smi -q")
        assert bool(said) == ("fail" not in outcomes and {"unknown", "pass"} <= outcomes), said
        assert ("nothing wrong" in said) <= (not {"fail", "warn"} & outcomes)
        for width in (0, 60, 80):
            flat = " ".join(render(verb, case, findings, Style(width), imported=imported).split())
            assert (nothing_wrong(findings, imported) in flat) if said else "nothing wrong was" not in flat or (
                imported and outcomes in ({"unknown"}, {"unknown", "skip"}) and "seen: " in flat)


def test_the_sentence_counts_and_names_the_output() -> None:
    passed, unknown = (Finding("swap", "ok", "", outcome, "effective", "x") for outcome in ("pass", "unknown"))
    warned = Finding("smt", "off", "", "warn", "effective", "x")
    assert nothing_wrong([passed, unknown], True, "nvidia-smi -q").endswith("1 finding passed; to judge more, add the "
                                                                             "output of nvidia-smi -q")
    assert "2 findings passed, and 1 warns" in nothing_wrong([passed, passed, warned, unknown], False)
    assert nothing_wrong([unknown], True) == nothing_wrong([passed], True) == ""


@pytest.mark.parametrize("path", [path for path in CASES if "persistence" in path.stem], ids=lambda path: path.stem)
def test_persistence_is_warned_of_once(path: Path) -> None:
    _, case, _ = case_of(path)
    found = {each.id for each in judge(case, "driver") if each.id in ("gpu-persistence", "persistence-daemon")
             and each.outcome in ("fail", "warn")}
    assert len(found) < 2
