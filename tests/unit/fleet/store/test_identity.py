"""A host is its machine, not its name."""

from __future__ import annotations

import pytest

from tunecheck.errors import UsageError
from tunecheck.fleet.store.store import Store

from .stores import Makes, one, seen


def events(store: Store, audit: int) -> list[tuple[str, str, str]]:
    return [(event.host, event.kind, event.other) for event in store.identity_events(audit)]


def test_a_new_name_keeps_the_history(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("old", {"x": 1}, key="k"))
    one(store, seen("new", {"x": 2}, key="k"))
    assert store.known_hosts() == ["new"] and [span.value for span in store.history("new", "x")] == [1, 2]
    assert events(store, 2) == [("new", "renamed", "old")]
    with pytest.raises(UsageError, match="it is called 'new' now"):
        store.current("old")


def test_another_box_under_the_name_begins_anew(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1, "y": 1}, key="k1"))
    head = store.begin("all", [("a", "g")])
    stored = store.put(head.id, seen("a", {"x": 2, "y": 2}, key="k2"))
    assert stored.what == "first" and "another box" in stored.note
    store.finish(head.id)
    assert not store.changes(None) and not store.diff(1, 2) and events(store, 2) == [("a", "replaced", "")]
    assert store.at("a", 2) == {"x": 2, "y": 2} and len(store.hosts(1)) == len(store.hosts(2)) == 1
    assert [row.count for row in store.census()] == [1, 1]
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
    assert {(row.host, row.fact) for row in store.changes(None)} == {("a", "n"), ("b", "n")}
    assert [(kind, other) for _, kind, other in events(store, 1)] == [("duplicate", first)] and not events(store, 2)


def test_a_clone_of_a_known_box_takes_nothing_from_it(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("z", {"x": 1}, key="k"))
    head = store.begin("all", [("b", "g"), ("z", "g")])
    assert "cloned image" in store.put(head.id, seen("b", {"x": 2}, key="k")).note      # b answers before z
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
    assert [state.host for state in store.hosts(1)] == ["b", "b"]       # both boxes, by the names they have now


def test_pending_goes_by_names(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("old", {"x": 1}, key="k"))
    head = store.begin("all", [("new", "g"), ("z", "g")])
    store.put(head.id, seen("new", {"x": 1}, key="k"))
    assert store.pending(head.id) == [("z", "g")]
