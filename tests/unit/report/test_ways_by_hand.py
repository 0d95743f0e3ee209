"""Where a report points to the way by hand, that way is there; findings that edit one line have one fix, the whole
line."""

from __future__ import annotations

import re

from tests.unit.report.all_reports import Report, reports

from tunecheck.model.finding import Finding
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules.remedies.boot_remedies import lacking

_WIDTHS = (40, 60, 80, 100, 140, 200)
_POINTER = "by hand: -v says how"


def _with_plays() -> list[Report]:
    """One report for each fix that a play does."""
    seen: set[str] = set()
    found = []
    for each in reports():
        plays = {(finding.id, finding.remedy.play_text) for finding in each.findings
                 if finding.remedy and finding.remedy.play_text and finding.outcome in ("fail", "warn", "unknown")}
        new = {f"{check} {play}" for check, play in plays} - seen
        if new:
            seen |= new
            found.append(each)
    return found


def _fixes(report: Report, width: int) -> str:
    return render(report.verb, report.case, report.findings, Style(width), imported=report.imported)


def test_a_pointer_to_the_way_by_hand_leads_to_it() -> None:
    pointed = 0
    for report in _with_plays():
        whole = " ".join(render(report.verb, report.case, report.findings, Style(0), True, report.imported).split())
        hands = [finding.remedy.by_hand for finding in report.findings
                 if finding.remedy and finding.remedy.play_text and finding.remedy.by_hand]
        for width in _WIDTHS:
            text = " ".join(_fixes(report, width).split())
            assert "by hand: tunecheck explain" not in text
            if _POINTER in text:
                pointed += 1
                assert hands, report.name
        assert [hand for hand in hands if " ".join(hand.split()) not in whole] == [], report.name
    assert pointed > 3


def test_nothing_points_to_a_way_by_hand_that_is_not_there() -> None:
    """Beside a play alone there is no such pointer."""
    for report in _with_plays():
        if any(each.remedy and each.remedy.play_text and each.remedy.by_hand for each in report.findings):
            continue
        assert _POINTER not in " ".join(_fixes(report, 80).split()), report.name


def _edits(finding: Finding) -> str:
    """The words that the fix puts on the command line; "" where it does not."""
    found = re.search(r"(?:put|boot with) (.+?)(?: into GRUB_CMDLINE| in place of|: put it| \(pci:0:0)",
                      finding.remedy.by_hand if finding.remedy else "")
    return found[1] if found else ""


def test_the_play_of_a_fix_does_what_its_way_by_hand_does() -> None:
    """Where that sets declared parameters, so does the play: it runs the role of the command line."""
    seen = 0
    for report in reports():
        for finding in report.findings:
            if finding.remedy and finding.remedy.play_text and set(_edits(finding).split()) & set(lacking(report.case)):
                seen += 1
                assert "cmdline" in finding.remedy.ansible_tags, (report.name, finding.id)
    assert seen > 5


def test_every_fix_of_a_missing_parameter_is_the_whole_line() -> None:
    """One edit and one reboot: no fix leaves another declared parameter out, nor puts iommu=pt without the ACS option
    on a box where that turns ACS redirect on."""
    seen = 0
    for report in reports():
        tokens = [each for each in report.findings if each.id == "cmdline-token" and each.outcome == "fail"]
        for finding in tokens:
            edits = _edits(finding).split()
            if not edits:
                continue
            seen += 1
            assert set(lacking(report.case)) <= set(edits), (report.name, edits)
            redirect_off = report.case.frozen and report.case.spec.acs.peer_redirect == "off"
            running = report.case.host.kernel.cmdline.value or ()
            if "iommu=pt" in edits and redirect_off and report.case.snapshot.topology.path_ports() \
                    and not report.case.guest and not any("disable_acs_redir" in word for word in running):
                assert any("disable_acs_redir" in word for word in edits), report.name
        assert len({each.remedy for each in tokens}) <= 1, report.name
    assert seen > 3
