"""A silence, a limit, or another verb takes nothing away: what was last known is told in the same entries, under the
same ids, with the same state."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

import pytest
from tests.unit.fleet.nights import Fleet
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.authority import JUDGED, judges_one
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store

_HOSTS = 6
_MARKS = ("gpu lost", "link", "driver", "smt", "power")


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _audit(store: Store, fleet: Fleet, night: int, silent: Collection[str] = (),
           only: Collection[str] | None = None) -> FleetReport:
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    told = [each for each in fleet.night(night) if only is None or each.host in only]
    head = store.begin("/inv" if only is None else f"/inv, limit {','.join(only)}",
                       [(each.host, each.group) for each in told])
    for each in told:
        store.put(head.id, Seen(each.host, each.group, "unreachable", "no route") if each.host in silent else each)
    store.finish(head.id)
    return report(store, head.id, JudgeOptions(now=store.clock()))


def _fleet() -> tuple[Fleet, list[str]]:
    fleet = Fleet(hosts=_HOSTS + 4)
    names = [name for name in sorted(fleet.boxes) if not name.startswith("g99")]
    for mark, host in zip(_MARKS, names, strict=False):
        fleet.mark(mark, 2, [host])
    return fleet, names


def _entries(found: FleetReport) -> list[tuple[object, ...]]:
    return sorted((each.lead.id, each.lead.fact, each.lead.hosts, each.what, sorted(more.id for more in each.more))
                  for each in entries(found.causes) if each.lead.counts)


@pytest.mark.parametrize("quiet", ["none", "one", "all"])
def test_the_entries_of_a_night_are_those_of_the_next_whoever_is_silent(store: Store, quiet: str) -> None:
    fleet, names = _fleet()
    _audit(store, fleet, 1)
    first = _audit(store, fleet, 2)
    silent = {"none": [], "one": names[:1], "all": list(fleet.boxes)}[quiet]
    for night in (3, 4):
        later = _audit(store, fleet, night, silent)
        assert _entries(later) == _entries(first)
        assert {each.lead.state for each in entries(later.causes) if each.lead.counts} == {"known"}


def _states(found: FleetReport, hosts: Collection[str]) -> set[tuple[str, ...]]:
    return {(cause.id, cause.fact, host, wave.state) for cause in found.causes for wave in cause.all_waves
            for host in wave.hosts if host in hosts}


@pytest.mark.parametrize(("limited", "silent"), list(product((0, 1, 5), (True, False))))
def test_an_audit_and_the_fleet_call_the_same_new(store: Store, limited: int, silent: bool) -> None:
    """Of the hosts that the audit asked; what others had at the audit that it is compared with is no news either."""
    fleet, names = _fleet()
    _audit(store, fleet, 1)
    _audit(store, fleet, 2)
    own = [names[limited]]
    audit = _audit(store, fleet, 3, own if silent else (), own)
    union = report(store, None, JudgeOptions(union=True))
    assert audit.previous is not None and audit.previous.id == 2
    assert _states(union, own) == _states(audit, own)
    assert {wave.state for cause in union.causes for wave in cause.all_waves if cause.counts} == {"known"}


#: Checks that judge one fact each, which counts GPUs.
_ONE_FACT = sorted((check, facts[0]) for check, facts in JUDGED.items()
                   if judges_one(check, "GPU7") and facts[0].startswith("gpu."))


@pytest.mark.parametrize("silent", [(), ("h0",), ("h0", "h1")])
@pytest.mark.parametrize(("check", "fact"), _ONE_FACT)
def test_what_cannot_be_told_of_a_lost_gpu_stays_in_its_entry(store: Store, check: str, fact: str,
                                                              silent: tuple[str, ...]) -> None:
    def night(count: int, silent: Collection[str] = ()) -> FleetReport:
        head = store.begin("/inv", [("h0", "g"), ("h1", "g")])
        for host, gpus in (("h0", count), ("h1", 8)):
            unread = Problem(check, "GPU7", "unknown", "GPU7 is not listed by NVML", code="not-listed")
            known = {"gpu.count": {"x": gpus}, fact: {"1": gpus}}
            store.put(head.id, Seen(host, "g", "unreachable") if host in silent else Seen(
                host, "g", "ok", known=known, tunecheck="0.1.0", document=b"{}",
                problems=(unread,) if gpus < 8 else ()))
        store.finish(head.id)
        return report(store, head.id)

    night(8)
    first = _entries(night(7))
    assert [lead for _, lead, *_ in first] == ["gpu.count"]
    for _ in range(2):
        assert _entries(night(7, silent)) == first
