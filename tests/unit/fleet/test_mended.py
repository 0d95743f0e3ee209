"""A word that a check failed for left the command line: the change is what the specification asks for, from the night
it came until somebody approves it, whatever else the check still finds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.reports import WHEN
from tests.unit.fleet.rows import move, since, view
from tests.unit.fleet.store.stores import Clock

from tunecheck.report.style import Style
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import JudgeOptions, judge, report
from tunecheck_fleet.judge.view import View
from tunecheck_fleet.judge.view_rows import Meta
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.next_step import next_step
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store import Store, open_store

_RIGHT, _BACK = "changed to what the specification asks for", "to put it back"
_CHECK = "cmdline-conflict"


def _changed(fact: str, before: Any, value: Any = None, hosts: tuple[str, ...] = ("r2",), seen: int = 5) -> View:
    """Audit #5; the fact changed in ``seen``."""
    name = f"kernel.cmdline.{fact}"
    moves = tuple(move(host, name, before, value, seen) for host in hosts)
    return view({host: {} for host in ("r2", "r3")}, moves=moves if seen == 5 else (),
                unapproved=moves if seen < 5 else (), meta={name: Meta(severity="high", fix="reboot")})


def _found(seen: View, subject: str, *hosts: str, check: str = _CHECK, until: int | None = 5, began: int = 1) -> View:
    """The same where the check found it until that audit (None: it does still)."""
    open_ones = {host: {(check, subject, ""): since(began)} for host in hosts} if until is None else {}
    over = frozenset((host, check, subject, began, until) for host in hosts) if until is not None else frozenset()
    return View(**{**vars(seen), "began": open_ones, "contradicted": over})


def _said(seen: View) -> FleetReport:
    return judge(seen, JudgeOptions())[0]


def _told(seen: View, verbose: bool = False, width: int = 200) -> str:
    return " ".join(terminal(_said(seen), Style(width), verbose=verbose, now=WHEN).split())


_RIGHT_ONES = [
    ("iommu=pt", "amd_iommu", "off", None),
    ("iommu=pt", "intel_iommu", "off", None),
    ("iommu=pt", "amd_iommu", "fullflush,off", "fullflush"),
    ("pci=use_crs", "pci", ["nocrs"], None),
    ("pci=use_crs", "pci", ["disable_acs_redir=pci:0:0", "nocrs"], ["disable_acs_redir=pci:0:0"]),
    ("pcie_aspm.policy=performance", "pcie_aspm", "off", None),
]


@pytest.mark.parametrize(("declared", "fact", "before", "value"), _RIGHT_ONES)
@pytest.mark.parametrize("seen", [5, 4, 2])
@pytest.mark.parametrize("later", [0, 1, None])
def test_what_was_taken_back_is_not_to_be_put_back(declared: str, fact: str, before: Any, value: Any, seen: int,
                                                   later: int | None) -> None:
    """In the night of the change and in later ones; the check was over then, a night later, or is not yet, as it still
    finds another word."""
    until = None if later is None or seen + later > 5 else seen + later
    told = _found(_changed(fact, before, value, seen=seen), declared, "r2", until=until)
    (cause,) = _said(told).causes
    for verbose, width in itertools.product((False, True), (80, 200)):
        text = _told(told, verbose=verbose, width=width)
        assert _BACK not in text
        if seen < 5 and not verbose:
            assert "as the specification asks" in text
        else:
            assert _RIGHT in text and f"tunecheck approve {cause.id}" in text
    assert _RIGHT in _told(told, width=0) and f"{_RIGHT}; tunecheck approve {cause.id}" in html(_said(told))
    assert cause.asked == ("r2",) and cause.counts and cause.severity == "low"
    step = f"NEXT {cause.id} (kernel.cmdline.{fact}) is what the specification asks for: tunecheck approve {cause.id}"
    assert step in _told(told)


