"""However narrow a terminal is, an entry in one line keeps its hosts and its values: since when, and what other checks
fail, is left out first, then values are made shorter where they are alike, then there is a second line. So it is in the
digest of a webhook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.nights import STATES, Fleet
from tests.unit.fleet.store.stores import Clock, one

from tunecheck.report.style import Style
from tunecheck.util.host_names import fold
from tunecheck_fleet.entries import entries, gpus_of
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.outputs.entry_words import says, title
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import change, in_words, kind
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.store import Store, open_store

_MARKS = sorted({*STATES, "old bios", "memory"})
_SHORTEST = 12


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _nights(store: Store, fleet: Fleet, nights: int) -> FleetReport:
    assert isinstance(store.clock, Clock)
    for night in range(1, nights + 1):
        store.clock.hours(24)
        one(store, *fleet.night(night))
    return report(store, None, JudgeOptions(now=store.clock()))


def _entries_of(text: str) -> list[str]:
    """Each in one line, without the ends of lines."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and found:
            found[-1] += " " + line.strip()
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("until", [None, 3], ids=["known", "resolved"])
@pytest.mark.parametrize("marks", [_MARKS[:len(_MARKS) // 3], _MARKS[len(_MARKS) // 3:-5], _MARKS[-5:], _MARKS],
                         ids=["some", "others", "the rest", "all"])
def test_host_and_values_are_there_at_any_width(store: Store, marks: list[str], until: int | None) -> None:
    fleet = Fleet(hosts=30)
    names = iter(sorted(name for name in fleet.boxes if not name.startswith("g99")))
    for mark in marks:
        fleet.mark(mark, 2, [next(names)], until=until)
    found = _nights(store, fleet, 3)
    told = 0
    for width in (60, 72, 80, 100, 120):
        lines = _entries_of(terminal(found, Style(width), False, store.clock()))
        for entry in entries(found.causes):
            if kind(entry.lead) not in ("known", "resolved"):
                continue
            own = [line for line in lines if fold(entry.lead.hosts, 30) in line and title(entry) in line]
            if not own and entry.lead.severity != "high":    # of many, the last are counted
                continue
            told += 1
            (line,) = own
            if gpus_of(entry) is not None:
                assert says(entry) in line, (width, line)
            elif not in_words(entry.lead):
                assert any(change(entry.lead, most) in line for most in range(_SHORTEST, 161)), (width, line)
                assert not line.endswith("...") or change(entry.lead).endswith("...") or any(
                    line.endswith(change(entry.lead, most)) for most in range(_SHORTEST, 161)), (width, line)
    assert told >= 5 * len(marks)


def test_the_digest_of_a_webhook_names_the_hosts_behind_whatever_is_said(store: Store) -> None:
    fleet = Fleet(hosts=30)
    names = iter(sorted(name for name in fleet.boxes if not name.startswith("g99")))
    for mark in _MARKS:
        fleet.mark(mark, 2, [next(names)])
    found = _nights(store, fleet, 2)
    told = event(found)
    assert told is not None
    hosts = [entry.lead.hosts for entry in entries(found.causes) if entry.lead.counts]
    lines = [line for line in told["text"].splitlines() if line.startswith("NEW ")]
    assert len(lines) > 5
    for line in lines:
        assert len(line) <= 200 and any(f" on {fold(each, 60)}" in line for each in hosts), line
