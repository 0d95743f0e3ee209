"""A change stays open while its value cannot be read; its entry says then that it is the value last known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.store.store import Store

_FACT, _WHY = "kernel.thp", "/sys/kernel/mm: no permission"
_SAID = "cannot be told now"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with Store(str(tmp_path / "fleet.db")) as store:
        yield store


def _night(store: Store, **answers: tuple[dict[str, str], dict[str, str]]) -> FleetReport:
    head = store.begin("all", [(host, "g") for host in answers])
    for host, (known, unknown) in answers.items():
        store.put(head.id, Seen(host, "g", "ok", key=host, hardware="hw", tunecheck="0.1.0", known=known,
                                unknown=unknown))
    store.finish(head.id)
    return report(store, head.id)


def _cause(found: FleetReport) -> Cause:
    cause, = (each for each in found.causes if each.fact == _FACT)
    return cause


_READ: tuple[dict[str, str], dict[str, str]] = {_FACT: "never"}, {}


@pytest.mark.parametrize("since", [None, 1])
@pytest.mark.parametrize("about", [None, "a"])
@pytest.mark.parametrize("source", [_FACT, "kernel."])
def test_it_says_so_in_every_form(store: Store, source: str, about: str | None, since: int | None) -> None:
    _night(store, a=({_FACT: "always"}, {}))
    changed = _cause(_night(store, a=_READ))
    assert _SAID not in changed.text
    _night(store, a=({}, {source: _WHY}))
    found = report(store, None, JudgeOptions(since=since), about)
    cause = _cause(found)
    assert (cause.before, cause.value, cause.id, cause.severity) == (
        "always", "never", changed.id, changed.severity)
    assert cause.text == f"{_SAID}: {_WHY}; it was so when it last could"
    for form in (" ".join(terminal(found, Style(80), verbose=True).split()), str(document(found)), html(found)):
        assert f"{_SAID}: {_WHY}" in form
    assert _SAID not in _cause(_night(store, a=_READ)).text


def test_what_is_read_of_a_family_that_is_not_is_no_value_of_before(store: Store) -> None:
    _night(store, a=({_FACT: "always"}, {}))
    assert _SAID not in _cause(_night(store, a=({_FACT: "never"}, {"kernel.": _WHY}))).text


def test_of_several_hosts_it_is_said_of_whose_value_it_is(store: Store) -> None:
    before: tuple[dict[str, str], dict[str, str]] = {_FACT: "always"}, {}
    _night(store, a=before, b=before)
    _night(store, a=_READ, b=_READ)
    cause = _cause(_night(store, a=_READ, b=({}, {_FACT: _WHY})))
    assert (cause.hosts, cause.untold) == (("a", "b"), ("b",))
