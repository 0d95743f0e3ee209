"""What was found on a machine is of that machine: another one that has its name now has nothing of it, and one that has
another name now is told once, since when it was first found; an earlier name says which the present one is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import Store, open_store

OUTCOMES = ("fail", "warn", "unknown")
_FOUND = tuple(Problem(f"check-{outcome}", "GPU0", outcome, "why", code="c") for outcome in OUTCOMES)


class _Nights:
    def __init__(self, place: Path) -> None:
        self.place, self.now = place, 1_800_000_000.0
        self.store: Store = open_store(str(place), catalogue=1, clock=lambda: self.now)

    def night(self, **told: tuple[str, tuple[Problem, ...]] | None) -> int:
        """Host -> which machine answers under that name, and what is found on it; None: none does."""
        head = self.store.begin("inventory", [(name, "g") for name in told])
        for name, said in told.items():
            self.store.put(head.id, Seen(name, "g", "unreachable", "no route") if said is None else Seen(
                name, "g", "ok", key=said[0], known={"fact": 1}, problems=said[1], document=b"{}"))
        self.store.finish(head.id)
        self.now += 86_400.0
        return head.id

    def run(self, *words: str) -> str:
        done = CliRunner().invoke(cli, [*words, "--store", str(self.place)])
        return " ".join(f"{done.output} {done.exception}".split())


@pytest.fixture(name="nights")
def _nights(tmp_path: Path) -> Iterator[_Nights]:
    made = _Nights(tmp_path / "fleet.db")
    with made.store:
        yield made


def test_nothing_of_a_replaced_machine_stays_open(nights: _Nights) -> None:
    nights.night(a=("first", _FOUND), b=("other", ()))
    for number in (nights.night(a=("second", ()), b=("other", ())), nights.night(a=("second", ()), b=("other", ()))):
        for about in (None, "a"):
            made = report(nights.store, number, JudgeOptions(), about=about)
            assert {each.fact for each in made.causes} <= {"host.key"}, (number, about)
    said = nights.run("history", "--host", "a", "--all")
    for outcome in OUTCOMES:
        part = said.partition(f"check-{outcome} GPU0")[2]
        assert "still so" not in part.partition("until #2")[0] and "until #2" in part, said


def test_what_is_found_on_the_new_machine_is_its_own(nights: _Nights) -> None:
    nights.night(a=("first", _FOUND), b=("other", ()))
    number = nights.night(a=("second", _FOUND), b=("other", ()))
    found = {each.fact: each for each in report(nights.store, number, JudgeOptions()).causes}
    for outcome in ("fail", "unknown"):
        assert found[f"check-{outcome}"].since is not None and found[f"check-{outcome}"].since.seen == number


@pytest.mark.parametrize("silent", [False, True])
def test_a_renamed_machine_has_one_history(nights: _Nights, silent: bool) -> None:
    """Also where both names were asked for a night, in which it may have been a clone."""
    nights.night(gpu05=("first", _FOUND), b=("other", ()))
    if silent:
        nights.night(gpu05=None, gpu15=("first", _FOUND), b=("other", ()))
    last = nights.night(gpu15=("first", _FOUND), b=("other", ()))
    said = nights.run("history", "--host", "gpu15", "--all")
    for outcome in OUTCOMES:
        assert said.count(f"check-{outcome} GPU0") == 1, said
        part = said.partition(f"check-{outcome} GPU0")[2].partition("check check-")[0]
        assert "before #1 (first heard" in part, said
    assert "could not be told" not in said and not [
        each for each in report(nights.store, last, JudgeOptions()).causes if each.state == "new"]


@pytest.mark.parametrize("words", [("history",), ("drift",), ("blame", "fact"),
                                   ("waive", "fact", "--until", "30d", "--reason", "why")])
def test_an_earlier_name_leads_to_the_present_one(nights: _Nights, words: tuple[str, ...]) -> None:
    nights.night(gpu05=("first", ()))
    second = nights.night(gpu15=("first", ()))
    assert f"gpu05 is gpu15 since #{second}" in nights.run(*words, "--host", "gpu05")
    third = nights.night(gpu25=("first", ()))
    assert f"gpu05 is gpu25 since #{second}" in nights.run(*words, "--host", "gpu05")
    assert f"gpu15 is gpu25 since #{third}" in nights.run(*words, "--host", "gpu15")
    assert "did you mean" in nights.run(*words, "--host", "gpu24")
