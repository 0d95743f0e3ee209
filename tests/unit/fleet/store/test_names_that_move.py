"""Machines exchange their names, have them back, and exchange them again: each name is one host with the values of the
machine that had it then, whoever answers first, and whoever is silent on that night."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import audits
from tunecheck_fleet.store.store import Store

from .stores import Makes, one, seen
from .test_identity import events

NAMES = "abcde"


class Night(NamedTuple):
    """``has``: name -> the machine behind it, as the name that it had first."""

    number: int
    has: dict[str, str]
    silent: frozenset[str] = frozenset()


def _answer(name: str, night: Night) -> Seen:
    if name in night.silent:
        return seen(name, status="timeout")
    machine = night.has[name]
    return seen(name, {"serial": machine, "night": night.number}, key=f"key {machine}")


def _audits(store: Store, nights: list[Night], order: random.Random, how: str) -> list[tuple[int, Night, list[str]]]:
    """The nights, as audits of all hosts (some are cut off before their end, where they are killed), or of each that
    answers by itself (as boxes push)."""
    done = []
    for night in nights:
        names = sorted(night.has)
        order.shuffle(names)
        if how == "push":
            names = [name for name in names if name not in night.silent]
        for part in ([[name] for name in names] if how == "push" else [names]):
            whole = how != "killed" or order.random() < 0.7
            head = one(store, *(_answer(name, night) for name in part), finish=whole)
            audits.let_go(store)
            done.append((head.id, night, part))
    return done


def _told(store: Store, number: int) -> dict[str, Any]:
    held = store.held(["serial", "night"], number)
    states = store.hosts(number)
    assert len({state.host for state in states}) == len(states), f"a host twice in #{number}"
    for state in states:
        if state.answered:
            assert store.at(state.host, number) == {fact: value for fact, (value, _) in held[state.host].items()}
    return {state.host: tuple(held[state.host][fact][0] for fact in ("serial", "night")) if state.answered else None
            for state in states}


def _expected(night: Night, part: list[str]) -> dict[str, Any]:
    return {name: None if name in night.silent else (night.has[name], night.number) for name in part}


def _permuted(has: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Two or three names that exchange, all as at first, or nothing."""
    kind = rng.choice(["two", "two", "three", "first", "rest"])
    if kind == "first":
        return {name: name for name in has}
    names = rng.sample(sorted(has), {"two": 2, "three": 3}.get(kind, 1))
    return {**has, **{name: has[names[at - 1]] for at, name in enumerate(names)}}


def _nights(seed: int, quiet: float) -> list[Night]:
    rng = random.Random(seed)
    has = {name: name for name in NAMES}
    nights = [Night(0, has)]
    for number in range(1, 9):
        has = _permuted(has, rng)
        nights.append(Night(number, has, frozenset(name for name in NAMES if rng.random() < quiet)))
    return nights


@pytest.mark.parametrize("how", ["pull", "push", "killed"])
@pytest.mark.parametrize("quiet", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(8))
def test_every_audit_has_each_name_once_with_the_machine_that_had_it(makes: Makes, seed: int, quiet: float,
                                                                     how: str) -> None:
    store = makes.fresh()
    nights = _nights(seed, quiet)
    rng = random.Random(seed)
    done: list[tuple[int, Night, list[str]]] = []
    then: dict[int, list[tuple[str, str, str]]] = {}
    for night in nights:
        for audit in _audits(store, [night], rng, how):
            done.append(audit)
            then[audit[0]] = events(store, audit[0])
    for number, night, part in done:
        assert _told(store, number) == _expected(night, part), f"#{number}"
        assert events(store, number) == then[number], f"#{number} says the same of itself later"
    assert not store.changes(None, facts={"serial"}), "what another machine has under a name is no change"
    for name in store.known_hosts():
        assert len({span.value for span in store.history(name, "serial")}) <= 1, "one machine, one serial"


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("ring", ["ab", "abc", "abcde"])
def test_who_moved_is_told_on_each_of_the_nights(makes: Makes, ring: str, order: int) -> None:
    store = makes.fresh()
    first = {name: name for name in NAMES}
    moved = {**first, **{name: ring[at - 1] for at, name in enumerate(ring)}}
    nights = [Night(number, has) for number, has in enumerate((first, moved, moved, first, moved, first, first))]
    done = _audits(store, nights, random.Random(order), "pull")
    for (_, before, _), (number, night, _) in pairwise(done):
        was = {machine: name for name, machine in before.has.items()}
        expected = [(name, "renamed", was[machine]) for name, machine in night.has.items() if was[machine] != name]
        assert events(store, number) == sorted(expected), f"#{number}"
        assert not store.claims(number), f"#{number}"
    assert {state.host: state.key for state in store.hosts()} == {name: f"key {name}" for name in NAMES}
