"""A check that judges several facts: what it says of one of them is told with that one's values, and decided alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tunecheck.rules.check import Check
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.authority import judged
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store.store import Store

_SEVERAL = [check for check in CHECKS if len(check.judges) > 1]
#: Check, subject, and which of its facts moves meanwhile.
_MOVES = [(check, subject, fact) for check in _SEVERAL for subject in (*dict(check.judges_of), "it")
          for fact in check.judges]


def _named(fact: str) -> str:
    return fact.replace("{subject}", "it").replace("*", "x")


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with Store(str(tmp_path / "fleet.db")) as store:
        yield store


def _night(store: Store, facts: dict[str, Any], *problems: Problem) -> None:
    _nights(store, [("h", facts, problems)])


def _nights(store: Store, told: Sequence[tuple[str, dict[str, Any], Sequence[Problem]]]) -> None:
    """Every host is of a group of its own, so that none differs from the others."""
    head = store.begin("all", [(host, host) for host, _, _ in told])
    for host, facts, problems in told:
        store.put(head.id, Seen(host, host, "ok", hardware="hw", tunecheck="0.1.0", spec="s", known=facts,
                                problems=tuple(problems)))
    store.finish(head.id)


def _told(found: FleetReport, check: Check, subject: str, host: str = "h") -> Cause:
    (cause,) = [cause for cause in found.causes if (cause.authority, cause.fact, cause.subject, cause.hosts) == (
        "desired", check.id, subject, (host,))]
    return cause


@pytest.mark.parametrize("outcome", ["unknown", "fail", "warn"])
@pytest.mark.parametrize("before", [True, False])
def test_no_finding_shows_the_values_of_another_fact(store: Store, outcome: Any, before: bool) -> None:
    """What is unknown shows none where it may be of another; and its interval is none of theirs."""
    problems = [Problem(check.id, subject, outcome, "what it says", code=f"x{number}")
                for number, (check, subject, _) in enumerate(_MOVES)]
    for night in range(3):
        _nights(store, [(f"h{number}", {_named(fact): "new" if night == 2 else "old"},
                         [problem] if before or night else [])
                        for number, ((_, _, fact), problem) in enumerate(zip(_MOVES, problems, strict=True))])
    every = report(store, None, JudgeOptions())
    for number, (check, subject, fact) in enumerate(_MOVES):
        own = [*judged(check.id, subject, [_named(each) for each in check.judges])]
        may = _named(fact) in own and (outcome != "unknown" or len(own) == 1)
        host = f"h{number}"
        for found in (every, report(store, None, JudgeOptions(), host)) if number % 7 == 0 else (every,):
            cause = _told(found, check, subject, host)
            assert (cause.before, cause.value) == (("old", "new") if may else (None, None)), (check.id, subject, fact)
            assert cause.since is not None and cause.since.seen == (1 if before else 2)


@pytest.mark.parametrize("check", [check for check in CHECKS if check.judges_of], ids=lambda check: check.id)
def test_who_is_at_work_on_one_subject_has_said_nothing_of_the_others(store: Store, check: Check) -> None:
    subjects = [subject for subject, _ in check.judges_of]
    problems = [Problem(check.id, subject, "fail", "what it says", code="x") for subject in subjects]
    _night(store, {})
    _night(store, {}, *problems)
    found = report(store, None, JudgeOptions())
    decide(store, found, "acknowledge", [_told(found, check, subjects[0]).id], author="anna")
    _night(store, {}, *problems)
    for host in (None, "h"):
        found = report(store, None, JudgeOptions(), host)
        assert [_told(found, check, subject).acknowledged is not None for subject in subjects] == [
            subject == subjects[0] for subject in subjects]


@pytest.mark.parametrize(("then", "later"), [
    ("GPU0 0000:01:00.0, GPU1 0000:02:00.0", "GPU0 0000:02:00.0"), ("port 3", "port 14"), ("iommu=pt", "iommu=pt")])
def test_a_decision_holds_whichever_number_its_subject_has_later(store: Store, then: str, later: str) -> None:
    def problem(subject: str, observed: str) -> Problem:
        return Problem("link-width", subject, "fail", "what it says", code="x", observed=observed)

    _night(store, {}, problem("GPU0 0000:02:00.0", "x8") if "GPU" in then else problem(then, "x8"))
    found = report(store, None, JudgeOptions())
    decide(store, found, "acknowledge", [found.causes[0].id], author="anna")
    _night(store, {}, problem(later if "GPU" in then else then, "x4"))
    (cause,) = [each for each in report(store, None, JudgeOptions()).causes if each.state != "resolved"]
    assert cause.acknowledged is not None
