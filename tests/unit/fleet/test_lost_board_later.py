"""A GPU that does not answer is in no list any more after the reboot that is recommended, so more lists are one GPU
shorter: these belong to the entry of the GPU that is lost, whichever audit they come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import Machine, driver
from tests.unit.fleet.lost_boards import goes_away, goes_silent
from tests.unit.fleet.reports import cause, since
from tests.unit.fleet.same_answers import answers_alike, told_twice
from tests.unit.fleet.store.stores import Clock

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck_fleet.entries import Entry, entries, only_counts
from tunecheck_fleet.events.gpu_moves import BOARDS
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Answer
from tunecheck_fleet.outputs.entry_words import needs, part_of
from tunecheck_fleet.read import seen
from tunecheck_fleet.store import open_store
from tunecheck_fleet.whole_causes import shown


def _box(*changes: Callable[[Machine], None], declared: bool) -> bytes:
    machine = driver(eight_gpus(0x0011))
    for change in changes:
        change(machine)
    spec = big_spec() if declared else None
    return packed(Stored(gather(machine.host(), spec.spec if spec else None, True), spec))


def _asked_by_fact_it_says_the_same(found: FleetReport) -> None:
    for host in (None, "h0"):
        whole = focus(found, host, None)
        words = {_key(each): (needs(each), part_of(each)) for each in shown(whole, each=True)}
        for fact in {each.fact for each in whole.causes}:
            for every in (False, True):
                for each in shown(focus(found, host, fact), each=every):
                    assert (needs(each), part_of(each)) == words.get(_key(each)), fact


def _key(entry: Entry) -> tuple[str, str, tuple[str, ...], str]:
    return entry.lead.id, entry.lead.state, entry.lead.hosts, entry.lead.subject


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("count", [1, 6])
def test_a_reboot_after_a_lost_gpu_is_no_news(tmp_path: Path, declared: bool, count: int) -> None:
    well = _box(declared=declared)
    nights = [well, _box(goes_silent, declared=declared), *[_box(goes_away, declared=declared)] * 2]
    ids = []
    with open_store(str(tmp_path / "fleet.db"), clock=Clock()) as store:
        for content in nights:
            assert isinstance(store.clock, Clock)
            store.clock.hours(24)
            head = store.begin("inventory", [(f"h{number}", "g") for number in range(count)])
            for number in range(count):
                told = seen(Answer(f"h{number}", "g", "ok", content if not number else well))
                store.put(head.id, replace(told, key=f"key {number}", known={**told.known, **{
                    name: [f"{number} {each}" for each in told.known[name]]
                    for name in BOARDS if name in told.known}}, problems=tuple(
                    each for each in told.problems if each.check != "cdi-spec")))      # as of the fake machine
            store.finish(head.id)
            found = report(store, head.id, JudgeOptions(now=store.clock()))
            assert not told_twice(found)
            _asked_by_fact_it_says_the_same(found)
            ids.append([each for each in entries(found.causes) if each.lead.drifts and each.lead.hosts == ("h0",)])
        assert answers_alike(store) == count
    first, lost, gone, later = ids
    assert not first
    for night, those in ((2, lost), (3, gone), (4, later)):
        (entry,) = those
        assert entry.what == "GPU lost" and entry.lead.since and entry.lead.since.seen == 2, night
        assert entry.lead.state == ("new" if night == 2 else "known")
    assert gone[0].lead.id == later[0].lead.id
    assert any(each.since and each.since.seen == 3 for each in gone[0].more)


_LOST = cause(fact="gpu.count", authority="previous", before=8, value=7, hosts=("a",), since=since(364, 363),
              state="known")


def _later(**given: Any) -> Cause:
    return cause(**{"authority": "majority", "hosts": ("a",), "severity": "low", **given})


_NUMA = _later(fact="pcie.numa", before={"0": 4, "1": 4}, value={"0": 4, "1": 3})


@pytest.mark.parametrize("more", [
    _later(fact="iommu.mode", before={"identity": 8}, value={"identity": 7}),
    _later(fact="pcie.bridge.ids", before={"a": 12, "b": 4}, value={"a": 11, "b": 4}),
    _later(fact="pcie.accelerators", before=8, value=7),
    _later(fact="link-payload", authority="desired", outcome="unknown", absence="lost", before=None),
    _later(fact="topo-agreement", authority="desired", outcome="unknown", code="table-unread", before=None),
    _later(fact="accelerator-count", authority="desired", outcome="fail", code="driver-has-fewer", before=None),
], ids=lambda each: each.fact)
@pytest.mark.parametrize("acknowledged", [False, True])
def test_what_has_a_gpu_fewer_in_a_later_audit_is_of_the_entry(more: Cause, acknowledged: bool) -> None:
    lost = replace(_LOST, acknowledged=object()) if acknowledged else _LOST     # type: ignore[arg-type]
    (entry,) = entries([_NUMA, more, lost])
    assert entry.lead is lost and set(each.fact for each in entry.more) == {"pcie.numa", more.fact}
    assert not entry.one_audit and only_counts(type(entry)(_NUMA, part_of=entry))


@pytest.mark.parametrize("more", [
    _later(fact="memory.modules", before={"64": 16}, value={"64": 15}),
    _later(fact="pcie.gen", before={"5": 8}, value={"4": 7}),
    _later(fact="xid", authority="desired", outcome="fail", code="xid-79", before=None),
    _later(fact="accelerator-count", authority="desired", outcome="fail", code="does-not-answer", before=None,
           subject="0000:86:00.0"),
    _later(fact="gpu.count", group="other", before=8, value=7),
], ids=lambda each: f"{each.fact} {each.code}")
def test_what_is_another_thing_stands_for_itself(more: Cause) -> None:
    assert {entry.lead.fact for entry in entries([_LOST, _NUMA, more])} >= {_LOST.fact, more.fact}
    assert len(entries([_LOST, _NUMA, more])) == 2


@pytest.mark.parametrize("more", [
    _later(fact="gpu.name", before={"a": 7}, value={"a": 6}),
    _later(fact="gpu.serials", before=["a", "b"], value=["a", "c"]),
], ids=lambda each: each.fact)
def test_where_another_gpu_went_nothing_is_of_the_first(more: Cause) -> None:
    first, *_ = (each for each in entries([_LOST, _NUMA, more]) if each.lead is _LOST)
    assert not first.more


def test_ports_alone_say_nothing_of_a_gpu() -> None:
    ports = _later(fact="pcie.bridge.ids", before={"a": 16}, value={"a": 15})
    assert len(entries([_LOST, ports])) == 2


def test_earlier_than_the_loss_is_another_thing() -> None:
    assert len(entries([_LOST, replace(_NUMA, since=since(363, 362))])) == 2
