"""The NVML document of an import: what `nvidia-smi -q` says in its wordings, and what it refuses to say."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.unit.imports.samples import samples
from tests.unit.imports.smi_texts import GPU, HEAD, OLD, TEXT, XML
from tests.unit.imports.test_bug_report import REPORT
from tests.unit.imports.test_fuzz import _EDITS, _RUNS, damaged
from tests.unit.imports.test_import import SMI
from tests.unit.refusing import refused as refusing

from tunecheck.facts.nvidia.nvml import nvml
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported import kinds
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.parsers.nvidia.nvml_keys import KEYS, LATER, OF_TEXTS
from tunecheck.parsers.nvidia.smi_query import parse_query
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def gpus(*texts: str) -> list[dict[str, Any]]:
    document = parse_query(texts)
    assert document is not None
    return document["gpus"]  # type: ignore[no-any-return]


def test_text_of_a_new_driver() -> None:
    first, second = gpus(TEXT)
    assert (first["bdf"], first["index"], second["bdf"], second["index"]) == ("0000:06:00.0", 0, "0000:07:00.0", 1)
    values = first["values"]
    assert {key: values[key] for key in (
        "ids", "memory_used_mib", "bar1_total_mib", "ecc_mode", "ecc_pending", "ecc_volatile_corrected",
        "ecc_volatile_uncorrected", "ecc_aggregate_corrected", "temperature_slowdown_c", "temperature_shutdown_c",
        "power_draw_mw", "power_limit_mw", "power_limit_enforced_mw",
        "clocks_event_reasons", "pstate", "compute_mode", "addressing_mode",
        "link_gen", "link_gen_board", "link_width_max", "replay_counter", "recovery_action", "persistence")} == {
        "ids": "10de:2bb5", "memory_used_mib": 624, "bar1_total_mib": 131072, "ecc_mode": "enabled",
        "ecc_pending": "disabled", "ecc_volatile_corrected": 9, "ecc_volatile_uncorrected": 22,
        "ecc_aggregate_corrected": 32, "temperature_slowdown_c": 89, "temperature_shutdown_c": 95,
        "power_draw_mw": 85170, "power_limit_mw": 600000, "power_limit_enforced_mw": 500000,
        "clocks_event_reasons": 1 | 8 | 128, "pstate": 8,
        "compute_mode": "exclusive_process", "addressing_mode": "HMM", "link_gen": 1, "link_gen_board": 5,
        "link_width_max": 16, "replay_counter": 3, "recovery_action": 0, "persistence": True}
    assert values["processes"] == [{"pid": 4711, "used_mib": 620}, {"pid": 4712, "used_mib": None}]
    assert second["values"]["processes"] == []
    assert first["errors"] == {
        "ecc_aggregate_uncorrected": "UNKNOWN", "remapped_correctable": "NOT_SUPPORTED",
        "remapped_uncorrectable": "NOT_SUPPORTED", "remap_pending": "NOT_SUPPORTED", "remap_failed": "NOT_SUPPORTED",
        "fabric_state": "NOT_SUPPORTED"}


def test_text_of_an_old_driver() -> None:
    values = gpus(OLD)[0]["values"]
    assert (values["clocks_event_reasons"], values["power_draw_mw"], values["power_limit_mw"]) == (137, 85170, 600000)
    assert (values["ecc_volatile_corrected"], values["ecc_volatile_uncorrected"]) == (6, 7)
    assert values["temperature_slowdown_c"] == 95


def test_xml_and_what_it_refuses() -> None:
    (gpu,) = gpus(XML)
    assert gpu["values"] == {
        "name": "NVIDIA H200", "persistence": False, "mig_mode": "enabled", "mig_pending": "enabled",
        "recovery_action": 4, "ids": "10de:2335", "link_width": 8, "clocks_event_reasons": 4, "remap_pending": True,
        "remapped_correctable": 1, "fabric_state": "in_progress", "processes": [{"pid": 99, "used_mib": 12}],
        "whole_report": True}
    assert gpu["errors"] == {
        "temperature_c": "UNKNOWN", "fabric_status": "GPU_IS_LOST", "power_draw_mw": "not understood: '-104.61 W'",
        "power_limit_mw": "not understood: '700.00'"}


def test_a_lost_gpu_and_one_that_is_cut_away() -> None:
    text = HEAD.format(count=3) + GPU.format(bus="06") + (
        "Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.  Reboot the system to recover\n")
    document = parse_query([text])
    assert document is not None
    assert document["errors"]["gpus"] == "cut short: 3 attached, 2 shown"
    lost = document["gpus"][1]
    assert (lost["bdf"], lost["values"], set(lost["errors"].values())) == ("0000:41:00.0", {}, {"GPU_IS_LOST"})
    assert set(lost["errors"]) == set(KEYS)


@pytest.mark.parametrize("source", [TEXT, OLD, XML], ids=["text", "old", "xml"])
def test_a_report_that_is_cut_anywhere_says_nothing_else(source: str) -> None:
    whole = {gpu["bdf"]: gpu for gpu in gpus(source)}
    for end in range(0, len(source), 7):
        for gpu in (parse_query([source[:end]]) or {"gpus": []})["gpus"]:
            for key, value in gpu["values"].items():
                known = whole[gpu["bdf"]]["values"].get(key)
                # A list of processes that was cut is shorter, but never empty.
                assert value == known or (key == "processes" and value[0]["pid"] == known[0]["pid"]), (end, key)


def test_parts_of_a_report_complete_each_other() -> None:
    rest, mark, power = GPU.format(bus="06").partition("    GPU Power")
    head = HEAD.format(count=1)
    (gpu,) = gpus(head + rest, f"{head}GPU 00000000:06:00.0\n{mark}{power}")
    assert gpu["values"] == gpus(head + GPU.format(bus="06"))[0]["values"]


@_RUNS
@given(edits=_EDITS)
def test_damaged_reports(edits: list[tuple[str, int, int, str]]) -> None:
    for source in (TEXT, OLD, XML):
        document = parse_query([damaged(source, edits)])
        for gpu in (document or {"gpus": []})["gpus"]:
            assert set(gpu["values"]) | set(gpu["errors"]) <= {*KEYS, *OF_TEXTS}
            assert not set(gpu["values"]) & set(gpu["errors"])
            for value in gpu["values"].values():
                assert type(value) is not int or 0 <= value < 10 ** 16


@settings(_RUNS, max_examples=50)
@given(edits=_EDITS)
def test_binary_junk_is_no_report(edits: list[tuple[str, int, int, str]]) -> None:
    assert parse_query([damaged(random.Random(0).randbytes(3000).decode("latin-1"), edits)]) is None


@pytest.mark.parametrize("text", ["<nvidia_smi_log>" + "<a>" * 200_000, "<nvidia_smi_log>" + '<gpu id="' * 100_000,
                                  HEAD + "A " * 400_000, HEAD + ("A" + " " * 390 + "B\n") * 5000, " : " * 300_000,
                                  "Unable to determine the device handle for GPU" * 20_000], ids=range(6))
def test_hostile_reports_are_bounded(text: str) -> None:
    assert not (parse_query([text]) or {"gpus": []})["gpus"]


def test_in_a_folder_and_in_a_bug_report(tmp_path: Path) -> None:
    (tmp_path / "smi.txt").write_text(TEXT)
    found = nvml(load_import(str(tmp_path)), True).value
    assert found is not None
    assert (found.driver.value, found.gpus[1].number("power_limit_mw").value) == ("595.71.05", 600000)
    # A report holds nvidia-smi's answer once: two of other boards are refused (test_twice.py).
    assert SMI in REPORT
    there = TEXT.replace(":06:00.0", ":03:00.0").replace(":07:00.0", ":04:00.0").replace("0x2BB510DE", "0x233010DE")
    (tmp_path / "report.log.gz").write_bytes(gzip.compress(REPORT.replace(SMI, there).encode()))
    (tmp_path / "smi.txt").unlink()
    found = nvml(load_import(str(tmp_path / "report.log.gz")), True).value
    assert found is not None
    assert [gpu.fact("remap_failed").absence for gpu in found.gpus if gpu.bdf == "0000:04:00.0"] == [
        Absence.NOT_SUPPORTED]


@pytest.mark.parametrize(("parts", "count", "bar1"), [
    (("host", "asus-esc8000a-nvidia_smi_full.log"), 8, 131072), (("h200", "run1", "smi_qx.txt"), 2, 262144)])
def test_real_reports(parts: tuple[str, ...], count: int, bar1: int) -> None:
    found = gpus(samples(*parts).read_text())
    assert len(found) == count
    for gpu in found:
        assert set(KEYS) - set(gpu["values"]) - set(gpu["errors"]) == {"nvlinks_active"}
        assert gpu["values"]["bar1_total_mib"] == bar1
        # Boards of that driver: no fabric health yet, and no fan of their own.
        assert set(gpu["errors"]) <= {"fabric_state", "fabric_status", "fabric_health", "fan_percent", "retire_pending"}
        assert not any(gpu["values"][key] for key in LATER if key.endswith(("exceeded", "pending", "memory"))
                       and key in gpu["values"])
        assert gpu["values"]["power_limit_enforced_mw"] == gpu["values"]["power_limit_mw"]


@pytest.mark.parametrize("gone", ["        SW Power Cap                      : Not Active\n",
                                  "        HW Slowdown                       : Active\n"])
@pytest.mark.parametrize("refused", ["        Applications Clocks Setting       : N/A\n",
                                     "            SRAM Correctable              : N/A\n"])
def test_one_refused_line_says_nothing_of_a_reason_that_is_gone(gone: str, refused: str) -> None:
    """Newer drivers refuse some reasons one by one; where a line went with those between it and a section of its own,
    that section's refusals stand here."""
    whole = "    Clocks Event Reasons\n"
    first = gpus(TEXT.replace(whole, whole + refused, 1).replace(gone, "", 1))[0]
    assert "clocks_event_reasons" not in first["values"] and "clocks_event_reasons" not in first["errors"]
    section = TEXT[TEXT.index(whole):TEXT.index("    Clocks Event Reasons Counters")]
    assert gpus(TEXT.replace(section, "    Clocks Event Reasons                  : N/A\n", 1))[0]["errors"][
        "clocks_event_reasons"] == "NOT_SUPPORTED"


