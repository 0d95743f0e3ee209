"""Of hosts that are alike, a report of one host reads one: it says to the letter what it says where all are read."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.fleet.same_answers import answers_alike

from tunecheck.model.command import run
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.rows import decided_as
from tunecheck_fleet.model import Change, Problem, Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.store.store import Store

from .stores import Makes, one, seen

_WEEK = 7 * 86_400.0
_ACS = Problem("acs-redirect", "0000:01:00.0", "fail", "redirects", "none", code="redirects", observed="0x1d")
_SMT = Problem("smt", "SMT", "warn", "is on", "off", code="smt-on")
_LINK = Problem("link-width", "GPU0 0000:01:00.0", "fail", "8 lanes", "16 lanes", code="narrow", observed="8")
_ECC = Problem("gpu-ecc", "GPU0 0000:01:00.0", "fail", "2 errors", "none", code="remap-pending", observed="2")
_UNREAD = replace(_ECC, outcome="unknown", text="NVML cannot be read", code="nvml-unread", observed="")
_GROUPS = ("rack0", "rack1", "rack2", "rack3")


def _names(count: int) -> list[tuple[str, str]]:
    return [(f"h{number:02}", _GROUPS[number % len(_GROUPS)]) for number in range(count)]


def _play(problem: Problem, host: str) -> Problem:
    """With a play on that host, as every box tells it."""
    command = run("ansible-playbook site.yml -l", host, where="control")
    return replace(problem, remedy=f"run: {command.shown}", commands=(command,))


def _said(host: str, group: str, *problems: Problem, **more: Any) -> Seen:
    return seen(host, {"cpu.smt": "on", "gpu.count": 8, **more.pop("facts", {})}, group=group,
                problems=[_play(problem, host) if problem.check == "acs-redirect" else problem for problem in problems],
                tunecheck="1", document=b"{}", **more)


def _options(store: Store) -> JudgeOptions:
    """As `drift` asks."""
    return JudgeOptions(since=store.clock() - _WEEK)


def _read_of(store: Store, name: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The hosts of which a report of that host reads what they told."""
    read: set[str] = set()
    hosts = type(store).hosts

    def noting(self: Store, *args: Any, only: Collection[str] | None = None, **more: Any) -> Any:
        read.update(only or ())
        return hosts(self, *args, only=only, **more)

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "hosts", noting)
        report(store, None, _options(store), name, listed=False)
    return read


