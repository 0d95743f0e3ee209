"""The plain table of `nvidia-smi`: a GPU that gives errors is there, has no values, and fails a check by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.imports.smi_texts import GPU, HEAD, row, table

from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.fact import Absence
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

DEAD: dict[str, Any] = {"index": 1, "bus": "91"}
WHO = "0000:91:00.0"


def snap(path: Path, text: str) -> Snapshot:
    (path / "smi.txt").write_text(text)
    return gather(load_import(str(path)), None, True)


def answers(snapshot: Snapshot) -> list[Finding]:
    return [each for each in judge(Case(snapshot), "preflight") if each.id == "nvml-answers"]


@pytest.mark.parametrize("dead", [
    row("ERR!", "persistence", **DEAD), row("ERR!", "name", **DEAD), row("ERR!", mode="ERR!", **DEAD),
    row("ERR!", "persistence", name="NVIDIA A100-SXM...", **DEAD),
    row("ERR!", "persistence", **DEAD).replace("0MiB / 143771MiB", "ERR! /      ERR!"),
    row("[Unknown Error]", "persistence", **DEAD), row("Unknown Error", **DEAD)], ids=range(7))
def test_a_gpu_of_errors_counts_and_fails(tmp_path: Path, dead: str) -> None:
    snapshot = snap(tmp_path, table(row(), dead))
    assert snapshot.nvml.value is not None
    fine, ill = snapshot.nvml.value.gpus
    assert (fine.values["temperature_c"], fine.refused) == (30, ())
    assert ill.bdf == WHO and not {"temperature_c", "pstate", "power_draw_mw", "utilization_gpu"} & set(ill.values)
    for key in ("temperature_c", "pstate", "power_draw_mw", "utilization_gpu", "ecc_mode", "mig_mode"):
        assert ill.fact(key).absence is Absence.FAILED, key
    (found,) = answers(snapshot)
    assert (found.outcome, found.code, found.subject) == ("fail", "gpu-no-answer", WHO) and found.remedy


def test_a_gpu_that_is_lost_in_the_table(tmp_path: Path) -> None:
    snapshot = snap(tmp_path, table(row(), row("ERR!", "persistence", heat="GPU is lost", **DEAD)))
    assert snapshot.nvml.value is not None
    assert snapshot.nvml.value.gpus[1].fact("temperature_c").absence is Absence.LOST
    assert [(each.code, each.subject) for each in answers(snapshot)] == [("gpu-lost", WHO)]


def test_one_error_is_a_sensor_and_a_missing_value_none(tmp_path: Path) -> None:
    (found,) = answers(snap(tmp_path, table(row(), row(draw="ERR!", **DEAD))))
    assert (found.outcome, found.code, found.subject) == ("warn", "value-refused", WHO) and found.remedy
    assert [each.code for each in answers(snap(tmp_path, table(row(), row("N/A", "name", **DEAD))))] == ["ok"]


@pytest.mark.parametrize(("line", "code", "why"), [
    ("Unable to determine the device handle for GPU0000:91:00.0: GPU is lost.  Reboot the system\n",
     "gpu-lost", Absence.LOST),
    ("Unable to determine the device handle for GPU1: 0000:91:00.0: Unknown Error\n",
     "gpu-not-opened", Absence.FAILED)])
def test_a_line_above_a_table_or_a_report_names_a_gpu(tmp_path: Path, line: str, code: str, why: Absence) -> None:
    for text in (table(row(), above=line), f"{line}{HEAD.format(count=2)}{GPU.format(bus='06')}"):
        snapshot = snap(tmp_path, text)
        assert snapshot.nvml.value is not None
        assert [gpu.bdf for gpu in snapshot.nvml.value.gpus] == ["0000:06:00.0", WHO]
        assert snapshot.nvml.value.gpus[1].fact("ecc_mode").absence is why
        assert [(each.outcome, each.code, each.subject) for each in answers(snapshot)] == [("fail", code, WHO)]


def test_another_gpu_of_errors_is_named_beside_a_line_above(tmp_path: Path) -> None:
    line = "Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.\n"
    found = answers(snap(tmp_path, table(row(), row("ERR!", **DEAD), above=line)))
    assert [(each.code, each.subject) for each in found] == [("gpu-lost", "0000:41:00.0"), ("gpu-no-answer", WHO)]


@pytest.mark.parametrize("line", ["No devices were found\n", "GPU is lost\n"])
def test_a_line_without_a_gpu_fails_beside_a_table(tmp_path: Path, line: str) -> None:
    assert [each.outcome for each in answers(snap(tmp_path, table(row(), above=line)))] == ["fail"]


def test_a_row_that_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    (found,) = answers(snap(tmp_path, table(row(), row(**DEAD).replace(" Off |", " |", 1))))
    assert (found.outcome, found.code) == ("unknown", "gpu-list-incomplete")


def test_a_report_of_errors_fails(tmp_path: Path) -> None:
    text = GPU.format(bus="06").replace(": 30 C", ": [Unknown Error]").replace(": P8", ": Unknown Error")
    (found,) = answers(snap(tmp_path, HEAD.format(count=1) + text))
    assert (found.outcome, found.code, found.subject) == ("fail", "gpu-no-answer", "0000:06:00.0")


@pytest.mark.parametrize("fan", ["0%", "7%", "30%", "100%", "N/A"])
def test_the_column_of_the_fan_may_be_of_any_width(tmp_path: Path, fan: str) -> None:
    """nvidia-smi sets it to the right: `|  0%`, `| 30%`, `|100%`."""
    shown = row(fan="@@@@").replace("|@@@@", f"|{fan:>4}" if fan != "100%" else "|100%")
    snapshot = snap(tmp_path, table(shown, row(index=1, bus="07", limit="400W")))
    assert snapshot.nvml.value is not None
    values = snapshot.nvml.value.gpus[0].values
    assert (values["temperature_c"], values["power_limit_mw"], values["utilization_gpu"]) == (30, 700000, 0)
    limits = [each for each in judge(Case(snapshot), "preflight") if each.id == "gpu-power-limit"]
    assert [each.outcome for each in limits if "0000:07:00.0" in each.subject + each.text] == ["warn"]


@pytest.mark.parametrize(("below", "whole"), [
    (" " * 89 + "\n", True), (" " * 89 + "\n+----------+\n", True), ("", False), ("\n", False),
    ("[truncated]\n", False)])
def test_a_table_without_the_box_of_processes(tmp_path: Path, below: str, whole: bool) -> None:
    """The line of spaces shows that no GPU follows; the borders between GPUs look like the last one."""
    text = table(row(), row(index=1, bus="07")).replace("| Processes:  |\n", below)
    snapshot = snap(tmp_path, text)
    assert snapshot.nvml.value is not None
    assert [each.outcome for each in answers(snapshot)] == ["pass" if whole else "unknown"]
    assert all(gpu.fact("processes").absence is Absence.NOT_IN_IMPORT for gpu in snapshot.nvml.value.gpus)
