"""Names that exchange their machines: one finding for each exchange, which is over when they are put back."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.unit.fleet.store.stores import SqliteMakes, one, seen

from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge.options import JudgeOptions
from tunecheck_fleet.judge.verdict import report
from tunecheck_fleet.store.store import Store

NAMES = ["n1", "n2", "n3", "n4", "n5"]
Has = dict[str, str]
FIRST: Has = {name: name for name in NAMES}


@pytest.fixture
def store(tmp_path: Path) -> Iterable[Store]:
    makes = SqliteMakes(tmp_path)
    yield makes.fresh()
    makes.close()


def _night(store: Store, has: Has, rng: random.Random, limit: str = "") -> int:
    names = [limit] if limit else sorted(has)
    rng.shuffle(names)
    return one(store, *(seen(name, {"f": 1}, key=f"key {has[name]}") for name in names),
               scope=f"all, limit {limit}" if limit else "all").id


def _told(found: FleetReport) -> set[tuple[str, tuple[str, ...]]]:
    assert {cause.fact for cause in found.causes} <= {"host.key"}, "nothing else changed"
    assert {cause.severity for cause in found.causes} <= {"medium"}
    return {(cause.state, cause.hosts) for cause in found.causes}


def _rings(has: Has) -> set[tuple[str, ...]]:
    found = set()
    for name in has:
        ring = [name]
        while has[ring[-1]] != name:
            ring.append(has[ring[-1]])
        found.add(tuple(sorted(ring)))
    return {ring for ring in found if len(ring) > 1}


def _moved(has: Has, ring: str) -> Has:
    names = [f"n{each}" for each in ring]
    return {**has, **{name: has[names[at - 1]] for at, name in enumerate(names)}}


@pytest.mark.parametrize("seed", range(10))
def test_any_exchange_is_one_finding_until_the_names_are_put_back(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    nights = [FIRST]
    for _ in range(7):
        ring = "".join(rng.sample("12345", rng.choice([1, 2, 2, 3])))
        nights.append(rng.choice([FIRST, _moved(nights[-1], ring), _moved(nights[-1], ring)]))
    expected: dict[int, set[tuple[str, tuple[str, ...]]]] = {}
    before: Has = FIRST
    for has in nights:
        number = _night(store, has, rng)
        was, now = _rings(before), _rings(has)
        expected[number] = {("known" if all(has[name] == before[name] for name in ring) else "new", ring)
                            for ring in now} | {("resolved", ring) for ring in was - now}
        assert _told(report(store, number, JudgeOptions())) == expected[number], f"#{number}"
        before = has
    for number, told in expected.items():
        assert _told(report(store, number, JudgeOptions())) == told, f"an older audit: #{number}"


def test_an_exchange_is_told_in_one_sentence_that_is_true_of_each_of_its_hosts(store: Store) -> None:
    rng = random.Random(1)
    swapped = _moved(FIRST, "12")
    texts = []
    for has in (FIRST, swapped, swapped, FIRST, FIRST, swapped):
        number = _night(store, has, rng)
        causes = report(store, number, JudgeOptions()).causes
        for name in ("n1", "n2"):
            own = report(store, number, JudgeOptions(), about=name).causes
            assert [(cause.id, cause.state, cause.text, cause.hosts) for cause in own] == [
                (cause.id, cause.state, cause.text, cause.hosts) for cause in causes], f"#{number}"
        texts.append([(cause.state, cause.text) for cause in causes])
    told = "n1 and n2 have exchanged their machines"
    over = "n1 and n2 had exchanged their machines, and have not any more"
    assert texts == [[], [("new", told)], [("known", told)], [("resolved", over)], [], [("new", told)]]
    assert len({cause.id for number in (2, 3, 4, 6) for cause in report(store, number, JudgeOptions()).causes}) == 1


def test_of_three_names_each_says_whose_machine_it_has(store: Store) -> None:
    rng = random.Random(1)
    _night(store, FIRST, rng)
    [cause] = report(store, _night(store, _moved(FIRST, "123"), rng), JudgeOptions()).causes
    assert cause.text == ("n1, n2, n3 have exchanged their machines: n1 has that of n3, n2 has that of n1, "
                          "n3 has that of n2")


def test_an_exchange_that_is_approved_is_over_and_to_put_it_back_is_another(store: Store) -> None:
    rng = random.Random(2)
    swapped = _moved(FIRST, "12")
    _night(store, FIRST, rng)
    number = _night(store, swapped, rng)
    store.decide("approve", number, "x", "t", [("n1", "host.key"), ("n2", "host.key")], author="ada", owner="", link="",
                 note="")
    for _ in range(2):
        assert not _told(report(store, _night(store, swapped, rng), JudgeOptions()))
    assert _told(report(store, _night(store, FIRST, rng), JudgeOptions())) == {("new", ("n1", "n2"))}
    assert _told(report(store, _night(store, swapped, rng), JudgeOptions())) == {("resolved", ("n1", "n2"))}


def test_a_machine_that_got_a_new_name_exchanges_that_one(store: Store) -> None:
    rng = random.Random(3)
    _night(store, FIRST, rng)
    new = {**{name: FIRST[name] for name in NAMES[1:]}, "n9": "n1"}
    assert not _told(report(store, _night(store, new, rng), JudgeOptions())), "a new name is a note, and no finding"
    swapped = {**new, "n9": "n2", "n2": "n1"}
    assert _told(report(store, _night(store, swapped, rng), JudgeOptions())) == {("new", ("n2", "n9"))}
    old = {**swapped, "n1": "another"}
    assert ("known", ("n2", "n9")) in _told(report(store, _night(store, old, rng), JudgeOptions()))


def test_hosts_that_are_audited_one_by_one_are_told_the_same(store: Store) -> None:
    rng = random.Random(4)
    _night(store, FIRST, rng)
    for has, state in ((_moved(FIRST, "12"), "new"), (FIRST, "resolved")):
        told = [_told(report(store, _night(store, has, rng, limit=name), JudgeOptions(union=True)))
                for name in ("n1", "n2")]
        assert told[-1] == {(state, ("n1", "n2"))}, told
