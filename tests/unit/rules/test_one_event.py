"""A kernel log tells one event of a GPU in several lines. Whatever checks judge them, the event has one fix."""

from __future__ import annotations

import itertools
import re

import pytest
from tests.unit.checks.machines import HEALTHY_LOG, build
from tests.unit.report.all_reports import reports

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

#: What judges such lines.
CHECKS = ("gpu-start", "gpu-fallen-off")
#: How drivers say of one GPU that it is lost, in operation and at probe.
LOST = {
    "at-probe": "NVRM: The NVIDIA GPU 0000:03:00.0\nNVRM: (PCI ID: 10de:2bb1) installed in this system has\n"
                "NVRM: fallen off the bus and is not responding to commands.",
    "xid-79": "NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.",
    "xid-79-and-154": "NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.\nNVRM: Xid (PCI:0000:03:00): 154, "
                      "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    "gone": "nvidia 0000:03:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    "gone-unnamed": "NVRM: nvAssertFailedNoLog: Assertion failed: Bus is dead @ gpu_access.c:100",
}
#: And that they could not start it, or that it needs something.
FAILED = {
    "probe-of-all": "NVRM: The NVIDIA probe routine failed for 1 device(s).",
    "none-started": "NVRM: None of the NVIDIA devices were initialized.",
    "probe": "nvidia: probe of 0000:03:00.0 failed with error -1",
    "adapter": "NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x62:0x40:2192)",
    "gsp": "NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM",
    "wpr2": "NVRM: GPU0 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
    "reset": "NVRM: GPU 0000:03:00.0: GPU requires reset",
    "locked": "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
}
LINES = {**LOST, **FAILED}
OTHER = "NVRM: GPU 0000:04:00.0: RmInitAdapter failed! (0x62:0x40:2192)"


def _of(*texts: str) -> list[Finding]:
    lines = "\n".join(texts).splitlines()
    log = HEALTHY_LOG + "".join(f"[  {10 + number}.000000] {line}\n" for number, line in enumerate(lines))
    found = judge(Case(gather(build({"log": log}), None, True), None, False, None, None), "preflight")
    return [each for each in found if each.outcome == "fail" and (
        each.id in CHECKS or (each.id == "xid" and each.code in ("xid-79", "xid-154")))]


#: An Xid 79 behind the Xid 154 of an earlier one is another event.
PAIRS = [pair for pair in itertools.permutations(LINES, 2) if set(pair) != {"xid-79", "xid-79-and-154"}]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_lines_about_one_gpu_have_one_fix(one: str, other: str) -> None:
    found = _of(LINES[one], LINES[other])
    assert {each.id for each in found} & set(CHECKS)
    assert len({each.remedy for each in found}) == 1, [each.message for each in found]


@pytest.mark.parametrize("lost", LOST)
def test_what_a_firmware_mends_is_not_the_fix_of_a_lost_gpu(lost: str) -> None:
    alone, both = _of(LOST[lost]), _of(LOST[lost], FAILED["gsp"])
    assert {each.remedy for each in both} == {each.remedy for each in alone}


@pytest.mark.parametrize("lost", [name for name in LOST if name != "gone-unnamed"])
def test_another_gpu_keeps_its_own_fix(lost: str) -> None:
    alone, = _of(OTHER)
    found = [each for each in _of(LOST[lost], OTHER) if "0000:04:00" in each.subject]
    assert [each.remedy for each in found] == [alone.remedy]


def test_no_report_has_two_fixes_for_one_event() -> None:
    """Whoever tells of it: findings on one device at one time of the log."""
    address, time = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}"), re.compile(r" at \[([^]]+)\]")
    for report in reports():
        events: dict[tuple[str, str], list[Finding]] = {}
        for each in report.findings:
            device, when = address.search(each.subject), time.search(each.text)
            if each.outcome in ("fail", "warn") and each.remedy and device and when:
                events.setdefault((device[0], when[1]), []).append(each)
        for found in events.values():
            assert len({each.id for each in found}) == 1 or len({each.remedy for each in found}) == 1, (
                report.name, [each.message for each in found])
