"""Why a finding is over: only where nothing that its check judges moved, in between either, is it the specification;
and what was said of a GPU that is gone was not mended."""

from __future__ import annotations

import pytest
from tests.unit.fleet.rows import move, since, view

from tunecheck_fleet.events.gpu_moves import COUNTED
from tunecheck_fleet.judge import JudgeOptions, judge
from tunecheck_fleet.judge.authority import HAPPENING, JUDGED, judged
from tunecheck_fleet.judge.view import Host, Move, Resolved
from tunecheck_fleet.model import Problem

_CHECKS = sorted(set(JUDGED) - HAPPENING)
#: Facts that no pattern of a check has a wildcard for.
_FACTS = {check: next((fact for fact in JUDGED[check] if not {*fact} & {*"*?[{"}), "") for check in _CHECKS}


def _why(check: str, subject: str, moves: tuple[Move, ...], *problems: Problem,
         values: dict[str, object] | None = None) -> str:
    made = view({"h": values or {"driver.loaded": "1"}}, moves=moves, number=9,
                hosts=(Host("h", "g", "hw", last_ok=9, problems=problems),),
                resolved=(Resolved("h", "g", check, subject, "fail", since(3, 2)),))
    found = judge(made, JudgeOptions())[0]
    [cause] = [each for each in found.causes if (each.fact, each.state) == (check, "resolved")]
    return cause.text


@pytest.mark.parametrize("check", [check for check in _CHECKS if _FACTS[check]])
def test_a_fact_that_changed_and_came_back_is_no_other_specification(check: str) -> None:
    fact = _FACTS[check]
    if fact not in judged(check, "it", (fact,)):
        pytest.skip("of other subjects alone")
    values: dict[str, object] = {fact: "a"}
    assert "specification" in _why(check, "it", (), values=values)
    back = (move("h", fact, "a", "b", 4), move("h", fact, "b", "a", 7))
    assert "specification" not in _why(check, "it", back, values=values)


@pytest.mark.parametrize("fact", [fact for fact in COUNTED if fact != "accelerator-count"])
@pytest.mark.parametrize("subject", ["GPU5", "0000:f5:00.0", "GPU4, GPU5"])
def test_what_was_said_of_a_gpu_that_is_gone_was_not_mended(fact: str, subject: str) -> None:
    listed = fact in ("gpu.serials", "gpu.uuids")
    eight, seven = (["1", "2"], ["1"]) if listed else ({"x": 8}, {"x": 7})
    values: dict[str, object] = {fact: seven, "iommu.mode": "none"}
    lost = (move("h", fact, eight, seven, 8),)
    assert _why("iommu-mode", subject, lost, values=values) == (
        "there are fewer GPUs now, and its GPU may be the one that is gone")
    missing = Problem("accelerator-count", "0000:f5:00.0", "fail", "left", code="left-since-boot")
    told = _why("iommu-mode", subject, lost, missing, values=values)
    assert ("its GPU is gone" in told) == (subject == "0000:f5:00.0")
    # One that came back took nothing away, and what is said of the whole box is of no GPU.
    for moves, of in ((lost[:0], subject), ((move("h", fact, seven, eight, 8),), subject), (lost, "accelerators")):
        assert "gone" not in _why("iommu-mode", of, moves, values=values)