@pytest.mark.parametrize(("line", "outcome"), [("", "unknown"), ("        Default Power Limit : N/A\n", "skip"),
                                               ("        Default Power Limit : 700.00 W\n", "warn")])
def test_a_default_that_is_not_shown_may_be_any(tmp_path: Path, line: str, outcome: str) -> None:
    (tmp_path / "q.txt").write_text(
        "==============NVSMI LOG==============\n\nDriver Version : 595.58.03\nAttached GPUs : 1\n"
        "GPU 00000000:03:00.0\n    Product Name : NVIDIA X\n    PCI\n        Device Id : 0x111110DE\n"
        "    GPU Power Readings\n        Current Power Limit : 600.00 W\n"
        f"        Requested Power Limit : 600.00 W\n{line}")
    found = judge(Case(gather(load_import(str(tmp_path)), None, True)), "preflight")
    assert [each.outcome for each in found if each.id == "gpu-power-limit"] == [outcome]


_COUNTERS = ("slowdown_sw_thermal_us", "slowdown_hw_thermal_us", "slowdown_power_brake_us")


@pytest.mark.parametrize("names", [
    ("SW Thermal Slowdown", "HW Thermal Slowdown", "HW Power Braking"),
    ("SW Thermal Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown")], ids=["580", "older"])
