"""The fleet as a whole: outliers, flaps, restless facts, waivers, retention, export."""

from __future__ import annotations

import errno
import os
import random
import re
import stat
from pathlib import Path

import pytest
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck.report.words.fleet_words import FLAP_CHANGES, FLAP_DAYS, FLEET_WORDS
from tunecheck_fleet.store import Flap

from .stores import Makes, one, seen


def test_outliers_of_each_group_and_hardware(makes: Makes) -> None:
    store = makes.fresh()
    answers = [seen(f"a{number}", {"x": 1, "y": number % 2, "everywhere": 1}, group="a") for number in range(9)]
    answers.append(seen("a9", {"x": 2, "y": 1, "extra": 1}, group="a"))
    answers += [seen(f"b{number}", {"x": 3 if number else 4}, group="b") for number in range(4)]
    answers.append(seen("silent", status="unreachable", group="a"))
    answers.append(seen("half", {}, status="partial", unknown={"x": "timed out", "y": "", "e": "", "extra": "",
                                                               "everywhere": ""}, group="a"))
    one(store, *answers)
    found = {(row.host, row.fact): (row.value, row.majority, row.count, row.total) for row in store.outliers()}
    assert found == {("a9", "x"): (2, 1, 9, 10), ("a9", "everywhere"): (None, 1, 9, 10),
                     ("a9", "extra"): (1, None, 9, 10)}
    assert {(row.host, row.fact) for row in store.outliers(0.7, 4)} == set(found) | {("b0", "x")}
    one(store, *(seen(f"a{number}", {"x": 5}, group="a") for number in range(10)))
    assert store.outliers() == [] and len(store.outliers(audit_id=1)) == 3
    assert {row.since.seen for row in store.outliers(audit_id=1) if row.since} == {1}
    assert [tuple(row) for row in store.census(1) if row.fact == "x"] == [
        ("a", "hw", "x", 1, 9), ("a", "hw", "x", 2, 1), ("b", "hw", "x", 3, 3), ("b", "hw", "x", 4, 1)]


def test_flapping(makes: Makes) -> None:
    store = makes.fresh()
    for x, y in ((1, 1), (2, 2), (1, 3), (2, 3)):
        one(store, seen("a", {"x": x, "y": y}))
    assert store.flaps() == [Flap("a", "x", 3, 2)]
    makes.clock.hours(24 * 40)
    assert store.flaps() == [] and store.flaps(60) == [Flap("a", "x", 3, 2)]


@pytest.mark.parametrize(("values", "times"), [
    ((1, 2), 0), ((1, 2, 1), 0), ((1, 2, 3, 4), 0), ((1, 2, 3, 1), 0), ((1, 2, 2, 1, 1), 0),
    ((1, 2, 1, 2), 3), ((1, 2, 1, 3, 1), 4), ((1, 2, 1, 1, 1, 2), 3)])
def test_what_changed_and_was_put_back_once_is_not_flapping(makes: Makes, values: tuple[int, ...], times: int) -> None:
    """There and back, and there again, as `tunecheck explain flapping` and the docs say it, with one number."""
    store = makes.fresh()
    for value in values:
        one(store, seen("a", {"x": value}))
    assert [each.times for each in store.flaps()] == [times] * bool(times)
    assert not times or times >= FLAP_CHANGES
    said = f"at least {FLAP_CHANGES} changes between audits within {FLAP_DAYS} days"
    assert said in FLEET_WORDS["FLAPPING"][0]
    assert said in (Path(__file__).parents[4] / "docs/fleet-outputs.md").read_text(encoding="utf-8")


def test_five_restless_facts_are_named(makes: Makes) -> None:
    store = makes.fresh()
    chance = random.Random(3)
    for number in range(10):
        rollout = {f"wave{wave}": int(number > wave) for wave in range(1, 9)}      # each moves every host once
        one(store, *(seen(f"h{host}", {
            **{f"restless{fact}": chance.random() for fact in range(4)},
            "seldom": chance.randrange(10**6) if chance.random() < 0.2 else host,
            "steady": 1, "identity": f"serial-{host}", **rollout, "driver": int(host < 3 * number),
            "kernel": int(number > 4)}) for host in range(30)))
    found = store.volatility()
    assert {row.fact for row in found if row.suspicious} == {"restless0", "restless1", "restless2", "restless3",
                                                             "seldom"}
    assert {row.fact for row in found} >= {"driver", "kernel", "wave1"}
    why = next(row.why for row in found if row.fact == "restless0")
    assert re.findall(r"\b\d+\b", why) == ["270", "30", "30", "10"], "changes, hosts, audits"
    assert store.volatility(1) == []


def test_how_often_a_fact_changes_is_counted_of_every_host_that_was_heard(makes: Makes) -> None:
    """Also of those that never had it: a word that one host of 16 got and lost is no word that half of them change."""
    store = makes.fresh()
    one(store, *(seen(f"h{host}", {"steady": 1, "word": 1} if host == 1 else {"steady": 1}) for host in range(16)))
    one(store, *(seen(f"h{host}", {"steady": 1, "word": 1} if host < 2 else {"steady": 1}) for host in range(16)))
    found = {row.fact: row for row in store.volatility()}
    assert (found["word"].change_rate, found["word"].heard, found["word"].hosts) == (1 / 16, 16, 2)
    one(store, *(seen(f"h{host}", {"steady": 1, "word": 1} if host == 1 else {"steady": 1}) for host in range(15)))
    found = {row.fact: row for row in store.volatility()}
    assert (found["word"].change_rate, found["word"].heard) == (1 / 16, 16)
    assert {row.heard for row in store.volatility(2)} == {16}, "h15 was heard in the first of the two"


