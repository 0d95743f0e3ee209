"""A healthy machine's `nvidia-smi -q`, cut at a line: nothing is wrong that is not wrong by the whole text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.hgx_report import BUSES, REPORT
from tests.unit.imports.test_import import folder

from tunecheck.errors import TunecheckError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_LINES = REPORT.splitlines(keepends=True)
_STARTS = [number for number, line in enumerate(_LINES) if line.startswith("GPU 0000")]


def _findings(tmp_path: Path, text: str) -> list[Finding]:
    return list(judge(Case(gather(load_import(folder(tmp_path, text)), None, True)), "preflight"))


def _wrong(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(finding.id, finding.code) for finding in findings if finding.outcome in ("fail", "warn")}


def _at(gpu: int, every_line: bool) -> list[int]:
    """The line numbers at which to cut inside one GPU: each, or where a section starts or ends."""
    lines = range(_STARTS[gpu], _STARTS[gpu + 1] if gpu + 1 < len(_STARTS) else len(_LINES))
    return [number for number in lines
            if every_line or not _LINES[number].startswith("        ") or not _LINES[number - 1].startswith("        ")]


def test_the_whole_text_is_healthy(tmp_path: Path) -> None:
    assert _wrong(_findings(tmp_path, REPORT)) == set()


@pytest.mark.parametrize(("gpu", "every_line"), [(gpu, gpu == 1) for gpu in range(8)])
def test_a_cut_makes_nothing_wrong(tmp_path: Path, gpu: int, every_line: bool) -> None:
    judged = 0
    for at in _at(gpu, every_line):
        try:
            findings = _findings(tmp_path, "".join(_LINES[:at]))
        except TunecheckError:
            assert at <= _STARTS[0] + 1, at
            continue
        judged += 1
        assert _wrong(findings) == set(), (at, _LINES[at])
    assert judged > 10


@pytest.mark.parametrize("told", ["    Fabric\n", "        State  ", "        Status  ", "        Health\n"])
def test_the_fabric_of_a_gpu_that_is_cut_is_unknown(tmp_path: Path, told: str) -> None:
    (finding,) = (each for each in _findings(tmp_path, REPORT[:REPORT.rindex(told)]) if each.id == "fabric-state")
    assert finding.outcome == "unknown" and BUSES[-1] in finding.text


def test_where_a_report_is_cut_is_said_once_and_no_gpu_of_it_is_whole(tmp_path: Path) -> None:
    for gpu in (0, 1, 7):
        lines = _at(gpu, False)
        for at in lines[len(lines) // 4::6]:
            host = load_import(folder(tmp_path, "".join(_LINES[:at])))
            assert host.summary().count("cut short") == 1, (gpu, at)
            assert f"nvidia-smi -q is cut short in GPU{gpu} 0000:{BUSES[gpu].lower()}:00.0: " in host.summary()
            assert not any(each["values"].get("whole_report") for each in host.nvml()["gpus"])


def test_a_whole_report_and_one_of_some_sections_are_not_cut(tmp_path: Path) -> None:
    host = load_import(folder(tmp_path, REPORT))
    assert "cut short" not in host.summary() and all(each["values"]["whole_report"] for each in host.nvml()["gpus"])
    memory = "".join(line for line in _LINES if not line.startswith("    ") or "FB Memory" in line
                     or line.strip().startswith(("Total", "Used")))
    assert "cut short" not in load_import(folder(tmp_path, memory)).summary()
