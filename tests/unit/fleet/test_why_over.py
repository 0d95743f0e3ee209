"""Why a finding is over: only where another specification judged, and nothing that the check looks at moved, in between
either, is it the specification; what moved is named; and what was said of a GPU that is gone was not mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.fleet.rows import move, since, view

from tunecheck.rules.index import CHECKS
from tunecheck_fleet.events.gpu_moves import COUNTED
from tunecheck_fleet.judge import JudgeOptions, judge, report
from tunecheck_fleet.judge.authority import HAPPENING, JUDGED, judged
from tunecheck_fleet.judge.view_rows import Host, Move, Resolved
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import open_store

_CHECKS = sorted(set(JUDGED) - HAPPENING)
#: Facts that no pattern of a check has a wildcard for.
_FACTS = {check: next((fact for fact in JUDGED[check] if not {*fact} & {*"*?[{"}), "") for check in _CHECKS}


def _why(check: str, subject: str, moves: tuple[Move, ...], *problems: Problem,
         values: dict[str, object] | None = None, respecified: bool = True) -> str:
    made = view({"h": values or {"driver.loaded": "1"}}, moves=moves, number=9,
                hosts=(Host("h", "g", "hw", last_ok=9, problems=problems),),
                resolved=(Resolved("h", "g", check, subject, "fail", since(3, 2), respecified=respecified),))
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
    assert _why(check, "it", (), values=values, respecified=False) == "the check finds this no more"
    back = (move("h", fact, "a", "b", 4), move("h", fact, "b", "a", 7))
    assert "specification" not in _why(check, "it", back, values=values)


#: Check, subject, fact beside those that it judges, and the value that ended the finding.
_BESIDE = [*((check.id, "it", fact, "b") for check in CHECKS for fact in check.compares),
           ("cmdline-conflict", "pcie_aspm.policy=performance", "kernel.cmdline.pcie_aspm", None),
           ("cmdline-conflict", "iommu=pt", "kernel.cmdline.amd_iommu", None)]


@pytest.mark.parametrize("respecified", [False, True])
@pytest.mark.parametrize(("check", "subject", "fact", "value"), _BESIDE)
def test_whatever_else_the_check_looks_at_is_named(check: str, subject: str, fact: str, value: object,
                                                   respecified: bool) -> None:
    values: dict[str, object] = {
        fact: value, **{each: "x" for each in JUDGED.get(check, ()) if not {*each} & {*"*?[{"}}}
    gone = (move("h", fact, "off", value, 8),)
    assert _why(check, subject, gone, values=values, respecified=respecified) == (
        f"{fact} is {'absent' if value is None else value} now")


def test_a_word_that_took_nothing_back_is_not_named() -> None:
    gone = (move("h", "kernel.cmdline.quiet", "off", None, 8),)
    assert _why("cmdline-conflict", "iommu=pt", gone, values={"kernel.cmdline.iommu": "pt"}) == (
        "the check finds this no more")


@pytest.mark.parametrize(("specs", "said"), [
    (("s", "s", "s"), False), (("s", "s", "t"), True), (("s", "t", "t"), False), (("s", None, "s"), False),
    ((None, None, "t"), True)])
def test_another_specification_is_one_that_the_history_has(tmp_path: Path, specs: tuple[str | None, ...],
                                                           said: bool) -> None:
    """Of three audits the last one finds it no more; None: the host is silent there, or in the first two judged
    without one."""
    found = Problem("smt", "SMT", "fail", "SMT is on", code="on")
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for number, spec in enumerate(specs):
            head = store.begin("/inv", [("h", "g")])
            silent = number == 1 and spec is None and specs[0] is not None
            store.put(head.id, Seen("h", "g", "unreachable") if silent else Seen(
                "h", "g", "ok", tunecheck="0.1.0", document=b"{}", spec=spec, known={"cpu.smt": "on"},
                problems=() if number == 2 else (found,)))
            store.finish(head.id)
        for about in (None, "h"):
            [cause] = [each for each in report(store, None, JudgeOptions(), about).causes if each.fact == "smt"]
            assert cause.state == "resolved" and ("specification" in cause.text) == said


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
