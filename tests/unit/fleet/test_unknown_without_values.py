"""What cannot be told shows no value of an audit in which it could still be read: that is an entry of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tunecheck.rules.index import CHECKS
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.authority import judges_one
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store.store import Store

#: Checks that judge one fact alone, of which a value could be shown.
_ONE = [(check.id, check.judges[0]) for check in CHECKS
        if check.judges and judges_one(check.id, "") and "{" not in check.judges[0]]


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with Store(str(tmp_path / "fleet.db")) as store:
        yield store


def _night(store: Store, known: dict[str, Any], unknown: dict[str, str], *problems: Problem) -> FleetReport:
    head = store.begin("all", [("h", "g")])
    store.put(head.id, Seen("h", "g", "ok", hardware="hw", tunecheck="0.1.0", known=known, unknown=unknown,
                            problems=problems, untold=tuple(each.check for each in problems)))
    store.finish(head.id)
    return report(store, head.id)



@pytest.mark.parametrize("partly", [False, True], ids=["judged", "judged in part"])
@pytest.mark.parametrize(("check", "fact"), _ONE)
def test_the_change_came_earlier(store: Store, check: str, fact: str, partly: bool) -> None:
    """As where a GPU is lost in one night, and the next has no NVML at all. It began after the audit that told the
    value, also where the check could not judge all of it then."""
    one = Problem(check, "GPU5", "unknown", "GPU5 gives no answer", code="unread")
    every = Problem(check, "all of them", "unknown", "it is not in the import", code="unread")
    first = _night(store, {fact: "a"}, {})
    _night(store, {fact: "b"}, {}, *([one] if partly else []))
    _night(store, {}, {fact: "not in the import"}, every)
    found = report(store, options=JudgeOptions(since=first.audit.id))
    cause, = (each for each in found.causes if each.subject == every.subject)
    assert (cause.before, cause.value, cause.text) == (None, None, every.text)
    assert cause.since is not None and (cause.since.after, cause.since.seen) == (2, 3)
    assert [each for each in found.causes if (each.before, each.value) == ("a", "b")], "the change is told all the same"
