"""A report about one host says what that host said: its words, its fix, its decisions and its since, whatever others
have for the same cause. A report of all says that the fix it shows is not that of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.store.stores import Clock

from tunecheck.model.command import Command
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store

HOSTS = ("gpu01", "gpu02", "gpu03")


def _problem(host: str, port: int) -> Problem:
    """The same check with the same code; another text, port and command on each host."""
    command = Command(("setpci", "-s", f"0000:{port:02x}:00.0", "ECAP_ACS+6.w=0:2c"))
    play = Command(("ansible-playbook", "site.yml", "-l", host), "control")
    return Problem("acs-redirect", "port", "fail", f"0000:{port:02x}:00.0 redirects on {host}", "no redirect",
                   remedy=f"run: {command.shown}, or: {play.shown}", commands=(command, play), code="redirects",
                   tags=("acs",))


def _night(store: Store, **ports: int) -> None:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin("inventory", [(host, "g") for host in HOSTS])
    for host in HOSTS:
        problems = (_problem(host, ports[host]),) if host in ports else ()
        store.put(head.id, Seen(host, "g", "ok", key=f"key {host}", hardware="hw", problems=problems, document=b"{}",
                                known={"driver.loaded": "595.1"}, tunecheck="0.1.0", spec=None))
    store.finish(head.id)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _own(store: Store, host: str) -> Cause:
    [cause] = focus(report(store, None, JudgeOptions(now=store.clock()), about=host), host, None).causes
    return cause


def _all(store: Store) -> Cause:
    [cause] = report(store, None, JudgeOptions(now=store.clock())).causes
    return cause


def test_one_host_gets_its_own_words_and_commands(store: Store) -> None:
    ports = {"gpu01": 1, "gpu02": 2, "gpu03": 3}
    _night(store)
    _night(store, **ports)
    for host, port in ports.items():
        cause, told = _own(store, host), _problem(host, port)
        assert (cause.text, cause.remedy, cause.commands) == (told.text, told.remedy, told.commands)
        assert cause.id == _all(store).id and cause.hosts == (host,)


def test_a_report_of_all_says_each_hosts_fix_where_it_is_not_that_of_all(store: Store) -> None:
    _night(store, gpu01=1, gpu02=1, gpu03=1)
    assert "gpu01" not in _all(store).remedy.replace("gpu01,gpu02,gpu03", ""), "the play's limit is no other fix"
    _night(store, gpu01=1, gpu02=2, gpu03=1)
    first, second, third = (_problem(host, port) for host, port in (("gpu01,gpu03", 1), ("gpu02", 2), ("gpu03", 3)))
    assert _all(store).remedy == f"on gpu01, gpu03: {first.remedy}; on gpu02: {second.remedy}"
    assert _all(store).commands == (*first.commands, *second.commands)
    _night(store, gpu01=1, gpu02=2, gpu03=3)
    assert _all(store).remedy.endswith(f"; on gpu02: {second.remedy}; on gpu03: {third.remedy}")


def test_what_was_acknowledged_of_others_is_news_of_a_host_that_joins(store: Store) -> None:
    _night(store)
    _night(store, gpu01=1)
    shown = report(store, None, JudgeOptions(now=store.clock()))
    decide(store, shown, "acknowledge", [shown.causes[0].id], author="ann", note="riser ordered")
    _night(store, gpu01=1, gpu02=2)
    assert _own(store, "gpu01").acknowledged is not None
    joined = _own(store, "gpu02")
    assert joined.acknowledged is None and joined.state == "new" and joined.since is not None
    assert joined.since.seen == 3 and [wave.hosts for wave in joined.all_waves] == [("gpu02",)]
