"""The rules that every answer goes by."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import func, select
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck_fleet.fleet_report import Since
from tunecheck_fleet.model import Change, Problem
from tunecheck_fleet.store import schema
from tunecheck_fleet.store.store import Store

from .stores import Makes, one, seen

HOUR = 3600.0
START = 1_000_000.0


def rows(store: Store, table: str) -> int:
    with store.db.read() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.metadata.tables[table])).scalar_one())


def test_the_same_answer_again_is_one_row(makes: Makes) -> None:
    store = makes.fresh()
    for _ in range(5):
        one(store, seen("a", {"x": 1, "y": [1, 2]}))
    assert (rows(store, "snap"), rows(store, "span")) == (1, 2)
    head = store.begin("all", [("a", "g")])
    assert store.put(head.id, seen("a", {"x": 1, "y": [1, 2]})).what == "unchanged"
    assert [state.last_ok for state in store.hosts(3)] == [3]


def test_a_change_is_seen_after_the_last_audit_that_saw_another_value(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}))
    one(store, seen("a", status="unreachable", reason="no route"))
    one(store, seen("a", {"x": 2}))
    value, since = store.current("a")["x"]
    assert (value, since) == (2, Since(3, START + 2 * HOUR, 1, START))
    change, = store.changes(1)
    assert (change.fact, change.before, change.value, change.since.after, change.group) == ("x", 1, 2, 1, "g")
    assert store.changes(2, 2) == [] and store.changes(3) == []


@pytest.mark.parametrize("status", ["unreachable", "refused", "timeout", "missing", "garbled"])
def test_who_does_not_answer_ends_no_span(makes: Makes, status: str) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}))
    one(store, seen("a", status=status, reason="why"))
    assert store.current("a")["x"][0] == 1 and store.at("a", 2) == {"x": 1} and not store.changes(None)
    state, = store.hosts(2)
    assert (state.status, state.reason, state.last_ok, state.last_ok_at, state.key, state.hardware) == (
        status, "why", 1, START, "key-a", "hw")


def test_a_failed_collector_ends_no_span_of_its_facts_or_family(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1, "package.nvidia": "1", "package.zlib": "2", "gone": 3}))
    one(store, seen("a", {}, status="partial", unknown={"x": "timed out", "package.": "dpkg is locked"}))
    held = store.at("a", 2)
    assert held == {"x": 1, "package.nvidia": "1", "package.zlib": "2"}
    assert [(change.fact, change.value) for change in store.changes(1)] == [("gone", None)]
    assert store.hosts(2)[0].unknown == {"x": "timed out", "package.": "dpkg is locked"}
    one(store, seen("a", {"x": 1, "package.nvidia": "9"}))
    changed = {change.fact: (change.before, change.value, change.since.after) for change in store.changes(2)}
    assert changed == {"package.nvidia": ("1", "9", 1), "package.zlib": ("2", None, 1)}


def test_a_fact_that_comes_later_was_absent_where_its_collector_ran(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}, unknown={"late": "timed out"}))
    one(store, seen("a", {"x": 1, "late": 1, "new": 2}))
    assert [(change.fact, change.before, change.since.after) for change in store.changes(1)] == [("new", None, 1)]
    assert store.current("a")["late"][1] == Since(2, START + HOUR)
    one(store, seen("a", {"x": 1, "late": 1, "new": None}))
    assert store.current("a")["new"] == (None, Since(3, START + 2 * HOUR, 2, START + HOUR))
    assert "new" not in store.at("a", 3)


def test_a_fact_that_is_told_though_its_family_is_unknown_is_known(makes: Makes) -> None:
    store = makes.fresh()
    partial = {"held.": "apt's preferences were not recorded"}
    for value in (1, 1, 2):
        one(store, seen("a", {"held.nvidia": value}, unknown=partial), seen("b", {"held.nvidia": 1}))
    assert [(change.before, change.value, change.since.seen, change.since.after) for change in store.changes(1)] == [
        (1, 2, 3, 2)]
    assert {tuple(row)[2:] for row in store.census(3)} == {("held.nvidia", 1, 1), ("held.nvidia", 2, 1)}
    assert rows(store, "snap") == 2         # and the same answer again is one row here too
    one(store, seen("a", {}, unknown=partial))      # of this one nothing is known now: no end
    assert store.at("a", 4) == {"held.nvidia": 2} and not store.changes(3)
    one(store, seen("a", {"held.nvidia": 3}, unknown=partial))
    assert [(change.value, change.since.after) for change in store.changes(3)] == [(3, 3)]


def test_true_and_one_are_two_values(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}))
    one(store, seen("a", {"x": True}))
    assert [(change.before, change.value) for change in store.changes(1)] == [(1, True)]
    assert [tuple(row) for row in store.diff(1, 2)] == [("a", "x", 1, True)]


def test_history_and_blame_tell_the_receipt(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1, "y.z": 1}, changes=[Change("r1", 5.0, "done")]))
    one(store, seen("a", {"x": 2, "y.z": 1}, changes=[Change("r1", 5.0, "done"), Change("r2", 9e9, "done")]))
    one(store, seen("a", {"x": 3, "y.z": 2}, changes=[Change("r1", 5.0, "done"), Change("r2", 9e9, "done")]))
    newest, middle, first = store.blame("x", "a")
    assert (newest.value, newest.before, newest.receipt, newest.until) == (3, 2, None, None)
    assert middle.receipt == Change("r2", 9e9, "done")      # by audits: the box's clock is years ahead
    assert (middle.until, middle.until_at) == (3, START + 2 * HOUR)
    assert first.baseline and first.receipt is None
    assert [span.fact for span in store.history("a", "y.")] == ["y.z", "y.z"]
    assert [span.value for span in store.history("a", since=START + 1.5 * HOUR)] == [3, 2]
    assert store.changes(1, 2)[0].receipt == Change("r2", 9e9, "done")


def test_a_run_that_goes_on_is_told_again(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}))
    one(store, seen("a", {"x": 2}, changes=[Change("r", 5.0, "open")]))
    one(store, seen("a", {"x": 3}, changes=[Change("r", 6.0, "done")]))
    assert [change.receipt is not None for change in store.changes(1)] == [True, True]


def test_another_catalogue_takes_values_over_without_a_change(makes: Makes) -> None:
    place = makes.place()
    store = makes.open(place)
    one(store, seen("a", {"x": "0x1", "y": 1, "old": 1}), seen("late", {"x": "0x1"}))
    store.close()
    store = makes.open(place, catalogue=2)
    head = one(store, seen("a", {"x": 1, "y": 1, "new": 1}, unknown={"old": "timed out"}),
               seen("late", status="unreachable"))
    assert not store.changes(1) and store.audit(head.id).rebaselined and not store.diff(1, 2)
    assert store.at("a", 2) == {"x": 1, "y": 1, "new": 1, "old": 1}
    # Who answers later, or knows a fact later, was last told in the other catalogue's words.
    head = one(store, seen("a", {"x": 2, "y": 1, "new": 1, "old": "1"}), seen("late", {"x": 1}))
    assert [(change.host, change.fact, change.before) for change in store.changes(1)] == [("a", "x", 1)]
    assert store.audit(head.id).rebaselined
    assert not one(store, seen("a", {"x": 3, "y": 1, "new": 1, "old": "1"})).rebaselined
    assert len(store.changes(3)) == 1


def test_between_versions_on_the_box_only_common_facts_are_compared(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1, "gone": 1}), seen("b", {"x": 1, "gone": 1}))
    one(store, seen("a", {"x": 2, "new": 1}, tunecheck="2"), seen("b", {"x": 1, "gone": 1}))
    assert [(change.host, change.fact) for change in store.changes(1)] == [("a", "x")]
    assert {state.host: state.tunecheck for state in store.hosts()} == {"a": "2", "b": "1"}
    one(store, seen("a", {"x": 2}, tunecheck="2"), seen("b", {"x": 1}))
    assert [(change.host, change.fact, change.before) for change in store.changes(2)] == [
        ("a", "new", 1), ("b", "gone", 1)]


def test_of_the_restless_only_the_newest_is_kept(makes: Makes) -> None:
    store = makes.fresh()
    problem = Problem("acs-redirect", "0000:01:00.0", "fail", "redirects", "off", "run x", ("acs",), True)
    for number in range(3):
        one(store, seen("a", {"x": 1}, volatile={"temperature": 40 + number}, document=b"{%d}" % number,
                        outcomes={"acs": "fail"}, problems=[problem], boot_id=f"b{number}"))
    state, = store.hosts()
    assert (state.volatile, state.outcomes, state.problems, state.boot_id, state.newest) == (
        {"temperature": 42}, {"acs": "fail"}, (problem,), "b2", 3)
    assert store.newest_document("a") == b"{2}" and rows(store, "newest") == 1 and rows(store, "span") == 1


def test_findings_have_a_since_and_an_end(makes: Makes) -> None:
    store = makes.fresh()

    def failing(outcome: str, check: str = "c") -> Problem:
        return Problem(check, "s", outcome, "text")     # type: ignore[arg-type]

    one(store, seen("a", {}, problems=[failing("warn", "old")]))
    one(store, seen("a", {}, problems=[failing("warn", "old"), failing("fail")]))
    one(store, seen("a", {}, problems=[failing("unknown")]))        # of c nothing is known; old is resolved
    one(store, seen("a", status="timeout"))
    now = store.problems_since(4)
    assert [(row.check, row.outcome, row.since.seen, row.since.after) for row in now] == [("c", "fail", 2, 1)]
    assert [(row.check, row.until) for row in store.problems_resolved(1)] == [("old", 3)]
    one(store, seen("a", {}, problems=[failing("warn")]))           # milder: not resolved, since then
    assert [(row.outcome, row.since.seen, row.since.after) for row in store.problems_since()] == [("warn", 5, 2)]
    assert not store.problems_resolved(3)
    one(store, seen("a", {}))
    assert [(row.check, row.until) for row in store.problems_resolved(3)] == [("c", 6)]
    assert [row.check for row in store.problems_since(2)] == ["c", "old"]


def test_what_is_not_known_has_a_since_and_an_end_too(makes: Makes) -> None:
    store = makes.fresh()

    def told(*outcomes: str, subject: str = "GPU0 a, GPU1 b") -> None:
        one(store, seen("a", {}, problems=[Problem("c", subject, each, "text") for each in outcomes]))  # type: ignore[arg-type]

    def now() -> list[tuple[str, str, int, int | None]]:
        return [(row.subject, row.outcome, row.since.seen, row.since.after) for row in store.problems_since()]

    told()
    told("unknown")
    told("unknown")
    assert now() == [("GPU0 a", "unknown", 2, 1), ("GPU1 b", "unknown", 2, 1)]
    told("warn", subject="GPU1 b")
    assert now() == [("GPU1 b", "warn", 4, 1)]
    assert [(row.subject, row.outcome, row.until) for row in store.problems_resolved(3)] == [("GPU0 a", "unknown", 4)]
    told("unknown")      # of GPU1 it may still be so
    assert now() == [("GPU0 a", "unknown", 5, 4), ("GPU1 b", "warn", 4, 1)]
    told("warn", "fail", "unknown")
    assert [row.outcome for row in store.problems_since()] == ["fail", "fail"], "the worst of one and the same"
    told()
    assert not now() and len(store.problems_resolved(6)) == 2


def test_one_host_is_put_once_an_audit(makes: Makes) -> None:
    store = makes.fresh()
    head = store.begin("all", [("a", "g"), ("b", "g")])
    assert store.put(head.id, seen("a", {"x": 1})).what == "first"
    assert store.put(head.id, seen("a", {"x": 2})).what == "repeated"
    assert store.at("a", head.id) == {"x": 1} and store.pending(head.id) == [("b", "g")]
    store.finish(head.id)
    with refused(Misuse.OVER, f"#{head.id}"):
        store.put(head.id, seen("b"))
    with refused(Misuse.NO_SUCH, "#9"):
        store.put(9, seen("b"))


def test_hostile_text_is_text(makes: Makes) -> None:
    store = makes.fresh()
    name = "a'; DROP TABLE host; --\x1b[31m<script>\0\ud800"
    known = {"x'\0\"": "\0\ud800<b>", "\udfff%s{}:name": {"k\0": ["\x1b]0;"]}, "nan": float("nan"), "deep": _deep(),
             "large": "x" * 100_000, "set": {1}, "huge": 10 ** 5000}
    one(store, seen(name, known, reason="\0", group="\0g", boot_id="\0", volatile={"v\0": "\ud800", "no": {1}},
                    problems=[Problem("c\0", "\ud800", "fail", "\0")], changes=[Change("\0", 1.0, "\ud800")]))
    state, = store.hosts()
    assert "\0" not in state.host and "DROP TABLE" in state.host and state.group == "\\x00g"
    held = store.at(state.host, 1)
    assert held["x'\\x00\""] == "\0\ud800<b>" and held["\\udfff%s{}:name"] == {"k\0": ["\x1b]0;"]}
    assert set(state.unknown) == {"deep", "large", "set", "huge"}
    assert json.dumps(state.volatile) and state.problems[0].text == "\0"
    assert [row.check for row in store.problems_since()] == ["c\\x00"]


def _deep() -> list[object]:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


def test_who_is_not_known_is_named_with_the_nearest(makes: Makes) -> None:
    store = makes.fresh()
    with refused(Misuse.EMPTY, store.where, "tunecheck audit"):
        store.audit()
    one(store, seen("gpu0017"), seen("dead", status="unreachable"))
    with refused(Misuse.NO_SUCH, "'gpu017'", "gpu0017"):
        store.current("gpu017")
    with refused(Misuse.EMPTY, "dead"):
        store.newest_document("dead")
    with refused(Misuse.NO_SUCH, "#7"):
        store.audit(7)
    assert store.known_hosts() == ["dead", "gpu0017"]
