"""A host is its machine, not its name."""

from __future__ import annotations

import pytest
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck_fleet.judge.view_parts import began_of
from tunecheck_fleet.model import Problem
from tunecheck_fleet.store.store import Store

from .stores import Makes, one, seen


def _values(store: Store, facts: list[str], audit: int) -> dict[str, dict[str, object]]:
    return {host: {fact: value for fact, (value, _) in held.items()} for host, held in store.held(facts, audit).items()}


def events(store: Store, audit: int) -> list[tuple[str, str, str]]:
    return [(event.host, event.kind, event.other) for event in store.identity_events(audit)]


def test_a_new_name_keeps_the_history(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("old", {"x": 1}, key="k"))
    one(store, seen("new", {"x": 2}, key="k"))
    assert store.known_hosts() == ["new"] and [span.value for span in store.history("new", "x")] == [1, 2]
    assert events(store, 2) == [("new", "renamed", "old")]
    with refused(Misuse.NO_SUCH, "'old'", "'new'"):
        store.current("old")


def test_another_box_under_the_name_begins_anew(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1, "y": 1}, key="k1"))
    head = store.begin("all", [("a", "g")])
    stored = store.put(head.id, seen("a", {"x": 2, "y": 2}, key="k2"))
    assert stored.what == "first" and stored.note.startswith("a: ")
    store.finish(head.id)
    assert not store.changes(None) and not store.diff(1, 2) and events(store, 2) == [("a", "replaced", "")]
    assert store.at("a", 2) == {"x": 2, "y": 2} and len(store.hosts(1)) == len(store.hosts(2)) == 1
    assert [row.count for row in store.census()] == [1, 1]
    assert _values(store, ["y", "none"], 2) == {"a": {"y": 2}} and store.held([], 2) == {}
    assert _values(store, ["x", "y"], 1) == ({"a": store.at("a", 1)} if store.at("a", 1) else {})
    one(store, seen("a", {"x": 1, "y": 3}, key="k1"))       # the first box is back
    assert [(row.fact, row.before, row.value) for row in store.changes(2)] == [("y", 1, 3)]


def test_without_a_key_a_host_goes_by_its_name_until_it_tells_one(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", status="unreachable"))
    one(store, seen("a", {"x": 1}, key=None))
    one(store, seen("a", {"x": 2}, key="k"))
    one(store, seen("a", status="unreachable"))
    one(store, seen("a", {"x": 3}, key=None))
    assert [row.value for row in store.changes(None)] == [2, 3] and store.hosts()[0].key == "k"
    assert store.known_hosts() == ["a"] and events(store, 3) == []


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_cloned_image_does_not_merge_two_hosts(makes: Makes, first: str) -> None:
    store = makes.fresh()
    for number in range(1, 4):
        names = (first, "b" if first == "a" else "a")
        names = names if number % 2 else names[::-1]        # whoever answers first
        one(store, *(seen(name, {"x": name, "n": number}, key="same") for name in names))
    assert store.known_hosts() == ["a", "b"]
    assert {name: store.at(name, 3)["x"] for name in ("a", "b")} == {"a": "a", "b": "b"}
    assert _values(store, ["x", "n"], 3) == {name: store.at(name, 3) for name in ("a", "b")}
    assert {(row.host, row.fact) for row in store.changes(None)} == {("a", "n"), ("b", "n")}
    assert [(kind, other) for _, kind, other in events(store, 1)] == [("duplicate", first)] and not events(store, 2)


def test_a_clone_of_a_known_box_takes_nothing_from_it(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("z", {"x": 1}, key="k"))
    head = store.begin("all", [("b", "g"), ("z", "g")])
    note = store.put(head.id, seen("b", {"x": 2}, key="k")).note        # b answers before z
    assert note.startswith("b: ") and " z " in note
    assert store.put(head.id, seen("z", {"x": 1}, key="k")).what == "unchanged"
    store.finish(head.id)
    one(store, seen("b", {"x": 3}, key="k2"), seen("z", {"x": 1}, key="k"))             # b got an id of its own
    assert [(row.host, row.before, row.value) for row in store.changes(None)] == [("b", 2, 3)]
    assert [(state.host, state.key) for state in store.hosts()] == [("b", "k2"), ("z", "k")]


def test_a_name_that_moved_to_a_known_box(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}, key="ka"), seen("b", {"x": 2}, key="kb"))
    one(store, seen("b", {"x": 1}, key="ka"))       # a's box has b's name now; nobody asked for a
    assert store.at("b", 2) == {"x": 1} and not store.changes(None) and store.known_hosts() == ["b"]
    assert [state.host for state in store.hosts(1)] == ["a", "b"]       # both boxes, by the names they had then


