"""What `nvidia-smi -q` says of a GPU that is broken, waits for a reset or is capped: read, judged, and never a pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.imports.smi_texts import GPU, HEAD

from tunecheck.facts.nvidia.nvml import nvml
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.host.nvml_absence import nvml_reason
from tunecheck.model.fact import Absence
from tunecheck.model.finding import Finding
from tunecheck.parsers.nvidia.smi_query import parse_query
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_AGGREGATE = ("            DRAM Correctable              : 32\n"
              "            DRAM Uncorrectable            : [Unknown Error]\n")
#: A healthy board as branch 595 prints it.
FINE = GPU.format(bus="06").replace("Pending                           : Disabled\n    ECC Errors",
                                    "Pending                           : Enabled\n    ECC Errors").replace(
    "            SRAM Uncorrectable Parity     : 2\n            SRAM Uncorrectable SEC-DED    : 4\n",
    "            SRAM Uncorrectable Parity     : 0\n            SRAM Uncorrectable SEC-DED    : 0\n").replace(
    "DRAM Uncorrectable            : 16", "DRAM Uncorrectable            : 0").replace(_AGGREGATE, """\
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
            SRAM Threshold Exceeded       : No
        Aggregate Uncorrectable SRAM Sources
            SRAM L2                       : 0
        Channel Repair Pending            : No
        TPC Repair Pending                : No
        Unrepairable Memory               : No
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
""").replace("Current Power Limit               : 500.00 W", "Current Power Limit               : 600.00 W")
_LINES = (("SRAM Threshold Exceeded       : No", "sram-threshold-exceeded", "fail"),
          ("Unrepairable Memory               : No", "unrepairable-memory", "fail"),
          ("Channel Repair Pending            : No", "channel-repair-pending", "warn"),
          ("TPC Repair Pending                : No", "tpc-repair-pending", "warn"),
          ("Pending Page Blacklist            : N/A", "page-retirement-pending", "warn"))


def judged(path: Path, check: str, gpu: str, driver: str = "595.71.05") -> list[tuple[str, str]]:
    (path / "q.txt").write_text(HEAD.format(count=1).replace("595.71.05", driver) + gpu)
    found: list[Finding] = judge(Case(gather(load_import(str(path)), None, True)), "preflight")
    return [(each.outcome, each.code) for each in found if each.id == check]


def test_a_sound_board_passes(tmp_path: Path) -> None:
    assert judged(tmp_path, "gpu-ecc", FINE) == [("pass", "ok")]
    assert judged(tmp_path, "gpu-power-limit", FINE) == [("pass", "ok")]
    assert judged(tmp_path, "gpu-recovery", FINE) == [("pass", "ok")]


@pytest.mark.parametrize(("line", "code", "outcome"), _LINES)
def test_what_the_driver_says_of_a_broken_board(tmp_path: Path, line: str, code: str, outcome: str) -> None:
    assert line in FINE
    said = line.rpartition(": ")[0] + ": Yes"
    assert judged(tmp_path, "gpu-ecc", FINE.replace(line, said)) == [(outcome, code)]
    assert judged(tmp_path, "gpu-ecc", FINE.replace(line, said.replace("Yes", "Perhaps"))) == [("unknown", "unread")]


@pytest.mark.parametrize("line", [line for line, _, _ in _LINES])
def test_a_line_that_is_gone_is_unknown_and_an_earlier_driver_has_none(tmp_path: Path, line: str) -> None:
    gone = "\n".join(each for each in FINE.split("\n") if each.strip() != line)
    assert judged(tmp_path, "gpu-ecc", gone) == [("unknown", "unread")]
    outcome = "unknown" if "Blacklist" in line else "pass"
    assert [one for one, _ in judged(tmp_path, "gpu-ecc", gone, "550.54.14")] == [outcome]


def test_the_mode_after_the_next_reset(tmp_path: Path) -> None:
    gpu = FINE.replace("Pending                           : Enabled", "Pending                           : Disabled")
    assert judged(tmp_path, "gpu-ecc", gpu) == [("warn", "changes-at-reset")]


def test_the_limit_in_force_counts(tmp_path: Path) -> None:
    line = "Current Power Limit               : 600.00 W"
    capped = FINE.replace(line, line.replace("600", "300"))
    assert judged(tmp_path, "gpu-power-limit", capped) == [("warn", "not-in-force")]
    gone = FINE.replace("        Current Power Limit               : 600.00 W\n", "")
    assert judged(tmp_path, "gpu-power-limit", gone) == [("unknown", "unread")]
    old = FINE.replace("GPU Power Readings", "Power Readings").replace("Current Power", "Enforced Power").replace(
        "Requested Power", "Power")
    assert judged(tmp_path, "gpu-power-limit", old) == [("pass", "ok")]
    assert judged(tmp_path, "gpu-power-limit", old.replace("Enforced Power Limit               : 600.00 W",
                                                           "Enforced Power Limit : 300.00 W")) == [
        ("warn", "not-in-force")]


@pytest.mark.parametrize(("drain", "reset", "found"), [
    ("No", "Yes", ("fail", "reset-needed")), ("Yes", "No", ("fail", "drain-and-reset-needed")),
    ("No", "No", ("pass", "ok")), ("N/A", "N/A", ("skip", "not-supported"))])
def test_drivers_before_the_recovery_action(tmp_path: Path, drain: str, reset: str, found: tuple[str, str]) -> None:
    old = FINE.replace("    GPU Recovery Action                   : None\n", "    GPU Reset Status\n"
                       f"        Reset Required : {reset}\n        Drain and Reset Recommended : {drain}\n")
    assert judged(tmp_path, "gpu-recovery", old, "535.54.03") == [found]


def test_xml_has_the_same() -> None:
    document = parse_query(["""<nvidia_smi_log><driver_version>580.1.2</driver_version><attached_gpus>1</attached_gpus>
