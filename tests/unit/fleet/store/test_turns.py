"""One audit at a time, and what a killed one leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck_fleet.model import Status
from tunecheck_fleet.store import schema

from .stores import Makes, one, seen

ROOT = Path(__file__).parents[4]


@contextmanager
def holder(place: str, count: int, asked: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that has put ``count`` hosts of ``asked`` and still holds the audit, with the audit's number."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'checks'}:{ROOT}"}
    argv = [sys.executable, "-m", "tests.unit.fleet.store.holder", place, str(count), str(asked)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            number = int(process.stdout.readline())
            assert [process.stdout.readline().strip() for _ in range(count)] == [f"h{n}" for n in range(count)]
            yield process, number
        finally:
            process.kill()


def test_a_killed_audit_loses_no_finished_host_and_goes_on(makes: Makes) -> None:
    place = makes.place()
    store = makes.open(place)
    with holder(place, 5, 9) as (process, number):
        begun = datetime.fromtimestamp(store.audit(number).started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        with refused(Misuse.IN_USE, f"#{number}", f" {process.pid} ", os.uname().nodename, begun):
            store.begin("all", [("a", "g")])
        makes.clock.now = store.audit(number).started + 60      # the holder's clock is the real one
        assert store.resume("all", 3600) is None
        process.kill()
        process.wait()
        assert store.resume("others", 3600) is None and store.resume("all", 30) is None
        head = store.resume("all", 3600)
    assert head is not None and head.id == number and head.finished is None
    assert store.pending(number) == [(f"h{n}", "g") for n in range(5, 9)]
    assert {state.host for state in store.hosts(number)} == {f"h{n}" for n in range(5)}
    with refused(Misuse.IN_USE, f"#{number} "):
        makes.open(place).begin("all", [])
    for name, group in store.pending(number):
        store.put(number, seen(name, {"x": 1}, group=group))
    store.finish(number)
    assert not store.pending(number) and len(store.hosts(number)) == 9
    assert store.audit().id == number and store.resume("all", 1e9) is None


def test_a_dead_process_loses_its_turn(makes: Makes) -> None:
    place = makes.place()
    with holder(place, 1, 2) as (process, number):
        process.kill()
        process.wait()
        store = makes.open(place)
        assert store.begin("all", [("h1", "g")]).id == number + 1
    assert [audit.finished for audit in store.audits()] == [None, None] and store.audits(1)[0].id == number + 1


def test_a_number_that_is_another_process_now_is_a_dead_one(makes: Makes) -> None:
    place = makes.place()
    store = makes.open(place)
    store.begin("all", [])
    with store.db.write() as connection:
        connection.execute(update(schema.turn).values(ticks=1))     # our number, begun at another time
    assert makes.open(place).begin("all", []).id == 2


def test_a_holder_on_another_machine_counts_as_gone_when_it_is_silent(makes: Makes) -> None:
    place = makes.place()
    store = makes.open(place)
    head = store.begin("all", [("a", "g"), ("b", "g")])
    with store.db.write() as connection:
        connection.execute(update(schema.turn).values(node="elsewhere"))
    makes.clock.hours(0.2)
    store.put(head.id, seen("a"))
    makes.clock.hours(0.2)
    with refused(Misuse.IN_USE, f"#{head.id} ", " elsewhere "):
        makes.open(place).begin("all", [])
    makes.clock.hours(0.2)
    assert makes.open(place).begin("all", []).id == 2


def test_closing_gives_the_turn_back(makes: Makes) -> None:
    place = makes.place()
    with makes.open(place) as store:
        head = store.begin("all", [("a", "g"), ("b", "h")])
        store.put(head.id, seen("a"))
    again = makes.open(place)
    resumed = again.resume("all", 60)
    assert resumed is not None and resumed.id == head.id and again.pending(head.id) == [("b", "h")]


@pytest.mark.parametrize("before", [(), ("ok",), ("refused",), ("ok", "refused"), ("refused", "ok")])
@pytest.mark.parametrize("silent", ["unreachable", "refused", "timeout", "missing", "garbled"])
def test_hosts_that_gave_no_answer_are_asked_again(makes: Makes, before: tuple[str, ...], silent: Status) -> None:
    place = makes.place()
    with makes.open(place) as store:
        for status in before:
            one(store, seen("a", {"x": 1}), seen("b", {"x": 1} if status == "ok" else {}, status=status))
        kept = [(state.host, state.status, state.last_ok) for state in store.hosts()] if before else []
        head = store.begin("all", [("a", "g"), ("b", "g"), ("c", "g")])
        store.put(head.id, seen("a", {"x": 1}))
        store.put(head.id, seen("b", status=silent))
    again = makes.open(place)
    assert again.resume("all", 3600) is not None and again.pending(head.id) == [("b", "g"), ("c", "g")]
    assert {state.host for state in again.hosts(head.id)} == {"a"}
    if before:
        assert [(state.host, state.status, state.last_ok) for state in again.hosts(len(before))] == kept
    for name in ("b", "c"):
        assert again.put(head.id, seen(name, {"x": 2})).what != "repeated"
    again.finish(head.id)
    assert [(state.host, state.status) for state in again.hosts()] == [("a", "ok"), ("b", "ok"), ("c", "ok")]
    assert again.current("b")["x"][0] == 2


def test_push_does_not_wait_for_pull(makes: Makes) -> None:
    place = makes.place()
    store, other = makes.open(place), makes.open(place)
    push = store.begin("push", [], "push")
    with refused(Misuse.IN_USE, f"#{push.id} ", str(os.getpid())):
        other.begin("push", [], "push")
    pull = other.begin("all", [("a", "g")])
    assert other.put(pull.id, seen("a", {"x": 1})).what == "first"
    assert store.put(push.id, seen("a", {"x": 2})).what == "repeated"       # a later audit has it already
    assert store.put(push.id, seen("b", {"x": 2})).what == "first"
    store.finish(push.id)
    other.finish(pull.id)
    assert store.at("a", pull.id) == {"x": 1}
    assert [row.answered for row in store.timeline()] == [1, 1]


def test_what_is_compared_with_what(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a"), scope="all")
    one(store, seen("a"), scope="web")
    one(store, seen("a"), scope="all", finish=False)
    store.close()
    head = one(store, seen("a"), scope="all")
    found = store.previous(head.id), store.previous(2), store.previous(1)
    assert [None if audit is None else audit.id for audit in found] == [1, 1, None]


def test_the_box_may_lie_about_the_time_and_ours_may_jump_back(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {"x": 1}))
    makes.clock.hours(-100)
    one(store, seen("a", {"x": 2}))
    assert store.current("a")["x"][1].after == 1 and store.audit().id == 2
    assert store.changes(1)[0].since.seen_at < 1_000_000
