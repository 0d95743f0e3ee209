"""What a fix takes is said as the check's own remedy says it: nobody is sent to a machine for a setting of the box.
Over every case of the checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, case_of

from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.model.finding import Place
from tunecheck.rules import judge
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Answer, Problem, Seen
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import open_store

_TAKES = {Place.MACHINE: "hands-on", Place.FIRMWARE: "firmware"}


def test_hands_are_asked_for_where_the_remedy_needs_them(tmp_path: Path) -> None:
    places: dict[tuple[str, str, str, str], Place] = {}
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        head = store.begin("folder", [(path.stem, "g") for path in CASES])
        for path in CASES:
            _, case, verb = case_of(path)
            if verb == "preflight":
                answer = Answer(path.stem, path.stem, "ok", packed(Stored(case.snapshot, case.frozen)))
                store.put(head.id, told := seen(answer, case.frozen))
                texts = {(each.check, each.code, each.text) for each in told.problems}
                places.update({(path.stem, each.id, each.code, each.subject): each.remedy.by_play.place
                               for each in judge(case, verb) if each.remedy
                               and (each.id, each.code, each.text) in texts})
        store.finish(head.id)
        found = report(store, None, JudgeOptions())
    judged = 0
    for cause in found.causes:
        for host in cause.hosts:
            place = places.get((host, cause.fact, cause.code, cause.subject))
            if place is not None and cause.outcome != "unknown" and cause.fix in ("hands-on", "firmware"):
                assert _TAKES.get(place) == cause.fix, (host, cause.fact, cause.code, cause.remedy)
                judged += 1
    assert judged > 10


@pytest.mark.parametrize(("place", "fix"), [("", "hands-on"), ("box", "none"), ("inventory", "none"),
                                            ("machine", "hands-on"), ("firmware", "firmware")])
def test_what_was_kept_before_is_told_by_its_fact(tmp_path: Path, place: str, fix: str) -> None:
    problem = Problem("topo-relation", "GPU0-GPU1", "warn", "far", code="through-cpu", remedy="do it", place=place)
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        head = store.begin("folder", [("h", "g")])
        store.put(head.id, Seen("h", "g", "ok", known={"pcie.relation": {"SYS": 1}}, tunecheck="0.1.0", document=b"{}",
                                problems=(problem,)))
        store.finish(head.id)
        [cause] = [each for each in report(store, None, JudgeOptions()).causes if each.fact == "topo-relation"]
    assert cause.fix == fix
