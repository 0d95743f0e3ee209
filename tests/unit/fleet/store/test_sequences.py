"""Any sequence of audits gives what the simplest way of keeping it gives."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import canonical
from tunecheck_fleet.store.store import Store

from .naive import Naive
from .stores import Makes, SqliteMakes, seen

HOSTS = ("a", "b", "c")
FACTS = ("x", "y", "pkg.one", "pkg.two")
VALUES = st.sampled_from([None, 1, True, "1", {"k": [1]}])


@st.composite
def answers(draw: st.DrawFn, host: str) -> Seen:
    status = draw(st.sampled_from(["ok", "ok", "ok", "partial", "unreachable", "garbled"]))
    names = draw(st.sets(st.sampled_from(FACTS)))
    unknown = draw(st.sets(st.sampled_from(["x", "y", "pkg.", "pkg.one"]))) if status == "partial" else set()
    return seen(host, {name: draw(VALUES) for name in names}, status=status,
                unknown=dict.fromkeys(unknown, "why"), tunecheck=draw(st.sampled_from(["1", "1", "1", "2"])),
                group=draw(st.sampled_from(["g", "g", "h"])))


@st.composite
def audits(draw: st.DrawFn) -> list[tuple[int, list[Seen]]]:
    """(catalogue, answers of the hosts that were asked)."""
    return draw(st.lists(st.tuples(
        st.sampled_from([1, 1, 1, 1, 2]),
        st.sets(st.sampled_from(HOSTS), min_size=1).flatmap(
            lambda names: st.tuples(*(answers(name) for name in sorted(names))).map(list))), min_size=1, max_size=7))


def test_any_sequence(makes: Makes) -> None:
    @settings(max_examples=50 if isinstance(makes, SqliteMakes) else 15, deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    @given(audits())
    def check(sequence: list[tuple[int, list[Seen]]]) -> None:
        naive = Naive()
        with makes.fresh() as store:
            for number, (catalogue, told) in enumerate(sequence, 1):
                store.catalogue = catalogue
                assert store.begin("all", [(answer.host, answer.group) for answer in told]).id == number
                for answer in told:
                    store.put(number, answer)
                    naive.put(number, catalogue, answer)
                store.finish(number)
                if number % 3 == 0:
                    store.interned.forget()     # as a new process would begin
            same(store, naive, len(sequence))

    check()


def same(store: Store, naive: Naive, last: int) -> None:
    """Every question, of every audit."""
    for number in range(1, last + 1):
        for host in naive.told:
            if number >= naive.told[host][0].audit:
                assert text(store.at(host, number)) == naive.at(host, number)
        assert {row.host: (row.status, row.last_ok) for row in store.hosts(number)} == {
            host: (told.status, naive.last_ok(host, number)) for host, told in naive.answers(number).items()}
        assert Counter({(row.group, row.hardware, row.fact, canonical(row.value)): row.count
                        for row in store.census(number)}) == naive.census(number)
        for other in range(number, last + 1):
            assert {(row.host, row.fact, canonical(row.before), canonical(row.value), row.since.seen, row.since.after)
                    for row in store.changes(number, other)} == naive.changes(number, other)
            assert {(row.host, row.fact, canonical(row.a), canonical(row.b))
                    for row in store.diff(number, other)} == naive.diff(number, other)
    for host in naive.told:
        for fact in naive.facts(host):
            assert [(span.since.seen, span.since.after, span.before, span.value, span.baseline)
                    for span in store.history(host, fact)] == [
                (audit, after, None if before is None else loaded(before), loaded(value), baseline)
                for audit, after, before, value, baseline in naive.steps(host, fact)]
        assert {fact: (canonical(value), since.seen, since.after) for fact, (value, since) in
                store.current(host).items()} == {fact: (steps[-1][3], steps[-1][0], steps[-1][1])
                                                 for fact in naive.facts(host) if (steps := naive.steps(host, fact))}


def text(held: dict[str, Any]) -> dict[str, str]:
    return {name: canonical(value) for name, value in held.items()}


def loaded(value: str) -> Any:
    return json.loads(value)
