"""While a process is stuck in the driver, nothing in the report opens the driver: the one order is reboot. And one
cause has one fix: what the driver asks for in an Xid leads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.checks.machines import HEALTHY_LOG, build
from tests.unit.checks.test_cases import CASES, case_of, read

from tunecheck.facts.snapshot import gather
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.wedged import REBOOT, in_one_order, stuck_in_driver

#: Told apart from the code's own pattern on purpose.
OPENS = re.compile(r"nvidia-smi|nvidia-persistenced|nvidia-modprobe|dcgmi|modprobe[^;,]* nvidia|gpu-reset|"
                   r"sudo tunecheck (?:preflight|host|driver|p2p|allreduce|record)")
HUNG = "[ 900.1] INFO: task nvidia-smi:9911 blocked for more than 122 seconds.\n"
XID = "[ 800.1] NVRM: Xid (PCI:0000:03:00): {}\n"


def _orders(text: str) -> list[str]:
    """What a report in a pipe or on a terminal tells to do: fixes, what to add, what comes next."""
    joined = re.sub(r"\n {2,}", " ", text).replace(REBOOT.text, "")
    return re.findall(r"fix(?: for [^:]*)?: [^\n]*|add:? [^\n]*|(?m:^next: [^\n]*)", joined)


def _holds(case: Case, verb: str, imported: bool) -> None:
    findings = judge(case, verb)
    if stuck_in_driver(findings) is None:
        return
    assert [each.id for each in findings if each.remedy and each.remedy.opens_driver] == []
    for style in (Style(), Style(width=80)):
        for verbose in (False, True):
            text = render(verb, case, findings, style, verbose, imported)
            assert [order for order in _orders(text) if OPENS.search(order)] == []
    assert "next: reboot" in render(verb, case, findings, Style(width=80), False, imported)


@pytest.mark.parametrize("imported", [False, True])
def test_no_report_of_a_case_tells_to_open_a_driver_that_hangs(imported: bool) -> None:
    stuck = [path for path in CASES if re.search(r"hung|stuck|in-driver|wedged", path.read_text(encoding="utf-8"))]
    judged = [case_of(path) for path in stuck]
    assert sum(stuck_in_driver(judge(case, verb)) is not None for _, case, verb in judged) > 4
    for _, case, verb in judged:
        _holds(case, verb, imported)


@pytest.mark.parametrize("path", [path for path in CASES if path.parent.name in ("gpu", "driver", "errors", "runtime")],
                         ids=lambda path: path.stem)
def test_nothing_of_any_case_opens_the_driver_beside_a_hung_task(path: Path) -> None:
    data = read(path)
    log = data.get("log", HEALTHY_LOG)
    if "measured" in data or not isinstance(log, str):
        return
    _, case, verb = case_of(path)
    if verb not in ("preflight", "host"):
        return
    snapshot = gather(build({**data, "log": log.rstrip("\n") + "\n" + HUNG}), case.frozen.spec if case.frozen else None,
                      True)
    _holds(Case(snapshot, case.frozen, False, None, None), verb, False)


@pytest.mark.parametrize("number", [13, 31, 79, 94, 95, 119, 140])
def test_an_xid_beside_a_hung_task_has_the_fix_of_the_hung_task(number: int) -> None:
    snapshot = gather(build({"log": HEALTHY_LOG + XID.format(f"{number}, text") + HUNG}), None, True)
    findings = judge(Case(snapshot, None, False, None, None), "preflight")
    found = next(each for each in findings if each.code == f"xid-{number}")
    assert found.remedy is not None and not found.remedy.opens_driver


def test_what_the_driver_asks_for_is_the_fix_of_every_finding_about_a_lost_gpu() -> None:
    asks = XID.format("79, GPU has fallen off the bus.") + XID.format(
        "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    data = {"log": HEALTHY_LOG + asks, "nvml": {0: {"name": {"error": "GPU_IS_LOST"}}},
            "realpaths": {"/sys/bus/pci/devices/0000:03:00.0/driver": "/sys/bus/pci/drivers/nvidia"},
            "files": {"/sys/bus/pci/devices/0000:03:00.0/config": None}}
    findings = judge(Case(gather(build(data), None, True), None, False, None, None), "preflight")
    of = {(each.id, each.code): each.remedy for each in findings if each.outcome == "fail"}
    assert of["nvml-answers", "gpu-lost"] == of["xid", "xid-154"]
    assert in_one_order(findings) == findings


def test_no_reset_is_asked_for_where_the_driver_asks_for_a_reboot() -> None:
    """Whatever else is wrong with that GPU: a reset does not reach one that is off the bus."""
    asks = XID.format("79, GPU has fallen off the bus.") + XID.format(
        "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    for log, resets in ((HEALTHY_LOG, True), (HEALTHY_LOG + asks, False)):
        data = {"log": log, "nvml": {0: {"ecc_volatile_uncorrected": 3}}}
        findings = judge(Case(gather(build(data), None, True), None, False, None, None), "preflight")
        found = next(each for each in findings if each.code == "uncorrectable-errors")
        assert found.remedy is not None
        assert any("--gpu-reset" in each.argv for each in found.remedy.commands) is resets


@pytest.mark.parametrize(("heat", "raises"), [
    ({}, True), ({"temperature_c": 95}, False), ({"clocks_event_reasons": 64}, False)])
def test_no_more_power_is_asked_for_where_a_gpu_is_hot(heat: dict[str, int], raises: bool) -> None:
    data = {"nvml": {0: {"power_limit_mw": 450000, "power_limit_enforced_mw": 450000, **heat}}}
    findings = judge(Case(gather(build(data), None, True), None, False, None, None), "preflight")
    assert any(each.id in ("gpu-temperature", "gpu-throttle") and each.outcome in ("fail", "warn")
               for each in findings) is not raises
    found = next(each for each in findings if each.code == "below-default")
    assert found.remedy is not None and any("-pl" in each.argv for each in found.remedy.commands) is raises
