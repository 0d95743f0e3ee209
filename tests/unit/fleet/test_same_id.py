"""A finding has one id while it is open, also on the nights on which nobody can tell it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.fleet.same_answers import answers_alike

from tunecheck_fleet.decisions.by_id import decide, finding_of, shown_in
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.judge import JudgeOptions, exit_code, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store

_FAIL = Problem("gpu-ecc", "GPU0 0000:01:00.0", "fail", "2 errors", "none", code="remap-pending", observed="2")
_WARN = replace(_FAIL, outcome="warn", code="row-remapper")
_OTHER = Problem("gpu-ecc", "GPU3 0000:04:00.0", "fail", "ECC is off", "on", code="ecc-off")
_UNREAD = replace(_FAIL, outcome="unknown", text="NVML cannot be read", code="nvml-unread", observed="")
_NONE_READ = replace(_UNREAD, subject="GPUs")


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        yield store


def _night(store: Store, *hosts: tuple[Problem, ...] | None) -> None:
    """What each host tells; None: that its check can tell nothing."""
    names = [f"h{number}" for number in range(len(hosts))]
    head = store.begin("folder", [(name, "g") for name in names])
    for name, problems in zip(names, hosts, strict=True):
        store.put(head.id, Seen(name, "g", "ok", known={"gpu.count": 8}, tunecheck="0.1.0", document=b"{}",
                                problems=problems or (), untold=("gpu-ecc",) if problems is None else ()))
    store.finish(head.id)


def _open(store: Store, host: str, about: str | None = None) -> list[Cause]:
    return [each for each in report(store, None, JudgeOptions(), about).causes if each.counts and host in each.hosts]


@pytest.mark.parametrize("found", [_FAIL, _WARN])
@pytest.mark.parametrize("dark", [None, (_UNREAD,), (_NONE_READ,)])
def test_an_id_stays_while_the_finding_cannot_be_told(store: Store, found: Problem,
                                                      dark: tuple[Problem, ...] | None) -> None:
    _night(store, ())
    _night(store, (found,))
    [first] = _open(store, "h0")
    for night, told in enumerate((dark, dark, None, (found,), dark)):
        _night(store, told)
        for about in (None, "h0"):
            now = {each.id: each for each in _open(store, "h0", about)}[first.id]
            shown = (found.outcome, "") if told == (found,) else ("unknown", found.outcome)
            assert (now.outcome, now.was) == shown, (night, about)
        there = finding_of(shown_in(store, [first.id]), first.id)
        assert there.lead.hosts == ("h0",)
    [said] = decide(store, report(store), "acknowledge", [first.id], author="ann")
    assert said.decision.finding == first.id and all(
        each.acknowledged for each in _open(store, "h0") if each.id == first.id)
    _night(store, ())
    assert [each.id for each in report(store).causes if each.state == "resolved" and each.outcome != "unknown"
            ] == [first.id]


def test_an_entry_keeps_each_of_its_hosts_whoever_can_tell_it(store: Store) -> None:
    _night(store, (), (), ())
    _night(store, (_FAIL,), (_FAIL,), (_OTHER,))
    first = {host: _open(store, host)[0] for host in ("h0", "h1", "h2")}
    assert first["h0"].id == first["h1"].id != first["h2"].id
    for hosts in ((None, (_FAIL,), None), ((_FAIL,), None, (_UNREAD,)), ((_NONE_READ,), (_FAIL,), None),
                  (None, None, None)):
        _night(store, *hosts)
        for host, before in first.items():
            for about in (None, host):
                now = {each.id: each for each in _open(store, host, about)}[before.id]
                assert (now.since, now.state) == (before.since, "known"), (hosts, host, about)
        for host in ("h0", "h1"):
            now = {each.id: each for each in _open(store, host)}[first[host].id]
            dark = {f"h{number}" for number, told in enumerate(hosts[:2]) if told != (_FAIL,)}
            assert now.hosts == ("h0", "h1")
            assert set(now.untold) == (dark if len(dark) == 1 else set()) and (
                now.outcome == "unknown") == (len(dark) == 2)
        assert answers_alike(store) == 3
        assert exit_code(report(store), ("unknown",)) == exit_code(report(store), ("fail",)) == 1


def test_of_several_things_none_is_lost_by_one_silence_of_the_check(store: Store) -> None:
    _night(store, ())
    _night(store, (_FAIL, _OTHER))
    ids = {each.id for each in _open(store, "h0")}
    for dark in (None, (_NONE_READ,), (_UNREAD,)):
        _night(store, dark)
        assert len(ids) == 2 and {each.id for each in _open(store, "h0")} >= ids, dark
        assert {each.since.seen for each in _open(store, "h0") if each.id in ids and each.since} == {2}
