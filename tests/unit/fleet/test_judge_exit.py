"""What a report is as an exit code."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck_fleet.fleet_report import Cause, FleetReport, HostRow, Waived
from tunecheck_fleet.judge import allowed_missing, exit_code
from tunecheck_fleet.model import AuditHead, Status
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.terminal import verdict_line


def _report(*causes: Cause, states: tuple[Status, ...] = ("ok",) * 10) -> FleetReport:
    hosts = tuple(HostRow(f"h{number}", "g", "hw", status) for number, status in enumerate(states))
    return FleetReport(AuditHead(1, 0.0, "all", len(hosts), "1", 1, 1.0), None, hosts, causes)


def _cause(authority: Any = "majority", **more: Any) -> Cause:
    fields: dict[str, Any] = dict(severity="high", fact="f", group="g", hosts=("h1",), value=1, before=2, expected="",
                                  fix="none", since=None, state="new")
    return Cause(authority=authority, **{**fields, **more})


@pytest.mark.parametrize(("cause", "fail_on", "code"), [
    (_cause(), "", 0), (_cause(), "drift", 1), (_cause("previous"), "drift", 1), (_cause("identity"), "drift", 1),
    (_cause("reference"), "drift", 1), (_cause("previous", intended=True), "drift", 0),
    (_cause(state="resolved"), "drift", 0), (_cause(waived=Waived(1, 2.0, "a", "b")), "drift", 0),
    (_cause("desired", outcome="fail"), "fail", 1), (_cause("desired", outcome="fail"), "drift", 1),
    (_cause("desired", outcome="warn", standing=True), "drift", 0), (_cause("desired", outcome="warn"), "drift", 1),
    (_cause("desired", outcome="warn"), "fail", 0), (_cause("role", outcome="fail"), "fail", 1),
    (_cause("desired", outcome="unknown", severity="low"), "drift", 0),
    (_cause("desired", outcome="unknown", severity="low"), "fail", 0),
    (_cause("desired", outcome="unknown", severity="low"), "unknown", 1),
    *((_cause("desired", outcome="unknown", severity="medium", was=was), fail_on, code)
      for was in ("", "warn", "fail")
      for fail_on, code in (("drift", 1), ("unknown", 1), ("fail", int(was == "fail"))))])
def test_what_is_asked_for_is_a_one(cause: Cause, fail_on: str, code: int) -> None:
    assert exit_code(_report(cause), {fail_on} - {""}) == code


_CAUSES = st.builds(
    _cause, st.sampled_from(["desired", "previous", "majority", "role", "identity", "reference"]),
    outcome=st.sampled_from(["", "fail", "warn", "unknown"]), state=st.sampled_from(["new", "known", "resolved"]),
    intended=st.booleans(), standing=st.booleans(), rollout=st.booleans(),
    severity=st.sampled_from(["low", "medium", "high"]), was=st.sampled_from(["", "warn", "fail"]),
    waived=st.sampled_from([None, Waived(1, 2.0, "a", "b")]))


@given(st.lists(_CAUSES, max_size=4), st.lists(st.sampled_from(["ok", "partial", "timeout"]), max_size=4))
def test_last_line_summary_and_exit_code_say_the_same(causes: list[Cause], states: list[Status]) -> None:
    report = _report(*causes, states=tuple(states))
    word, summary = verdict_line(report).partition(":")[0], document(report)["summary"]
    assert word == summary["outcome"].upper()
    silent = 0 if report.answered else 2
    assert exit_code(report, {"drift"}, "100%") == {"DRIFT": 1, "CLEAN": 0, "UNKNOWN": silent}[word]
    assert (summary["drift"] > 0) == any(cause["counts"] for cause in document(report)["causes"])
    assert silent or (summary["drift"] > 0) == (word == "DRIFT")
    assert silent or (summary["drift"] + summary["unjudged"] == 0) == (word == "CLEAN"), "what is not judged is no pass"
    if exit_code(report, {"fail"}, "100%") == 1:
        assert word == "DRIFT", "what fails is drift, too"
    if exit_code(report, {"unknown"}, "100%") == 1:
        assert word in ("DRIFT", "UNKNOWN")


def test_coverage() -> None:
    short: tuple[Status, ...] = ("ok",) * 97 + ("partial", "timeout", "garbled")
    assert exit_code(_report(states=short)) == 3
    assert exit_code(_report(states=short), max_missing="3") == 0
    assert exit_code(_report(states=short), max_missing="2.5%") == 3
    assert exit_code(_report(states=short), {"coverage"}) == 1
    assert exit_code(_report(states=short), {"coverage"}, "3%") == 0
    assert exit_code(_report(_cause(), states=short), {"drift"}) == 1, "1 wins over 3"
    assert exit_code(_report(_cause(), states=("timeout",) * 5), {"drift"}) == 2, "nobody answered"
    assert exit_code(_report(states=())) == 2


def test_what_cannot_be_asked_for_is_said() -> None:
    with refused(Misuse.MALFORMED, "dirft", "drift, fail, unknown, coverage"):
        exit_code(_report(), {"dirft"})
    for text in ("", "-1", "2.5", "101%", "many", "1e9", "9" * 40):
        with refused(Misuse.MALFORMED, "--max-missing"):
            allowed_missing(text, 10)
    assert [allowed_missing(text, 200) for text in ("0", "5", "1%", "0.4%", "100%")] == [0, 5, 2, 0, 200]