<gpu id="00000000:06:00.0"><ecc_errors><aggregate><sram_threshold_exceeded>Yes</sram_threshold_exceeded></aggregate>
<channel_repair_pending>No</channel_repair_pending><tpc_repair_pending>Yes</tpc_repair_pending>
<unrepairable_memory>Yes</unrepairable_memory></ecc_errors>
<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>
<gpu_power_readings><current_power_limit>300.00 W</current_power_limit></gpu_power_readings></gpu></nvidia_smi_log>"""])
    assert document is not None and document["gpus"][0]["values"] == {
        "sram_threshold_exceeded": True, "channel_repair_pending": False, "tpc_repair_pending": True,
        "unrepairable_memory": True, "retire_pending": True, "power_limit_enforced_mw": 300000}


def test_a_recording_of_an_earlier_version_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """And that it is one is told by a code, not by the words that are shown."""
    from tests.unit.checks.machines import build

    def words(text: str) -> None:
        raise AssertionError(f"read: {text}")

    nvml_reason.cache_clear()
    monkeypatch.setattr("tunecheck.host.nvml_absence.reason_of_text", words)

    host = build({})
    document = host.nvml(1.0)
    for gpu in document["gpus"]:
        for key in ("sram_threshold_exceeded", "channel_repair_pending", "tpc_repair_pending", "unrepairable_memory",
                    "power_limit_enforced_mw"):
            del gpu["values"][key]
    found = nvml(host, True).value
    assert found is not None
    assert found.gpus[0].fact("sram_threshold_exceeded").absence is Absence.OLDER
    outcomes = {each.id: each.outcome for each in judge(Case(gather(host, None, True)), "preflight")}
    assert (outcomes["gpu-ecc"], outcomes["gpu-power-limit"]) == ("pass", "pass")


_BOOT = "[    0.000000] Linux version 6.12.1\n[    1.000000] pci 0000:03:00.0: [10de:2bb5] type 00 class 0x030000\n"
_FAILED = ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
           "NVIDIA driver is installed and running.\n")
_MODULES = ("Module                  Size  Used by\nnouveau              2826240  0\n"
            "mxm_wmi                16384  1 nouveau\n")
_OPEN = (_BOOT + "[    9.000000] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:2bb5)\n"
         "NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n")


@pytest.mark.parametrize(("answer", "beside", "cause"), [
    (_FAILED, _MODULES, "nouveau-loaded"), ("No devices were found\n", _OPEN, "module-flavour")])
def test_what_says_why_the_driver_has_nothing_comes_before_its_silence(
        tmp_path: Path, answer: str, beside: str, cause: str) -> None:
    """One cause is one failure, and the next step is its fix. Without the cause the silence is the failure."""
    def found(verb: str, *texts: str) -> tuple[dict[str, str], str]:
        folder = tmp_path / f"{verb}-{len(texts)}"
        folder.mkdir()
        for number, text in enumerate(texts):
            (folder / f"{number}.txt").write_text(text)
        case = Case(gather(load_import(str(folder)), None, verb != "topo"))
        findings = judge(case, verb)
        shown = render(verb, case, findings, Style(width=80), False, True)
        return {each.id: each.outcome for each in findings if each.id in (cause, "nvml-answers")}, shown

    for verb in ("preflight", "host", "driver"):
        outcomes, shown = found(verb, answer, beside)
        assert outcomes == {cause: "fail", "nvml-answers": "unknown"}
        assert re.search(rf"next: (?:-v has the fix for this box, )?tunecheck explain {cause}\b", shown)
    assert found("topo", answer, beside)[0] == {"nvml-answers": "fail"}, "the check of the cause is not in it"
    assert found("preflight", answer)[0]["nvml-answers"] == "fail"
