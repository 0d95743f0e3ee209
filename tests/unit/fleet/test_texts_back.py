"""A text that is missing for one night leaves nothing behind: what a host is told of follows from what it tells now,
and from what failed before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.fleet.test_evidence_removed import _NAMES, _nights, _texts

from tunecheck_fleet.fleet_report import FleetReport


def _told(found: FleetReport) -> set[tuple[str, str, str, str]]:
    return {(each.fact, each.subject, each.severity, each.text) for each in found.causes if each.state != "resolved"}


# Without a list of the devices, the Xid of the bad box is one of a place, and that of a GPU when the list is back.
@pytest.mark.parametrize(("without", "narrow"), [(name, bad) for name in _NAMES for bad in (False, True)
                                                 if not (bad and name == "lspci_full")])
def test_the_night_after_is_as_the_night_before(tmp_path: Path, without: str, narrow: bool) -> None:
    whole, less = _texts(tmp_path / "whole", narrow, ""), _texts(tmp_path / "less", narrow, without)
    before, _, after = _nights(tmp_path, whole, less, whole)
    assert _told(after) == _told(before)
    assert not [each.text for each in after.causes if "cannot be told now" in each.text]


@pytest.mark.parametrize("without", _NAMES)
def test_what_can_be_judged_no_better_than_before_is_no_cure(tmp_path: Path, without: str) -> None:
    whole, less = _texts(tmp_path / "whole", False, ""), _texts(tmp_path / "less", False, without)
    after = _nights(tmp_path, whole, less, whole)[-1]
    over = {each.fact for each in after.causes if each.state == "resolved" and each.outcome == "unknown"}
    row, = after.hosts
    assert over.isdisjoint(row.dark), "that it can be judged now is said of what can"
