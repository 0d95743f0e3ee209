"""A report has one play for the reboot of its box, whatever it mends; nothing else of a fix changes."""

from __future__ import annotations

import re

from tests.unit.report.all_reports import reports

from tunecheck.model.command import tags_of
from tunecheck.model.finding import Finding
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules.one_reboot import in_one_play


def _plays(findings: list[Finding]) -> set[tuple[str, ...]]:
    """The tags of each play that reboots."""
    return {tags_of(each.remedy.play) for each in findings
            if each.remedy and each.remedy.needs_reboot and each.remedy.play and tags_of(each.remedy.play)}


def _untagged(text: str) -> str:
    return re.sub(r"(?<=--tags )\S+", "", text)


def test_a_report_has_one_play_for_one_reboot() -> None:
    several = 0
    for report in reports():
        before, findings = _plays(report.findings), in_one_play(report.findings)
        after = _plays(findings)
        several += len(before) > 1
        assert len(after) == bool(before), report.name
        assert {tag for tags in after for tag in tags} == {tag for tags in before for tag in tags}
        for old, new in zip(report.findings, findings, strict=True):
            assert (old.id, old.outcome, old.text) == (new.id, new.outcome, new.text)
            if old.remedy and new.remedy:
                assert _untagged(old.remedy.by_hand) == _untagged(new.remedy.by_hand)
                assert old.remedy.ansible_tags == new.remedy.ansible_tags
                assert new.remedy.play is None or new.remedy.play.shown in new.remedy.text
                assert new.remedy.text.endswith(new.remedy.play_text)
        assert in_one_play(findings) == findings
        if len(before) > 1:
            text = render(report.verb, report.case, findings, Style(0), True, report.imported)
            shown = {each.remedy.play.shown for each in findings if each.remedy and each.remedy.needs_reboot
                     and each.remedy.play and each.outcome in ("fail", "warn")}
            assert len(shown) == 1 and shown.pop() in text
    assert several > 5
