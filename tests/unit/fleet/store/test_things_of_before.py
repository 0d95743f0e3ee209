"""A history in which what a check finds of one subject had one since (schema 0006): what was open keeps its since, its
state and what somebody said of it, and from then on each thing that is found has its own."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, insert, text
from tests.unit.fleet.same_answers import answers_alike

from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import database
from tunecheck_fleet.store.store import Store

from .stores import Makes, SqliteMakes

#: Made by the version of 0006 in four audits of the hosts below: ann acknowledged the first fault as of #2.
_OLD = json.loads(Path(__file__).with_name("history-0006.json").read_text())
_A = Problem("gpu-ecc", "GPU0 0000:01:00.0", "fail", "3 errors", "0", code="uncorrectable-errors", observed="3")
_B = replace(_A, code="unrepairable-memory", observed="unrepairable", text="cannot be repaired")
_W = replace(_A, outcome="warn", code="remap-pending", observed="pending", text="a row waits")
_U = replace(_A, outcome="unknown", code="unread", observed="", text="not known")
#: What each told in #4, after: _A and _B and then _U; _A, and _B beside it; _W; _A for one audit; _A; _A and then _W.
_LAST = {"a": (_U,), "b": (_B,), "c": (_W, _U), "d": (), "e": None, "f": (_W,), "g": (_W,)}
_CODES = {"A": _A.code, "B": _B.code, "W": _W.code, "U": ""}


@pytest.fixture(name="store")
def _store(makes: Makes) -> Store:
    makes.clock.now = 1_800_000_000.0 + 5 * 86_400
    place = makes.bare()
    old = database.Database.__new__(database.Database)
    old.sqlite, old.where = isinstance(makes, SqliteMakes), place
    old.engine = database._engine(database._url(place))
    with old.write() as connection:
        database.migrate(connection, "0006")
        tables = MetaData()
        tables.reflect(connection)
        for name, rows in _OLD.items():
            connection.execute(insert(tables.tables[name]), [{column: _value(value) for column, value in row.items()}
                                                             for row in rows])
        if not old.sqlite:
            for name in ("audit", "host", "fact", "value", "finding", "decision"):
                connection.execute(text(f"SELECT setval('{name}_id_seq', (SELECT max(id) FROM {name}))"))
    old.close()
    return makes.open(place)


def _value(value: Any) -> Any:
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value


def _night(store: Store, **told: tuple[Problem, ...] | None) -> None:
    head = store.begin("folder", [(name, "g") for name in _LAST])
    for name, problems in {**_LAST, **told}.items():
        store.put(head.id, Seen(name, "g", "unreachable", "no route to host") if problems is None else Seen(
            name, "g", "ok", key=f"key-{name}", hardware="hw", known={"gpu.count": 8}, tunecheck="0.1.0",
            document=b"{}", problems=problems))
    store.finish(head.id)


def _spans(store: Store) -> dict[str, set[tuple[str, str, int, int | None]]]:
    """Host -> code, outcome, since which audit, until which one."""
    found: dict[str, set[tuple[str, str, int, int | None]]] = {}
    for row in [*store.problems_since(), *store.problems_resolved(None, of="span")]:
        found.setdefault(row.host, set()).add((row.code, row.outcome, row.since.seen, row.until))
    return found


def _causes(store: Store, host: str, audit: int | None = None) -> dict[str, Cause]:
    found = [each for each in report(store, audit, JudgeOptions(now=store.clock())).causes if host in each.hosts]
    assert len({(each.code, each.state) for each in found}) == len(found)
    return {each.code: each for each in found if each.state != "resolved"}


_BEFORE = {
    "a": {(_A.code, "fail", 2, None), (_B.code, "fail", 2, None)},
    "b": {(_A.code, "fail", 2, 4), (_B.code, "fail", 2, None)},
    "c": {(_W.code, "warn", 3, None), ("", "unknown", 3, None)},
    "d": {(_A.code, "fail", 2, 3)},
    "e": {(_A.code, "fail", 1, None)},
    "f": {(_A.code, "fail", 2, 3), (_W.code, "warn", 4, None)},
    "g": {(_A.code, "fail", 2, 3), (_W.code, "warn", 3, None)},
}


def test_each_thing_that_was_told_has_its_own_since(store: Store) -> None:
    assert _spans(store) == _BEFORE
    assert answers_alike(store, JudgeOptions()) == 7


def test_the_next_audit_makes_no_news_of_it(store: Store) -> None:
    _night(store)
    assert _spans(store) == _BEFORE
    found = report(store, None, JudgeOptions(now=store.clock()))
    assert {each.state for each in found.causes} == {"known"}
    assert answers_alike(store, JudgeOptions()) == 7
    # What ann said of the first one was said of the subject, and of all that was open there then.
    assert all(each.acknowledged for each in _causes(store, "a").values())
    assert not any(each.acknowledged for each in _causes(store, "g").values())


@pytest.mark.parametrize("audit", [2, 3, 4])
def test_an_audit_of_before_is_told_with_the_same_things(store: Store, audit: int) -> None:
    """As that version told them, of the hosts that had one thing at a time."""
    found = report(store, audit, JudgeOptions(now=store.clock()))
    assert not any(each.since is None for each in found.causes)
    told = {(each.code, each.state) for each in found.causes if {"d", "f", "g"}.intersection(each.hosts)}
    wanted = {2: {(_A.code, "grown")}, 3: {(_W.code, "new"), (_A.code, "resolved")}, 4: {(_W.code, "grown")}}
    assert told >= wanted[audit]


def test_from_then_on_each_comes_and_goes_by_itself(store: Store) -> None:
    _night(store, a=(_A, _B), b=(_A, _B), c=(_B, _W, _U), f=())
    now = _spans(store)
    assert now["a"] == _BEFORE["a"] and now["b"] == _BEFORE["b"] | {(_A.code, "fail", 5, None)}
    assert now["c"] == _BEFORE["c"] | {(_B.code, "fail", 5, None)}
    assert now["f"] == {(_A.code, "fail", 2, 3), (_W.code, "warn", 4, 5)}
    assert {code: each.state for code, each in _causes(store, "c").items()}[_B.code] in ("new", "grown")
    assert answers_alike(store, JudgeOptions()) == 7
    _night(store, a=(_B,), b=(_A, _B), c=(_W,), e=())
    assert {code: (each.hosts, bool(each.acknowledged)) for code, each in _causes(store, "b").items()} == {
        _A.code: (("b",), False), _B.code: (("a", "b"), True)}


def test_what_was_kept_without_a_code_has_that_of_what_is_told_next(store: Store) -> None:
    with store.db.write() as connection:
        connection.execute(text("DELETE FROM finding_span"))
        connection.execute(text("INSERT INTO finding_span (host_id, finding_id, from_audit, outcome, after_audit) "
                                "SELECT 1, id, 2, 'fail', 1 FROM finding WHERE code = ''"))
    store.interned.forget()
    _night(store, a=(_U,), b=(), e=())
    assert _spans(store)["a"] == {("", "fail", 2, None)}
    [cause] = [each for each in _causes(store, "a").values() if each.was]
    assert (cause.was, cause.state, cause.since and cause.since.seen) == ("fail", "known", 2)
    _night(store, a=(_A,))
    assert _spans(store)["a"] == {(_A.code, "fail", 2, None)}
    _night(store, a=(_B,))
    assert _spans(store)["a"] == {(_A.code, "fail", 2, 7), (_B.code, "fail", 7, None)}