def test_how_long_it_was_slowed_down_is_read_in_each_wording(names: tuple[str, ...]) -> None:
    lines = "".join(f"        {name} : {number} us\n" for number, name in enumerate(names, 1))
    shown = "        HW Thermal Slowdown               : 12 us\n"
    text = HEAD.format(count=1) + GPU.format(bus="06").replace(shown, lines)
    (gpu,) = gpus(text)
    assert [gpu["values"][key] for key in _COUNTERS] == [1, 2, 3]


def test_how_long_it_was_slowed_down_is_read_from_xml() -> None:
    section = "clocks_event_reasons_counters"
    inside = "".join(f"<{section}_{name}>{number} us</{section}_{name}>\n" for number, name in enumerate(
        ("sw_therm_slowdown", "hw_therm_slowdown", "hw_power_brake"), 1))
    before, mark, rest = XML.partition("  <clocks_event_reasons>")
    (gpu, *_) = gpus(f"{before}<{section}>\n{inside}</{section}>\n{mark}{rest}")
    assert mark and [gpu["values"][key] for key in _COUNTERS] == [1, 2, 3]


def test_of_two_texts_the_longer_time_counts() -> None:
    text = HEAD.format(count=1) + GPU.format(bus="06")
    (gpu,) = gpus(text, text.replace(": 12 us", ": 900 us"))
    assert gpu["values"]["slowdown_hw_thermal_us"] == 900


def _grepped(text: str, name: str, beside: int) -> str:
    """What `grep -i -C beside name` leaves of a report."""
    lines = text.splitlines()
    kept = sorted({near for at, line in enumerate(lines) if name.lower() in line.lower()
                   for near in range(at - beside, at + beside + 1) if 0 <= near < len(lines)})
    return "\n".join(lines[at] for at in kept)


@pytest.mark.parametrize("beside", [0, 3])
@pytest.mark.parametrize("report", [TEXT, TEXT.replace(": ", "            : "), OLD, XML],
                         ids=["text", "wider", "old", "xml"])
def test_what_grep_leaves_of_a_report_is_told_the_whole_command(tmp_path: Path, report: str, beside: int) -> None:
    for name in {re.split(r"[:>]", line)[0].strip(" <=") for line in report.splitlines()} - {""}:
        part = _grepped(report, name, beside)
        (tmp_path / "a").write_text(part)
        if kinds.recognise(part) is None and (": " in part or "_" in part):     # and no heading alone
            with refusing(Damage.TOO_LITTLE, "give all of it: nvidia-smi -q"):
                load_import(str(tmp_path / "a"))


@pytest.mark.parametrize("other", ["Serial Number          : 17\nDevice ID                 : 32\n",
                                   "model name\t: AMD EPYC 9654\n", "<p>some page</p> and a sentence\n",
                                   "Supported ports:                          [ TP ]\n", "Processes\nTemperature\n",
                                   "<domain type='kvm'>\n  <name>gpu1</name>\n  <vcpu>8</vcpu>\n</domain>\n",
                                   "<network>\n  <name>default</name>\n  <mac_address>52</mac_address>\n</network>\n",
                                   "<settings>\n  <user_name>kim</user_name>\n  <total>3</total>\n</settings>\n",
                                   "# <network_id> <semantics> <flags> <protofamily>\n"])
def test_other_lists_are_no_part_of_a_report(other: str) -> None:
    assert kinds.advice(other) is None