@pytest.mark.parametrize("told", [
    _changed("amd_iommu", "off"),
    _found(_changed("mitigations", "off"), "iommu=pt", "r2"),                   # of the same boot
    _found(_changed("amd_iommu", "off", "pgtbl_v1"), "iommu=pt", "r2"),         # nobody asked for that
    _found(_changed("amd_iommu", "off,fullflush"), "iommu=pt", "r2"),
    _found(_changed("amd_iommu", None, "off"), "iommu=pt", "r2"),
    _found(_changed("amd_iommu", "off", hosts=("r2", "r3")), "iommu=pt", "r2"),
    _found(_changed("amd_iommu", "off"), "iommu=pt", "r2", check="clocksource", until=None),
    _found(_changed("amd_iommu", "off"), "iommu=pt", "r3"),                     # of another host
    _found(_changed("amd_iommu", "off"), "iommu=pt", "r2", until=3),            # over before
    _found(_changed("amd_iommu", "off"), "iommu=pt", "r2", until=None, began=5),    # found since then
    _found(_changed("amd_iommu", "off", seen=3), "iommu=pt", "r2", until=2),
])
def test_any_other_change_is(told: View) -> None:
    text = _told(told, verbose=True)
    assert _RIGHT not in text and f"{_BACK}: undo it and reboot" in text


def test_only_checks_that_find_words_declare_where_these_may_be() -> None:
    assert [check.id for check in CHECKS if check.against] == [_CHECK]


# -- night by night, out of a history ---------------------------------------------------------------------------------

@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        yield store


def _night(store: Store, **running: str) -> FleetReport:
    """An audit of hosts whose command lines have these words, each of which takes the declared iommu=pt back."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    started = store.begin("inventory", [(host, "g") for host in running])
    for host, words in running.items():
        known = dict.fromkeys(("kernel.cmdline.amd_iommu", "kernel.cmdline.iommu"))
        known |= {f"kernel.cmdline.{word.partition('=')[0]}": word.partition("=")[2] for word in words.split()}
        problems = tuple(Problem(_CHECK, "iommu=pt", "fail", f"{word} takes back iommu=pt", "iommu=pt alone",
                                 "remove it", ("cmdline",), True, code="overridden", observed=word)
                         for word in words.split())
        store.put(started.id, Seen(host, "g", "ok", key=f"key {host}", hardware="hw", problems=problems, known=known,
                                   document=b"{}", tunecheck="0.1.0", spec="s"))
    store.finish(started.id)
    return report(store, None, JudgeOptions(now=store.clock()))


def _amd(found: FleetReport) -> Cause:
    (cause,) = [each for each in found.causes if each.fact == "kernel.cmdline.amd_iommu"]
    return cause


def test_one_word_of_two_is_right_every_night_until_it_is_approved(store: Store) -> None:
    both = "amd_iommu=off iommu=off"
    _night(store, r1=both, r2=both)
    for r2 in ("iommu=off", "iommu=off", "", "", ""):
        found = _night(store, r1=both, r2=r2)
        cause = _amd(found)
        assert cause.asked == cause.hosts == ("r2",) and cause.authority == "previous"
        assert _amd(report(store, None, JudgeOptions(now=store.clock()), about="r2")).asked == ("r2",)
        for verbose in (False, True):
            text = terminal(found, Style(0), verbose, store.clock())
            assert next_step(entries(found.causes), found, False)[0].startswith(
                f"{next(each.id for each in found.causes if each.fact == _CHECK)} ({_CHECK}): ")
            line = next(line for line in text.splitlines() if "kernel.cmdline.amd_iommu: off" in line)
            assert _RIGHT in line and _BACK not in line
    decide(store, found, "approve", [cause.id], author="ann", note="asked for")
    assert not [each for each in _night(store, r1=both, r2="").causes if each.fact == cause.fact]


def test_a_host_that_did_so_first_differs_from_the_others_as_it_should(store: Store) -> None:
    names = [f"r{number}" for number in range(8)]
    words = dict.fromkeys(names, "amd_iommu=off")
    _night(store, **words)
    for _ in range(3):
        cause = _amd(_night(store, **{**words, "r0": ""}))
        assert (cause.authority, cause.asked) == ("majority", ("r0",))


def test_a_word_that_comes_back_is_to_be_taken_away(store: Store) -> None:
    _night(store, r1="amd_iommu=off iommu=off")
    _night(store, r1="iommu=off")
    found = _night(store, r1="amd_iommu=off iommu=off")
    assert not [each for each in found.causes if each.asked]