def test_what_a_fact_is_today_is_counted_of_the_hosts_that_are_there(makes: Makes) -> None:
    """A host that has another name is one host, and one that the inventory has no more is none; it is again when it
    comes back."""
    store = makes.fresh()
    one(store, *(seen(f"h{host}", {"word": host}) for host in range(4)))
    one(store, *(seen(f"h{host}", {"word": host + 1}) for host in range(4)))
    for names, there in (((0, 1, 2, 9), 4), ((0, 1, 9), 3), ((0, 1, 2, 9), 4)):
        one(store, *(seen(f"h{host}", {"word": host}, key="key-h3" if host == 9 else "")
                     for host in names))
        (row,) = store.volatility()
        assert row.hosts == len(store.hosts()) == there and row.heard == 4


def test_waivers(makes: Makes) -> None:
    store = makes.fresh()
    now = makes.clock.now
    first = store.waive("x", reason="vendor ticket", author="ann", until=now + 100, host="a", value='{"b": 1, "a": 2}')
    assert first.value == '{"a":2,"b":1}' and store.waivers() == [first]
    second = store.waive("y.", reason="as built", author="bob", until=None, group="g", kind="accept")
    one(store, seen("a"))
    store.matched([first.id], 1)
    assert [waiver.last_matched for waiver in store.waivers()] == [1, None]
    assert store.waivers(expired=False) == [second]
    with refused(Misuse.NO_SUCH, "77"):
        store.unwaive(first.id, 77)
    assert first.id in {waiver.id for waiver in store.waivers()}, "all of them or none"
    assert [each.reason for each in store.unwaive(first.id)] == ["vendor ticket"] and store.waivers() == [second]
    for wrong, flaw, name in (({"reason": " "}, Misuse.LEFT_OUT, "reason"), ({"author": ""}, Misuse.LEFT_OUT, "author"),
                              ({"until": None}, Misuse.LEFT_OUT, ""), ({"until": now - 1}, Misuse.PASSED, "1970-01-12"),
                              ({"value": "{"}, Misuse.MALFORMED, "'{'"), ({"until": float("nan")}, Misuse.PASSED, "")):
        with refused(flaw, name):
            store.waive("x", **{"reason": "r", "author": "a", "until": now + 1e6, **wrong})     # type: ignore[arg-type]
    with refused(Misuse.NO_SUCH, "77"):
        store.unwaive(77)


def test_prune_forgets_what_ended_and_keeps_what_is(makes: Makes) -> None:
    store = makes.fresh()
    for number in range(6):
        one(store, seen("a", {"x": number, "steady": 1}), seen("b", {"x": 1}))
    one(store, seen("b", status="unreachable"))
    before = {host: store.at(host, 7) for host in ("a", "b")}
    pruned = store.prune(1_000_000 + 4.5 * 3600)
    assert (pruned.spans, pruned.audits, pruned.first_kept) == (5, 5, 6)
    assert {host: store.at(host, 7) for host in ("a", "b")} == before
    assert [audit.id for audit in store.audits()] == [6, 7] and store.audit(1).started == 1_000_000
    assert store.current("b")["x"][1].seen_at == 1_000_000 and store.current("a")["x"][1].after == 5
    assert {state.host: state.last_ok for state in store.hosts()} == {"b": 6}
    one(store, seen("a", {"x": 0, "steady": 1}))        # a value that was taken away comes back
    assert store.at("a", 8) == {"x": 0, "steady": 1} and pruned.values == 3
    store.prune(1e12)
    assert [audit.id for audit in store.audits()] == [8] and store.at("b", 8) == {"x": 1}
    assert makes.fresh().prune(0).first_kept is None


def test_parquet(makes: Makes, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    store = makes.fresh()
    name = "=cmd|' /C calc'!A0 \x1b[31m<script>"
    one(store, seen(name, {"x": 1, "é\0": "\0"}), seen("gone", status="unreachable"))
    one(store, seen(name, {"x": 2, "é\0": "\0"}))
    folder = tmp_path / "out" / "deep"
    files = store.export_parquet(folder)
    assert {file.name for file in files} == {f"{part}.parquet" for part in (
        "audits", "hosts", "facts", "values", "snaps", "spans")}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    tables = {file.stem: parquet.read_table(file).to_pylist() for file in files}
    assert tables["hosts"][0]["name"] == name and tables["snaps"][0]["to_audit"] == 2
    words = {row["id"]: row["json"] for row in tables["values"]}
    facts = {row["id"]: row["name"] for row in tables["facts"]}
    assert sorted((facts[row["fact_id"]], words[row["value_id"]], row["from_audit"], row["until_audit"])
                  for row in tables["spans"]) == [
        ("x", "1", 1, 2), ("x", "2", 2, None), ("é\\x00", '"\\u0000"', 1, None)]
    (tmp_path / "file").write_text("")
    with refused(Misuse.UNWRITABLE, str(tmp_path / "file"), os.strerror(errno.EEXIST)):
        store.export_parquet(tmp_path / "file")
