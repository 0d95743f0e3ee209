"""A finding keeps its id on a host on which nothing changed, whatever changes on the others that have it, too."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store

_CHECK = "accelerator-count"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, counts: Mapping[str, int | None]) -> dict[str, str]:
    """Host -> the id of what is open there. ``counts``: of 8 GPUs; None: the host cannot tell."""
    head = store.begin("folder", [(name, "g") for name in counts])
    for name, count in counts.items():
        problems = (Problem(_CHECK, "accelerators", "fail", f"{count} found, not 8", "8", "look", code="differs",
                            observed=str(count)),) if count not in (8, None) else ()
        store.put(head.id, Seen(name, "g", "ok", key=name, hardware="hw", known={"gpu.count": count} if count else {},
                                tunecheck="0.1.0", document=b"{}", problems=problems, spec="s",
                                untold=(_CHECK,) if count is None else ()))
    store.finish(head.id)
    return {host: each.id for each in report(store, None, JudgeOptions(now=store.clock())).causes
            if each.fact == _CHECK and each.counts for host in each.hosts}


@pytest.mark.parametrize("first", ["a", "b"])
def test_of_two_hosts_the_one_that_changes_has_another_id(store: Store, first: str) -> None:
    _night(store, {"a": 8, "b": 8})
    second = "ab".replace(first, "")
    both = _night(store, {"a": 7, "b": 7})
    assert both["a"] == both["b"]
    for counts in ({first: 6, second: 7}, {first: 6, second: 7}, {first: 6, second: None}, {first: 6, second: 7},
                   {first: 5, second: 7}, {first: None, second: 7}):
        now = _night(store, counts)
        assert now[second] == both["b"] != now[first], counts
        assert answers_alike(store) == 2
    # It is over under the id under which it was open.
    open_id = now[first]
    _night(store, {first: 8, second: 7})
    over = {host: each.id for each in report(store).causes if each.state == "resolved" and each.fact == _CHECK
            for host in each.hosts}
    assert over == {first: open_id} and _night(store, {first: 8, second: 7}) == {second: both["b"]}


@pytest.mark.parametrize("seed", range(24))
def test_whatever_changes_on_one_host_the_others_keep_their_ids(store: Store, seed: int) -> None:
    """Unless one kind alone is left: that has the id of the kind."""
    rng = random.Random(seed)
    names = [f"h{number}" for number in range(4)]
    counts: dict[str, int | None] = dict.fromkeys(names, 8)
    _night(store, counts)
    counts["h0"] = 7
    before = _night(store, counts)
    for _ in range(10):
        host = rng.choice(names)
        counts[host] = rng.choice([each for each in (5, 6, 7) if each != counts[host]])
        dark = [each for each in names if each != host and rng.random() < 0.1]
        now = _night(store, {each: None if each in dark else count for each, count in counts.items()})
        rest = {name: each for name, each in before.items() if name != host}
        if len({*now.values()}) > 1:
            assert {name: now[name] for name in rest} == rest, (store.audit(None).id, counts)
        before = now
    if seed % 10 == 0:
        assert answers_alike(store) == 4