def test_pending_goes_by_names(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("old", {"x": 1}, key="k"))
    head = store.begin("all", [("new", "g"), ("z", "g")])
    store.put(head.id, seen("new", {"x": 1}, key="k"))
    assert store.pending(head.id) == [("z", "g")]


# -- renamed, swapped, or a clone: hosts answer one after the other ---------------------------------------------------

def claims(store: Store, audit: int) -> list[tuple[str, str, int | None, bool]]:
    return [(claim.host, claim.other, claim.since.seen if claim.since else None, claim.asked)
            for claim in store.claims(audit)]


def test_a_new_name_beside_a_silent_one_is_no_clone_and_becomes_the_machine_once_that_is_gone(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 0}), seen("b", {"x": 1}, key="k"))
    for number in (2, 3):
        one(store, seen("a", {"x": 0}), seen("b", status="unreachable"), seen("c", {"x": 1}, key="k"))
        assert claims(store, number) == [("c", "b", None, True)] and events(store, number) == []
        assert store.at("b", number) == {"x": 1} and store.known_hosts() == ["a", "b", "c"], "nothing of b is lost"
    one(store, seen("a", {"x": 0}), seen("c", {"x": 2}, key="k"))
    assert events(store, 4) == [("c", "renamed", "b")] and store.known_hosts() == ["a", "c"]
    assert [span.value for span in store.history("c", "x")] == [1, 2] and not store.claims(4)
    one(store, seen("a", {"x": 0}), seen("c", {"x": 2}, key="k"))
    assert events(store, 5) == [] and not store.changes(4)


def test_who_was_only_down_and_answers_again_is_a_clone_from_then_on(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("b", {"x": 1}, key="k"))
    one(store, seen("b", status="unreachable"), seen("c", {"x": 5}, key="k"))
    one(store, seen("b", {"x": 1}, key="k"), seen("c", {"x": 5}, key="k"))
    assert events(store, 3) == [("c", "duplicate", "b")] and claims(store, 3) == [("c", "b", 3, True)]
    [claim] = store.claims(3)
    assert claim.since is not None and claim.since.after == 2
    assert not store.changes(None) and store.at("b", 3) == {"x": 1}
    one(store, seen("b", {"x": 1}, key="k"), seen("c", status="timeout"))
    one(store, seen("c", {"x": 5}, key="k"), scope="all, limit c")
    assert claims(store, 5) == [("c", "b", 3, True)], "another limit says nothing of b"
    one(store, seen("c", {"x": 5}, key="k"))
    assert claims(store, 6) == [("c", "b", 3, False)], "b is not asked for any more"
    assert not store.changes(None), "a clone is a machine of its own: it takes nothing"
    store.prune(store.clock() + 1)
    one(store, seen("c", {"x": 5}, key="k"), scope="other")
    assert events(store, 7) == [] and not store.changes(None)


def test_who_was_renamed_is_a_clone_when_the_old_name_answers_too(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("b", {"x": 1}, key="k"))
    one(store, seen("c", {"x": 1}, key="k"))
    one(store, seen("b", {"x": 1}, key="k"), seen("c", {"x": 1}, key="k"))
    assert events(store, 3) == [("b", "duplicate", "c")] and claims(store, 3) == [("b", "c", 3, True)]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_two_names_that_exchange_their_machines(makes: Makes, names: str) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}, key="ka"), seen("b", {"x": 2}, key="kb"))
    swapped = {"a": seen("a", {"x": 2}, key="kb"), "b": seen("b", {"x": 1}, key="ka")}
    one(store, *(swapped[name] for name in names))
    assert events(store, 2) == [("a", "renamed", "b"), ("b", "renamed", "a")] and not store.claims(2)
    for number in (3, 4):
        one(store, *(swapped[name] for name in names))
        assert events(store, number) == [] and not store.claims(number) and not store.changes(None)
    assert {state.host: state.key for state in store.hosts()} == {"a": "kb", "b": "ka"}
    assert {state.first_audit for state in store.hosts()} == {1}, "each has the history of its machine"