def test_the_same_finding_in_several_groups(makes: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With different since, waived on one host, acknowledged in one group and resolved in another."""
    store, names = makes.fresh(), _names(16)
    for night in range(1, 6):
        def found(host: str, group: str, night: int = night) -> list[Problem]:
            begun = {"rack0": 1, "rack1": 2, "rack2": 3, "rack3": 2}[group]
            there = night >= begun and not (group == "rack3" and night >= 5)
            acs = replace(_ACS, observed="0x1f") if host in ("h01", "h09") else _ACS
            return [*([acs] if there else ()), *([_SMT] if host != "h04" else ()),
                    *([_LINK] if host == "h02" and night >= 4 else ())]

        if night == 5:
            [cause] = [each for each in report(store).causes if each.fact == "acs-redirect" and "h05" in each.hosts]
            store.decide("acknowledge", night - 1, cause.id, "rack1", [
                (host, decided_as(cause)) for host, group in names if group == "rack1"], author="ann")
            store.waive("acs-redirect", reason="a trial", author="mk", until=store.clock() + 9e6, host="h06")
            store.waive("smt/SMT", reason="later", author="mk", until=store.clock() + 9e6, host="h1?", group="rack1")
        one(store, *(_said(host, group, *found(host, group)) for host, group in names))
    assert answers_alike(store, _options(store)) == len(names)
    read = _read_of(store, "h00", monkeypatch)
    assert {"h00", "h06", "h02", "h03"} <= read, "waived, with another finding, and mended"
    assert len(read) < len(names), "the others of rack0 stand for each other"


def test_few_of_many_are_read(makes: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever groups they are in; every one of them is in the cause of the whole report all the same."""
    store, names = makes.fresh(), _names(40)
    for _ in range(2):
        one(store, *(_said(host, group, _ACS, _SMT) for host, group in names))
    assert len(_read_of(store, "h05", monkeypatch)) == 2
    whole, own = report(store, None, _options(store)), report(store, None, _options(store), "h05")
    assert {cause.id for cause in whole.causes} == {cause.id for cause in own.causes}
    assert all(len(cause.hosts) == len(names) for cause in whole.causes)
    store.waive("acs-*", reason="all of one group", author="mk", until=store.clock() + 9e6, group="rack1")
    assert _read_of(store, "h05", monkeypatch) >= {host for host, group in names if group == "rack1"}
    assert answers_alike(store, _options(store), names=["h05", "h06"]) == 2


_FOUR, _SIXTEEN = replace(_LINK, observed="4"), replace(_LINK, observed="16")
_DARK = replace(_LINK, outcome="unknown", text="the link cannot be read", code="link-unread", observed="")
_RUN = [Change("run 1", 1.0, "applied")]
#: Nights, each with what the first host, those behind it and the last one tell.
_LAST_IS_OTHER: dict[str, list[tuple[list[Problem], list[Problem], list[Problem]]]] = {
    "in what it observed": [([_FOUR], [_FOUR], [_SIXTEEN])] * 2,
    "in since when it has it": [([], [], [_SIXTEEN]), ([_FOUR], [], [_SIXTEEN]), ([_FOUR], [_SIXTEEN], [_SIXTEEN])],
    "in how it told it while it could": [([_FOUR], [_FOUR], [_SIXTEEN]), ([_DARK], [_DARK], [_DARK])],
    "in what it observed first": [
        ([], [], [_SIXTEEN]), ([_FOUR], [_SIXTEEN], [_SIXTEEN]), ([_FOUR], [_SIXTEEN], [_FOUR])],
    "in that our roles had no part in it": [([_SMT], [_SMT], [_SMT])],
}


@pytest.mark.parametrize("how", _LAST_IS_OTHER)
def test_the_last_of_those_that_look_alike_is_another_one(makes: Makes, how: str) -> None:
    """Which of two things of one name keeps its id depends on each host that has one of them."""
    store, names = makes.fresh(), _names(6)
    places = [0, 1, 1, 1, 1, 2]
    one(store, *(_said(host, group) for host, group in names))
    for night in _LAST_IS_OTHER[how]:
        one(store, *(_said(host, group, *night[place], changes=_RUN if night[place] == [_SMT] and place < 2 else ())
                     for place, (host, group) in zip(places, names, strict=True)))
    told = [cause for cause in report(store, None, _options(store)).causes if cause.fact in ("link-width", "smt")]
    assert len({cause.id for cause in told}) == 2
    assert answers_alike(store, _options(store)) == len(names)


def test_a_check_of_one_host_speaks_for_those_of_its_specification(makes: Makes) -> None:
    """Where a check has judged a fact by the same specification on the last host, the first is not told to differ."""
    store, names = makes.fresh(), _names(8)
    failing = replace(_SMT, outcome="fail")
    for night in range(2):
        one(store, *(_said(host, "rack0", *([failing] if number > 1 else ()), spec="own" if number in (0, 7) else "all",
                           facts={"cpu.smt": "off" if night and not number else "on"})
                     for number, (host, _) in enumerate(names)))
    assert answers_alike(store, _options(store)) == len(names)
    [cause] = [each for each in report(store, None, _options(store), "h00").causes if each.fact == "cpu.smt"]
    assert cause.authority == "previous"


@pytest.mark.parametrize("seed", range(3))
def test_nights_of_any_kind(makes: Makes, seed: int) -> None:
    """Hosts that mostly tell the same, and now and then something of their own; silent ones, runs of our roles, lost
    GPUs, waivers and decisions."""
    chance = random.Random(seed)
    store, names = makes.fresh(), _names(10)
    usual: dict[str, list[Problem]] = {group: [_SMT] for group in _GROUPS}
    own: dict[str, list[Problem]] = {}
    for night in range(5):
        for group in _GROUPS:
            if chance.random() < 0.5:
                usual[group] = chance.choice([[_SMT], [_ACS, _SMT], [_ACS], [_ECC, _SMT], [_UNREAD, _ACS]])
        for host, _ in chance.sample(names, 3):
            own[host] = chance.sample([_SMT, _ACS, _LINK, _ECC, replace(_ECC, observed="9"), _UNREAD], 2)
        for host, _ in chance.sample(names, 2):
            own.pop(host, None)
        if night == 3:
            found = [cause for cause in report(store).causes if cause.counts]
            for cause in chance.sample(found, min(2, len(found))):
                decide(store, report(store), "acknowledge", [cause.id], author="ann")
            store.waive(chance.choice(["smt", "acs-*", "gpu.", "gpu-ecc/remap-pending"]), reason="r", author="mk",
                        until=store.clock() + 9e6, group=chance.choice([None, "rack1", "rack[23]"]))
        one(store, *(
            _said(host, group, status="unreachable") if chance.random() < 0.05 else
            _said(host, group, *_once(own.get(host, usual[group])),
                  facts={"gpu.count": 7} if chance.random() < 0.1 else {},
                  changes=[Change(f"run {night}", 1.0, "applied")] if chance.random() < 0.1 else [])
            for host, group in names))
    assert answers_alike(store, _options(store)) == len(names)
    assert answers_alike(store, _options(store), 3, ["h00", "h05"]) == 2, "an earlier audit"


def _once(problems: list[Problem]) -> list[Problem]:
    """A check says one thing of a subject."""
    return list({(problem.check, problem.subject): problem for problem in problems}.values())


def test_a_host_is_told_as_the_report_of_all_tells_it(makes: Makes) -> None:
    """Its own rows of the whole report, and the hosts of its causes there."""
    store, names = makes.fresh(), _names(20)
    for night in range(3):
        one(store, *(_said(host, group, _SMT, *([_ACS] if night >= number % 3 else ()))
                     for number, (host, group) in enumerate(names)))
    whole = report(store, None, _options(store))
    for host, _ in names:
        found = document(focus(report(store, None, _options(store), host), host, None))
        rows = document(focus(whole, host, None))
        assert found["hosts"] == rows["hosts"]
        assert [each["id"] for each in found["causes"]] == [each["id"] for each in rows["causes"]]
