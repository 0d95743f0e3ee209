"""What many hosts have in common is read once: their open findings, and what their newest answers told."""

from __future__ import annotations

from dataclasses import replace

from tunecheck.model.command import run
from tunecheck_fleet.model import Change, Problem
from tunecheck_fleet.store.store import Store

from .stores import Makes, one, seen

_ACS = Problem("acs-redirect", "0000:02:00.0, 0000:01:00.0", "fail", "redirects", tags=("acs",))
_SMT = Problem("smt", "SMT", "warn", "is on")


def test_open_findings_are_those_of_each_host_and_equal_ones_are_there_once(makes: Makes) -> None:
    store = makes.fresh()
    one(store, *(seen(name, {}, problems=[_SMT]) for name in ("a", "b", "c")))
    one(store, seen("a", {}, problems=[_ACS, _SMT]), seen("b", {}, problems=[_ACS, _SMT]), seen("c", {}))
    one(store, seen("a", {}, problems=[_ACS, _SMT]), seen("b", {}, problems=[_ACS, _SMT]),
        seen("c", {}, problems=[_ACS, _SMT], changes=[Change("run 1", 1.0, "applied")]))
    for audit in (1, 2, 3, None):
        _same_as_each(store, audit)
    now = store.open_findings()
    assert now["a"] is now["b"] and [row.subject for row in now["a"]] == ["0000:01:00.0", "0000:02:00.0", "SMT"]
    assert [(row.since.seen, row.since.after, row.ours) for row in now["c"]] == [(3, 2, True)] * 3
    assert "c" not in store.open_findings(2)


def test_of_a_name_that_two_machines_had_those_of_the_one_that_had_it_then_are_told(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {}, key="old", problems=[_SMT]), seen("b", {}, problems=[_SMT]))
    one(store, seen("a", {}, key="new", problems=[_SMT, _ACS]), seen("b", {}, problems=[_SMT]))
    for audit in (1, 2, None):
        _same_as_each(store, audit)
    assert [(row.check, row.since.seen) for row in store.open_findings(1)["a"]] == [("smt", 1)]
    assert [(row.check, row.since.seen) for row in store.open_findings()["a"]] == [
        ("acs-redirect", 2), ("acs-redirect", 2), ("smt", 2)]


def _same_as_each(store: Store, audit: int | None) -> None:
    rows = [(name, *row) for name, found in sorted(store.open_findings(audit).items()) for row in found]
    assert rows == [(row.host, row.check, row.subject, row.code, row.outcome, row.since, row.ours, row.with_gpus,
                     row.again) for row in store.problems_since(audit)]


def test_equal_problems_of_newest_answers_are_one_and_those_that_name_their_host_its_own(makes: Makes) -> None:
    store = makes.fresh()

    def play(name: str) -> Problem:
        command = run("ansible-playbook site.yml -l", name, where="control")
        return replace(_ACS, remedy=f"run: {command.shown}", commands=(command,))

    look = replace(_SMT, remedy="look: lscpu", commands=(run("lscpu"),))
    told = {name: (look, play(name), replace(look, commands=())) for name in ("a1", "a2")}
    one(store, *(seen(name, {}, problems=problems, outcomes={"cpu": "warn"}, volatile={"gpu.power": 1, "heat": 2})
                 for name, problems in told.items()))
    first, other = store.hosts(gauges=("heat",))
    assert {state.host: state.problems for state in (first, other)} == told
    assert first.problems[0] is other.problems[0] and first.outcomes is other.outcomes
    assert first.volatile == {"heat": 2} and store.hosts()[0].volatile == {"gpu.power": 1, "heat": 2}


def test_hosts_are_told_by_name_however_many_are_read_at_a_time(makes: Makes) -> None:
    store = makes.fresh()
    names = [f"box{number:03d}" for number in range(450)]
    one(store, *(seen(name, {}, boot_id=f"boot of {name}") for name in reversed(names)))
    states = store.hosts()
    assert [(state.host, state.boot_id, state.newest) for state in states] == [
        (name, f"boot of {name}", 1) for name in names]
    assert [(state.host, state.boot_id, state.newest) for state in store.hosts(bare=True)] == [
        (name, None, 1) for name in names]
    assert store.names(1) == set(names)


def test_names_are_those_of_the_hosts_of_an_audit_or_of_those_that_answered(makes: Makes) -> None:
    store = makes.fresh()
    one(store, seen("a", {}), seen("b", {}))
    one(store, seen("a", {}), seen("c", status="timeout"))
    one(store, seen("d", {}), scope="other")
    for audit, also in ((1, ()), (2, ()), (3, ()), (3, (1, 2))):
        states = store.hosts(audit, also)
        assert store.names(audit, also) == {state.host for state in states}
        assert store.names(audit, also, answered=True) == {state.host for state in states if state.answered}
    assert store.names(2) == {"a", "c"} and store.names(2, answered=True) == {"a"}
