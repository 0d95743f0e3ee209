"""A month of a fleet with two dozen kinds of faults: what a report and an alert of every night say, and no more."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.fleet.nights import NIGHT, Fleet, Score, audited, evidence, random_fleet
from tests.unit.refusing import refused

from tunecheck.errors import Misuse, UsageError
from tunecheck.report.style import Style
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import kind
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.store.store import Store


def _run(folder: Path, fleet: Fleet, each: Callable[[int, FleetReport], None] | None = None) -> tuple[Score, Store]:
    clock = [0.0]
    store = Store(str(folder / "fleet.db"), clock=lambda: clock[0])
    return audited(store, fleet, clock, each), store


def test_thirty_nights(tmp_path: Path) -> None:
    pages: dict[int, str] = {}
    told: Counter[str] = Counter()

    def page(night: int, found: FleetReport) -> None:
        pages[night] = terminal(found, Style(100), now=found.audit.started + NIGHT / 12)
        if night == 15:
            told.update(kind(entry.lead) for entry in entries(found.causes) if entry.lead.counts)

    fleet = evidence()
    score, store = _run(tmp_path, fleet, page)
    silent = min(fleet.silent)
    assert [(span.value, span.since.seen, span.until) for span in store.presence(silent)] == [
        ("ok", 1, 6), ("unreachable", 6, 16), ("ok", 16, None)], "ten silent nights stand in its history"
    new = next(name for name in fleet.boxes if name.endswith("-new1"))
    assert [(span.fact, span.before, span.since.seen) for span in store.presence(new) if span.fact == "host.name"] == [
        ("host.name", f"{new[:3]}-{fleet.boxes[new].board[-4:]}", 17)]
    repaired = next(iter(next(each for each in fleet.planted if each.name == "GPU replaced").since))
    assert [(span.host, span.until) for span in store.board(fleet.boxes[repaired].serials[5])
            if span.fact == "gpu.serials"] == [(repaired, None)]
    stayed = [(span.since.seen, span.until) for span in store.board(fleet.boxes[repaired].serials[0])
              if span.fact == "gpu.serials"]
    assert stayed == [(1, None)], "its neighbour was replaced, and it was not"
    store.close()
    assert not score.faults, score.table() + "\n" + "\n".join(score.faults[:20])
    assert score.events > 300 and score.alerts > 20 and score.hosts > 900, score.table()
    assert told == {"new": 3, "known": 11}
    if place := os.environ.get("TUNECHECK_NIGHT"):      # as an operator reads it
        Path(place).write_text(pages[15])
    assert [text for text in pages.values() if len(text.splitlines()) > 40] == [], "a night is a page"


@pytest.mark.parametrize("seed", range(20))
def test_random_nights(seed: int, tmp_path: Path) -> None:
    score, store = _run(tmp_path, random_fleet(seed, 24, 6))
    store.close()
    assert not score.faults, score.table() + "\n" + "\n".join(score.faults[:20])
    assert score.events >= 5


def test_what_is_said_of_a_finding(tmp_path: Path) -> None:
    """Approved: gone, also on the nights after. Acknowledged: drift without news, until a host joins. What the desired
    state asks for, or a clone, is approved by nobody."""
    fleet = Fleet(24, 4)
    moved, other, late, first, clone = fleet.take(5, "rack00")
    fleet.mark("smt", 2, [moved])
    growing = fleet.mark("vbios", 2, [other])
    fleet.mark("link", 2, [late])
    fleet.cloned(2, first, clone)
    seen: dict[int, dict[str, tuple[str, tuple[str, ...]]]] = {}
    clock = [0.0]
    store = Store(str(tmp_path / "fleet.db"), clock=lambda: clock[0])

    def said(night: int, found: FleetReport) -> None:
        told = {entry.lead.fact: entry for entry in entries(found.causes) if entry.lead.counts}
        seen[night] = {fact: (kind(entry.lead), entry.lead.new_hosts) for fact, entry in told.items()}
        if night == 2:
            ids = {fact: entry.lead.id for fact, entry in told.items()}
            decide(store, found, "approve", [ids["cpu.smt"]], author="mk", note="the BIOS was set")
            decide(store, found, "acknowledge", [ids["gpu.vbios"]], author="mk", owner="ann", link="https://t/1")
            for fact in ("link-width", "identity.machine"):
                with pytest.raises(UsageError, match=r"waive"):
                    decide(store, found, "approve", [ids[fact]], author="mk")
            with refused(Misuse.NO_SUCH, "'nonsense'"):
                decide(store, found, "approve", ["nonsense"], author="mk")

    # The fleet's own truth does not know what was said: only what stands in the reports counts here.
    fleet.mark("vbios", 4, [fleet.take(1, "rack00")[0]], into=growing)
    audited(store, fleet, clock, said)
    assert set(seen[2]) == {"cpu.smt", "gpu.vbios", "link-width", "identity.machine"}
    assert {fact: word for fact, (word, _) in seen[3].items()} == {
        "gpu.vbios": "acknowledged", "link-width": "known", "identity.machine": "known"}
    assert seen[4]["gpu.vbios"][0] == "grown" and len(seen[4]["gpu.vbios"][1]) == 1
    posted = event(report(store))
    assert posted is not None and [each["fact"] for each in posted["new"]] == ["gpu.vbios"]
    assert "GREW" in posted["text"] and re.search(r" 1 host .*#2", posted["text"])
    assert [each.finding != "" and each.author for each in store.decisions()] == ["mk", "mk"]
    # Taken back, it is open again, since when it came.
    store.end_decision(1)
    back = next(entry.lead for entry in entries(report(store).causes) if entry.lead.fact == "cpu.smt")
    assert (back.state, back.hosts, back.since.seen if back.since else 0) == ("known", (moved,), 2)
    with refused(Misuse.NO_SUCH, "1"):
        store.end_decision(1)
    store.close()


def test_parts_of_an_inventory_are_one_fleet(tmp_path: Path) -> None:
    """Two audits with a --limit each: `fleet` shows both, with what is new in either, and how old each is."""
    fleet = Fleet(24, 3)
    hosts = sorted(fleet.boxes)
    parts = {"one": hosts[:12], "two": hosts[12:20]}
    clock = [1_800_000_000.0]
    store = Store(str(tmp_path / "fleet.db"), clock=lambda: clock[0])
    fleet.boxes[hosts[3]].marks.add("link")
    fleet.boxes[hosts[13]].marks.add("vbios")
    for night in range(3):
        for name, members in parts.items():
            clock[0] += 3600
            head = store.begin(f"inventory, limit {name}", [(host, fleet.groups[host]) for host in members])
            for host in members:
                box = fleet.boxes[host]
                marks, box.marks = box.marks, box.marks if night else set()
                store.put(head.id, fleet.said(host, night))
                box.marks = marks
            store.finish(head.id)
        alone, whole = report(store), report(store, None, JudgeOptions(union=True))
        assert [row.host for row in alone.hosts] == parts["two"] and len(whole.hosts) == 20
        told = {entry.lead.fact: kind(entry.lead) for entry in entries(whole.causes) if entry.lead.counts}
        word = {1: "new", 2: "known"}.get(night)
        assert told == ({"link-width": word, "gpu.vbios": word} if word else {}), (night, told)
        assert any(re.search(rf"12 hosts .*#{head.id - 1}\b.* 1.0 h .*#{head.id}\b", note) for note in whole.notes)
    assert len(report(store, 5, JudgeOptions(union=True)).hosts) == 12, "an older audit is shown as it was"
    store.close()