def test_three_names_in_a_ring_and_an_audit_that_was_killed_between_them(makes: Makes) -> None:
    place = makes.place()
    store = makes.open(place)
    one(store, *(seen(name, {"x": name}, key=f"k{name}") for name in "abc"))
    ring = [seen(name, {"x": other}, key=f"k{other}") for name, other in ("ab", "bc", "ca")]
    head = store.begin("all", [(answer.host, "g") for answer in ring])
    store.put(head.id, ring[0])
    store.close()       # let go, as a process that ended
    store = makes.open(place)
    again = store.resume("all", 3600)
    assert again is not None and again.id == head.id and [name for name, _ in store.pending(head.id)] == ["b", "c"]
    for answer in ring[1:]:
        store.put(head.id, answer)
    store.finish(head.id)
    assert events(store, 2) == [("a", "renamed", "b"), ("b", "renamed", "c"), ("c", "renamed", "a")]
    one(store, *ring)
    assert events(store, 3) == [] and not store.changes(None) and not store.claims(3)
    assert [store.at(name, 3)["x"] for name in "abc"] == ["b", "c", "a"]


def test_a_clone_whose_twin_got_a_key_of_its_own_is_none_any_more(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", key="k"), seen("b", key="k"))
    assert claims(store, 1) == [("b", "a", 1, True)]
    for number in (2, 3):
        one(store, seen("a", key="k2"), seen("b", key="k"))
        assert not store.claims(number) and not [event for event in events(store, number) if event[0] == "b"]


@pytest.mark.parametrize("order", ["abc", "bca", "cab"])
@pytest.mark.parametrize("mended", ["a", "b", "c"])
def test_whichever_of_the_hosts_with_one_key_is_mended_each_keeps_its_own_history(makes: Makes, mended: str,
                                                                                 order: str) -> None:
    store = makes.fresh()
    for _ in range(2):
        one(store, *(seen(name, {"x": name}, key="k") for name in "abc"))
        assert not store.changes(None)
    for number in (3, 4, 5):
        one(store, *(seen(name, {"x": name}, key="own" if name == mended else "k") for name in order))
        assert {(host, other) for host, other, *_ in claims(store, number)} and not store.changes(None)
        assert {mended}.isdisjoint({name for claim in claims(store, number) for name in claim[:2]})
        assert not [event for event in events(store, number) if event[1] != "duplicate"], "nobody was replaced"
        assert {state.host: state.first_audit for state in store.hosts()} == dict.fromkeys("abc", 1)
        assert {name: store.at(name, number)["x"] for name in "abc"} == {name: name for name in "abc"}
    last = next(name for name in "abc" if name != mended)       # with which nobody shares the key any more
    one(store, *(seen(name, {"x": name}, key="k" if name == last else f"own {name}" if name != mended else "own")
                 for name in order))
    assert not store.claims(6) and not store.changes(None) and not events(store, 6)
    assert {state.host: state.first_audit for state in store.hosts()} == dict.fromkeys("abc", 1)


def test_a_replaced_box_says_which_keys_and_since_when(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", key="k1"))
    one(store, seen("a", status="timeout"))
    one(store, seen("a", key="k2"))
    [event] = store.identity_events(3)
    assert (event.kind, event.before, event.key) == ("replaced", "k1", "k2")
    assert event.since is not None and (event.since.after, event.since.seen) == (1, 3)


def test_the_silent_nights_of_a_machine_that_was_replaced_stay_in_the_history_of_its_name(makes: Makes) -> None:
    store = makes.fresh()
    for status, key in (("ok", "k1"), ("timeout", ""), ("ok", "k2"), ("refused", ""), ("ok", "k3")):
        one(store, seen("a", key=key, status=status), seen("b"))
    answers = [(span.value, span.since.seen, span.until) for span in store.presence("a") if span.fact == "host.answer"]
    assert answers == [("ok", 1, 2), ("timeout", 2, 3), ("ok", 3, 4), ("refused", 4, 5), ("ok", 5, None)]
    assert [(span.before, span.value) for span in store.presence("a") if span.fact == "host.key"] == [
        ("k1", "k2"), ("k2", "k3")]
    assert [span.value for span in store.presence("b") if span.fact == "host.answer"] == ["ok"]


def test_an_older_audit_names_hosts_as_they_were_called_then(makes: Makes) -> None:
    store = makes.fresh()
    problem = Problem("check", "it", "warn", "text")
    one(store, seen("a", {"x": 1}, key="k"), seen("c"))
    one(store, seen("a", {"x": 2}, key="k", problems=(problem,)), seen("c"))
    one(store, seen("b", {"x": 2}, key="k", problems=(problem,)), seen("c"))
    one(store, seen("d", {"x": 3}, key="k", problems=(problem,)), seen("c"))
    for number, name in ((1, "a"), (2, "a"), (3, "b"), (4, "d")):
        assert [state.host for state in store.hosts(number)] == sorted([name, "c"])
        assert [state.host for state in store.hosts(number, only={name}, bare=True)] == [name]
        assert not {"a", "b", "d"} & {state.host for state in store.hosts(number, only={"c"})}
        assert [row.host for row in store.problems_since(number)] == [name] * (number > 1)
        assert [row.host for row in store.problems_since(number, hosts={name})] == [name] * (number > 1)
        assert {row.host for row in store.changes(0, number)} <= {name}
        assert set(store.classes(number)) == {name, "c"}
    assert [row.host for row in store.changes(0, 2, host="a")] == ["a"] and not store.changes(0, 2, host="d")


@pytest.mark.parametrize("back", ["pcie.accelerators", "x"])
def test_a_warning_that_went_and_came_with_a_gpu_is_the_one_that_the_host_had(makes: Makes, back: str) -> None:
    store = makes.fresh()
    problem = Problem("topo-relation", "GPU0-GPU1", "warn", "text")
    for count in (2, 1, 2, 1, 2):
        one(store, seen("a", {back: count}, problems=(problem,) if count == 2 else ()))
    [row] = store.problems_since()
    assert (row.since.seen, row.with_gpus, row.again) == (5, back != "x", back != "x")
    assert (("topo-relation", "GPU0-GPU1", "") in began_of({"a": [row]})[1]["a"]) == (back != "x")


def test_a_list_that_is_cut_short_stands_while_the_number_of_gpus_changes(makes: Makes) -> None:
    store = makes.fresh()
    for gpus, names in ((8, "a-b, a-h and 2 more"), (7, "a-b, a-c and 1 more"), (8, "a-b, a-h and 2 more")):
        one(store, seen("a", {"pcie.accelerators": gpus}, problems=(Problem("topo-relation", names, "warn", "text"),)))
        assert len(began_of(store.open_findings())[1]["a"]) == 2
    other = Problem("topo-relation", "a-b, a-c and 5 more", "warn", "text")
    one(store, seen("a", {"pcie.accelerators": 8}, problems=(other,)))
    assert len(began_of(store.open_findings())[1]["a"]) == 1, "another warning, with as many GPUs as before"


def test_two_new_names_with_the_key_of_a_silent_one_are_clones_of_each_other(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("b", key="k"))
    for number in (2, 3):
        one(store, seen("b", status="timeout"), seen("c", key="k"), seen("d", key="k"))
        assert claims(store, number) == [("c", "b", None, True), ("d", "b", None, True), ("d", "c", 2, True)]
    one(store, seen("c", key="k"), seen("d", key="k"))
    assert events(store, 4) == [("c", "renamed", "b")]
    assert claims(store, 4) == [("d", "c", 2, True)], "c has the history, d stays its clone"
