"""An audit of another inventory, or without one, judges by another desired state: it ends nothing of this one's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store.store import Store

_OWN, _FILES = "/inv/prod", "files of /carried"
_OTHERS = (_FILES, "/inv/test", f"/inv/test, {_FILES}")


def _night(store: Store, scope: str, *problems: Problem, unasked: tuple[str, ...] = ()) -> None:
    head = store.begin(scope, [("h", "g")])
    store.put(head.id, Seen("h", "g", "ok", hardware="hw", tunecheck="0.1.0", problems=problems, unasked=unasked,
                            untold=tuple(each.check for each in problems if each.outcome == "unknown")))
    store.finish(head.id)


def _found(outcome: Any) -> Problem:
    return Problem("cpu-governor", "governor", outcome, "what it says", code="x")


def _told(store: Store, audit: int | None = None) -> list[tuple[Any, ...]]:
    seen = [[(cause.fact, cause.outcome, cause.state, cause.since and cause.since.seen)
             for cause in report(store, audit, JudgeOptions(), host).causes] for host in (None, "h")]
    assert seen[0] == seen[1]
    return seen[0]


@pytest.mark.parametrize("outcome", ["fail", "warn", "unknown"])
@pytest.mark.parametrize("other", _OTHERS)
@pytest.mark.parametrize("between", [1, 2])
@pytest.mark.parametrize("unasked", [(), ("cpu-governor",)])
def test_what_stood_before_it_is_known_after_it(tmp_path: Path, outcome: str, other: str, between: int,
                                                unasked: tuple[str, ...]) -> None:
    with Store(str(tmp_path / "fleet.db")) as store:
        for _ in range(2):
            _night(store, f"{_OWN}, {_FILES}", _found(outcome))
        before = _told(store)
        for _ in range(between):
            _night(store, other, unasked=unasked)
        _night(store, f"{_OWN}, {_FILES}", _found(outcome))
        assert _told(store) == before == [("cpu-governor", outcome, "known", 1)]
        assert {(row.since.seen, row.until) for row in store.problems_since(None)} == {(1, None)}
        # Looked at again, the other audit tells nothing of what it has not judged.
        assert [each for each in _told(store, 2 + between) if each[2] != "resolved"] == []


@pytest.mark.parametrize("other", _OTHERS)
def test_what_its_own_audit_ended_is_new_when_it_comes_again(tmp_path: Path, other: str) -> None:
    """Also under a limit, also where it is found for the first time, and where the other one had found it."""
    for number, nights in enumerate((
            [(_OWN, True), (_OWN, False), (other, False), (_OWN, True)],
            [(_OWN, True), (other, False), (f"{_OWN}, limit h", False), (_OWN, True)],
            [(_OWN, False), (other, True), (other, False), (_OWN, True)],
            [(_OWN, False), (other, False), (_OWN, True)])):
        with Store(str(tmp_path / f"{number}.db")) as store:
            for scope, there in nights:
                _night(store, scope, *([_found("fail")] if there else []))
            assert _told(store) == [("cpu-governor", "fail", "new", len(nights))], nights
