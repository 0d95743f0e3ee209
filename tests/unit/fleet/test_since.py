"""What came after the audit that a report is compared with is new there, whatever it is and however it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.errors import UsageError
from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import interval
from tunecheck_fleet.store import open_store
from tunecheck_fleet.store.store import Store

_DAY, _NIGHTS = 86_400.0, 4
_HOSTS = tuple(f"h{number}" for number in range(6))
_BAD = _HOSTS[3]
_WORD = "kernel.cmdline.amd_iommu"


def _problem(check: str, outcome: Any) -> Problem:
    return Problem(check, "it", outcome, f"what {check} says", code="x")


#: What is told of the host -> its facts and problems before, its facts and problems from then on.
_STATES: dict[str, tuple[dict[str, Any], list[Problem], dict[str, Any], list[Problem]]] = {
    _WORD: ({}, [], {_WORD: None}, []),
    "gpu.count": ({"gpu.count": 8}, [], {"gpu.count": 7}, []),
    "cpu-governor": ({}, [], {}, [_problem("cpu-governor", "fail")]),
    "swap": ({}, [], {}, [_problem("swap", "warn")]),
    "clocksource": ({}, [], {}, [_problem("clocksource", "unknown")]),
    "smt": ({}, [_problem("smt", "fail")], {}, []),
    "cpu-lost": ({}, [], {}, [_problem("cpu-lost", "fail")]),
}
#: What the others have all the time, and what one of them has, too.
_USUAL, _TOO = {"gpu.count": 8}, {"cpu-lost": _problem("cpu-lost", "fail")}


def _seen(host: str, name: str, after: bool) -> Seen:
    facts, problems, later, found = _STATES[name]
    here = host == _BAD
    own = [_TOO[name]] if host == _HOSTS[0] and name in _TOO else []
    # No two have one value of the word: of a change the others say nothing.
    values = {**_USUAL, _WORD: host, **((later if after else facts) if here else {})}
    return Seen(host, "g", "ok", hardware="hw", tunecheck="0.1.0", spec="s", known=values,
                problems=tuple(own or ((found if after else problems) if here else ())))


@pytest.fixture(name="history", params=[(name, night) for name in _STATES for night in range(2, _NIGHTS + 1)],
                ids=lambda each: f"{each[0]}-{each[1]}")
def _history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, str, int]]:
    name, changed = request.param
    clock = [0.0]
    with Store(str(tmp_path / "fleet.db"), clock=lambda: clock[0]) as store:
        for night in range(1, _NIGHTS + 1):
            clock[0] = night * _DAY
            head = store.begin("all", [(host, "g") for host in _HOSTS])
            for host in _HOSTS:
                store.put(head.id, _seen(host, name, night >= changed))
            store.finish(head.id)
        yield store, name, changed


_ASKED: tuple[Callable[[int], JudgeOptions], ...] = (
    lambda base: JudgeOptions(since=base), lambda base: JudgeOptions(since=base * _DAY + 3600),
    lambda base: JudgeOptions(baseline=f"audit:{base}"))


def test_what_began_after_it_is_new_and_nothing_else(history: tuple[Store, str, int]) -> None:
    store, name, changed = history
    for base in range(1, _NIGHTS):
        for asked in _ASKED:
            for host in (None, _BAD):
                found = focus(report(store, None, asked(base), host), host, None)
                told = {cause.state for cause in found.causes if cause.fact == name and _BAD in cause.hosts}
                fresh = changed > base
                wanted = {"smt": {"resolved"} if fresh else set(),
                          "cpu-lost": {("new" if host else "grown") if fresh else "known"}}.get(
                              name, {"new" if fresh else "known"})
                assert told == wanted, (base, host, asked(base))
                if name != "smt":
                    _shown(found, name, next(iter(wanted)))


def _shown(found: FleetReport, name: str, word: str) -> None:
    """All outputs say so."""
    assert {each["kind"] for each in document(found)["entries"] if each["fact"] == name} == {word}
    for style in (Style(0), Style(100)):
        lines = terminal(found, style, now=9 * _DAY).splitlines()
        assert f"CAUSES  1 {word}" in lines
        listed = terminal(found, style, now=9 * _DAY, changes=True)
        assert ("KNOWN " in listed) == (word == "known")
    assert f'class="state {word}">{word}<' in html(found)


def _told(store: Store, *problems: Problem, unknown: tuple[str, ...] = (), **facts: Any) -> None:
    head = store.begin("all", [("h", "g")])
    store.put(head.id, Seen("h", "g", "ok", hardware="hw", tunecheck="0.1.0", spec="s", problems=problems,
                            known={name.replace("__", "."): value for name, value in facts.items()},
                            unknown=dict.fromkeys(unknown, "not in the import")))
    store.finish(head.id)


@pytest.mark.parametrize("outcome", ["fail", "warn"])
@pytest.mark.parametrize("moved", [True, False])
def test_what_could_not_be_judged_before_was_not_there_when_the_host_was_first_heard(
        outcome: str, moved: bool, tmp_path: Path) -> None:
    """Where its fact changed, it came with that, also in the audits after."""
    check, word = "cmdline-token", "pt"
    dark = Problem(check, "iommu=pt", "unknown", "not read", code="unread")
    bad = Problem(check, "iommu=pt", outcome, "it is not there", code="missing")     # type: ignore[arg-type]
    with Store(str(tmp_path / "fleet.db")) as store:
        for night in range(1, 5):
            now = word if night < 3 or not moved else None
            _told(store, dark if night < 3 else bad, kernel__cmdline__iommu=now)
        for audit in (3, 4):
            for options in (JudgeOptions(), JudgeOptions(since=1)):
                for host in (None, "h"):
                    causes = report(store, audit, options, host).causes
                    (since,) = {cause.since for cause in causes if cause.fact == check and cause.outcome == outcome}
                    assert since is not None and since.seen == 3
                    assert (since.after, since.untold) == ((2, False) if moved else (None, True))
                    said = interval(since, since.seen_at)
                    assert "first heard" not in said and ("could not be told" in said) != moved


def test_a_fact_that_could_not_be_read_before_is_told_so_in_its_history(tmp_path: Path) -> None:
    place = str(tmp_path / "fleet.db")
    with Store(place) as store:
        _told(store, unknown=("cpu.smt",), gpu__count=8)
        _told(store, gpu__count=8, cpu__smt="on")
    for verb, told, heard in ((("history", "--host", "h", "--all"), 1, 1), (("blame", "cpu.smt", "--host", "h"), 1, 0),
                              (("blame", "gpu.count", "--host", "h"), 0, 1)):
        done = CliRunner().invoke(cli, [*verb, "--store", place])
        assert done.exit_code == 0 and done.output.count("could not be told until") == told, done.output
        assert ("first heard" in done.output) == bool(heard)


@pytest.mark.parametrize("silent", [1, 2])
def test_what_a_host_told_when_it_was_heard_first_could_not_be_told_late(silent: int, tmp_path: Path) -> None:
    """It was asked before, and did not answer: that is no answer without the value."""
    place = str(tmp_path / "fleet.db")
    bad = Problem("cpu-governor", "it", "fail", "what it says", code="x")
    with Store(place) as store:
        for _ in range(silent):
            head = store.begin("all", [("h", "g"), ("other", "g")])
            store.put(head.id, Seen("h", "g", "unreachable", "no route to host"))
            store.put(head.id, Seen("other", "g", "ok", hardware="hw", tunecheck="0.1.0"))
            store.finish(head.id)
        for _ in range(2):
            _told(store, bad, gpu__count=8)
            (since,) = {cause.since for cause in report(store).causes if cause.fact == "cpu-governor"}
            assert since is not None and (since.seen, since.after, since.untold) == (silent + 1, None, False)
    for verb in (("history", "--host", "h", "--all"), ("blame", "gpu.count", "--host", "h")):
        done = CliRunner().invoke(cli, [*verb, "--store", place])
        assert done.exit_code == 0 and "could not be told" not in done.output, done.output
        assert "first heard" in done.output


@pytest.mark.parametrize(("since", "said"), [(2, "not before #2"), (3, "there is no audit #3")])
def test_an_audit_that_nothing_can_have_followed_is_named_as_what_it_is(tmp_path: Path, since: int, said: str) -> None:
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for _ in range(2):
            head = store.begin("folder", [("h1", "g")])
            store.put(head.id, Seen("h1", "g", "ok", key="k", known={"smt": "on"}))
            store.finish(head.id)
        with pytest.raises(UsageError, match=said):
            report(store, None, JudgeOptions(since=since))
