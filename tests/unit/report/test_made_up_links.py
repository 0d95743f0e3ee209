"""What is below a port that QEMU made up has no figure of its own: no check and no table states GB/s of it, and nobody
passes its speed in a virtual machine."""

from __future__ import annotations

import re

from tests.unit.report.all_reports import Report, reports

from tunecheck.parsers.pci.switch_chips import EMULATED
from tunecheck.report.paths import path_lines

_FIGURE = re.compile(r"\d GB/s")


def _made_up() -> list[Report]:
    return [report for report in reports()
            if any(port.ids in EMULATED for port in report.case.snapshot.topology.bridges.values())
            and not report.case.measured and not report.case.snapshot.posted.anything]


def test_no_check_states_a_figure() -> None:
    assert len(_made_up()) > 10
    for report in _made_up():
        said = [each.message for each in report.findings if _FIGURE.search(each.message)]
        assert said == [], report.name
        assert not _FIGURE.search("\n".join(path_lines(report.case))), report.name


def test_no_check_passes_a_speed_in_a_virtual_machine() -> None:
    guests = [report for report in _made_up() if report.case.guest]
    assert len(guests) > 5
    for report in guests:
        passed = [each.message for each in report.findings
                  if each.id in ("link-speed", "link-width", "uplink-shared") and each.outcome == "pass"]
        assert passed == [], report.name
