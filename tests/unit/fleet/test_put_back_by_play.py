"""A value that no check judges and a reboot alone does not bring back is put back where the specification states it, by
the play that sets it: the fix names both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck.facts.registry import ENTRIES
from tunecheck.report.style import Style
from tunecheck.spec.models import Spec
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.put_back import PLAYED
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store

_PROVISION = Path(__file__).parents[3] / "playbooks/provision.yml"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, fact: str, values: dict[str, Any], scope: str, spec: str | None) -> FleetReport:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin(scope, [(host, "g") for host in values])
    for host, value in values.items():
        store.put(head.id, Seen(host, "g", "ok", key=f"key {host}", hardware="hw", document=b"{}", spec=spec,
                                tunecheck="0.1.0", known={"sysctl.x": 1, fact: value}))
    store.finish(head.id)
    return report(store, head.id, JudgeOptions(now=store.clock()))


def _of_reboot() -> list[tuple[str, str, str]]:
    """(fact, keys, tag) of every fact that a play puts back."""
    names = [f"{each.name}x" if each.family else each.name for each in ENTRIES
             if each.kind == "config" and each.fix == "reboot"]
    return [(name, keys, tag) for name in names for facts, keys, tag in PLAYED
            if any(fnmatchcase(name, each) for each in facts)]


@pytest.mark.parametrize(("fact", "keys", "tag"), _of_reboot())
@pytest.mark.parametrize("spec", ["digest", None])
def test_the_fix_names_the_key_and_the_play(store: Store, fact: str, keys: str, tag: str, spec: str | None) -> None:
    before = {f"n{number}": f"own {number}" for number in range(6)}
    _night(store, fact, before, "/inv/hosts.yml", spec)
    for _ in range(2):
        found = _night(store, fact, {**before, "n1": "other", "n2": "other"}, "/inv/hosts.yml", spec)
        (cause,) = (each for each in found.causes if each.counts)
        assert (cause.fact, cause.authority, cause.hosts) == (fact, "previous", ("n1", "n2"))
        assert keys in cause.remedy
        (command,) = cause.commands
        assert command.where == "control"
        assert command.shown == f"ansible-playbook site.yml -i /inv/hosts.yml --tags {tag} -l n1,n2"
        for text in (*(terminal(found, Style(0), verbose, store.clock()) for verbose in (False, True)), html(found)):
            assert f"--tags {tag}" in text
    assert answers_alike(store) == 6


@pytest.mark.parametrize(("fact", "keys", "tag"), _of_reboot())
@pytest.mark.parametrize("hosts", [3, 8])
def test_what_only_has_another_number_of_boards_is_put_back_by_no_play(store: Store, fact: str, keys: str, tag: str,
                                                                       hosts: int) -> None:
    """Beside the number of GPUs or alone, where hosts are compared with others or with before, on every night."""
    before: dict[str, Any] = {f"n{number}": {"off": 8} for number in range(hosts)}
    _night(store, fact, before, "/inv/hosts.yml", "digest")
    for value in ({"off": 7}, {"off": 7}, {"off": 6}, {"off": 9}):
        found = _night(store, fact, {**before, "n1": value}, "/inv/hosts.yml", "digest")
        assert [each.fact for each in found.causes if each.counts] == [fact]
        assert not any(each.remedy or each.commands or each.fixes for each in found.causes)
        for text in (terminal(found, Style(0), True, store.clock()), html(found)):
            assert f"--tags {tag}" not in text and keys not in text
    # A board that is in another state is put back.
    found = _night(store, fact, {**before, "n1": {"off": 6, "on": 1}}, "/inv/hosts.yml", "digest")
    assert keys in next(each for each in found.causes if each.counts).remedy


def test_what_is_over_or_approved_is_not_put_back(store: Store) -> None:
    before = {f"n{number}": f"own {number}" for number in range(6)}
    for values in (before, {**before, "n1": "other"}, before):
        found = _night(store, "driver.loaded", values, "/inv/hosts.yml", None)
    assert found.causes and not [each for each in found.causes if each.remedy]


def test_without_an_inventory_the_driver_is_put_back_by_hand(store: Store) -> None:
    before = {f"n{number}": f"own {number}" for number in range(6)}
    _night(store, "driver.loaded", before, "a list of hosts", None)
    (cause,) = _night(store, "driver.loaded", {**before, "n1": "other"}, "a list of hosts", None).causes
    assert cause.remedy.startswith("install modules and libraries") and not cause.commands


def test_the_keys_and_tags_are_those_of_the_specification_and_the_play() -> None:
    tags = set(re.findall(r"\w+", " ".join(re.findall(r"tags: \[(.*?)\]", _PROVISION.read_text()))))
    for facts, keys, tag in PLAYED:
        assert tag in tags
        for key in keys.split(" and "):
            model: Any = Spec
            for part in key.removeprefix("box_spec.").split("."):
                assert part in model.model_fields, key
                model = model.model_fields[part].annotation
        assert all(any(fnmatchcase(f"{each.name}x" if each.family else each.name, fact) for each in ENTRIES)
                   for fact in facts), facts
