"""`fleet --audit N` tells what that audit told, whatever the nights after it brought: its causes with their ids, states
and hosts, what is folded into one entry, its counts and exit codes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.facts.trees import answering, full, switch
from tests.unit.fleet.nights import Fleet, audited, evidence, random_fleet
from tests.unit.fleet.test_read import answer

from tunecheck_fleet.entries import entries
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.judge.exits import FAIL_ON, exit_code
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.terminal import verdict_line
from tunecheck_fleet.outputs.text import kind
from tunecheck_fleet.read import seen
from tunecheck_fleet.store.store import Store

_OLD = Path(__file__).with_name("store") / "history-0003.sql"
_START = "[    0.000000] Linux version 6.8.0-60-generic (b@h) (gcc) #63-Ubuntu SMP\n"
_XID = "[    9.000000] NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"


def _said(found: FleetReport) -> dict[str, Any]:
    """All but the words: of a problem that stays these are the first ones."""
    return {
        "causes": [replace(cause, text="") for cause in sorted(found.causes, key=lambda each: (each.id, each.state))],
        "kinds": sorted((kind(cause), cause.id) for cause in found.causes),
        "entries": sorted((each.lead.id, each.lead.hosts, each.what,
                           sorted((more.id, more.hosts) for more in each.more)) for each in entries(found.causes)),
        "verdict": verdict_line(found),
        "splits": found.splits,
        "exit": [exit_code(found, fail_on, missing) for missing in ("0", "100%")
                 for fail_on in ((), *((each,) for each in FAIL_ON))]}


def _told_again(store: Store, nights: dict[int, dict[str, Any]]) -> None:
    for audit, then in nights.items():
        now = _said(report(store, audit))
        for about, told in then.items():
            assert now[about] == told, (audit, about)


def _audit(store: Store, answers: Iterable[Seen]) -> int:
    answers = list(answers)
    head = store.begin("all", [(each.host, each.group) for each in answers])
    for each in answers:
        store.put(head.id, each)
    store.finish(head.id)
    return head.id


@pytest.mark.parametrize("made", [evidence, *(lambda seed=seed: random_fleet(seed, 24, 6) for seed in range(6))])
def test_every_night_is_told_again(made: Callable[[], Fleet], tmp_path: Path) -> None:
    clock, nights = [0.0], dict[int, dict[str, Any]]()

    def told(_: int, found: FleetReport) -> None:
        nights[found.audit.id] = _said(found)

    with Store(str(tmp_path / "fleet.db"), clock=lambda: clock[0]) as store:
        audited(store, made(), clock, told)
        assert len(nights) >= 6
        _told_again(store, nights)


def _boxes() -> list[list[Seen]]:
    """Nights of five boxes whose kernel logs and NVML come and go, and whose findings have other words and numbers."""
    whole, lost = seen(answer(full(switch(), log=_START))), seen(answer(full(switch(), log=_START + _XID)))
    dark, cut = seen(answer(full(switch(), log=None))), seen(answer(full(switch(), log=_XID[:20])))
    nvml = seen(answer(answering(full(switch(), log=_START))))
    rows = [(dark, whole, whole, whole, lost), (whole, whole, dark, whole, cut), (whole, nvml, lost, dark, whole),
            (dark, dark, whole, nvml, nvml), (whole, cut, None, lost, dark), (nvml, whole, whole, whole, whole)]
    return [[_box(number, night, found) for number, found in enumerate(row)] for night, row in enumerate(rows)]


def _box(number: int, night: int, found: Seen | None) -> Seen:
    host = f"hgx{number}"
    if found is None:
        return Seen(host, "g", "unreachable", "no route to host")
    more = (Problem("gpu-temperature", f"GPU{number}", "warn", f"it is {60 + night} C", remedy=f"look -l {host}",
                    code="hot"),
            Problem("link-width", "GPU0, GPU1", "fail", "is narrow", code="narrow", observed=f"x{8 // (night % 2 + 1)}")
            if night < 4 else Problem("link-width", "GPU1", "fail", "is narrow", code="narrow", observed="x8"))
    return replace(found, host=host, group="g", key=f"key {number}", document=b"{}",
                   problems=(*(replace(each, remedy=each.remedy.replace("box", host)) for each in found.problems),
                             *more[:2 if number < 3 else 1]))


def test_nights_with_texts_that_come_and_go_are_told_again(tmp_path: Path) -> None:
    with Store(str(tmp_path / "fleet.db")) as store:
        nights = {number: _said(report(store, number)) for number in (_audit(store, each) for each in _boxes())}
        folded = [each for said in nights.values() for each in said["entries"] if each[2] == "no kernel log"]
        assert len({(len(hosts), len(more)) for _, hosts, _, more in folded}) > 1, "a log came and one went"
        _told_again(store, nights)
        # A part of it, and one host.
        for number in nights:
            alone = report(store, number, JudgeOptions(), "hgx0")
            assert {cause.id for cause in alone.causes} == {
                cause.id for cause in nights[number]["causes"] if "hgx0" in cause.hosts}


def test_what_is_over_has_the_id_under_which_it_was_open(tmp_path: Path) -> None:
    with Store(str(tmp_path / "fleet.db")) as store:
        nights = [report(store, _audit(store, each)) for each in _boxes()]
        told: set[str] = set()
        for found in nights:
            over = {cause.id for cause in found.causes if cause.state == "resolved"}
            assert over <= told
            told |= {cause.id for cause in found.causes}
        assert any(cause.state == "resolved" and cause.code for found in nights for cause in found.causes)


def test_a_problem_that_has_other_words_every_night_has_one_row(tmp_path: Path) -> None:
    with Store(str(tmp_path / "fleet.db")) as store:
        for night in range(5):
            _audit(store, [_box(4, night, seen(answer(full(switch(), log=None))))])
        with closing(sqlite3.connect(tmp_path / "fleet.db")) as made:
            count, longest = made.execute("SELECT count(*), max(from_audit) FROM problem_span").fetchone()
        assert (count, longest) == (len(_box(4, 0, seen(answer(full(switch(), log=None)))).problems), 1)


def test_hosts_share_what_they_tell(tmp_path: Path) -> None:
    dark = seen(answer(full(switch(), log=None)))
    counts = []
    with Store(str(tmp_path / "fleet.db")) as store:
        for hosts in (1, 12):
            _audit(store, [replace(_box(number, 0, dark), problems=tuple(
                replace(each, remedy=f"run: play -l hgx{number}") for each in dark.problems))
                for number in range(hosts)])
            with closing(sqlite3.connect(tmp_path / "fleet.db")) as made:
                counts.append(made.execute("SELECT count(DISTINCT problem_id), count(DISTINCT words_id) "
                                           "FROM problem_span").fetchone())
        assert counts[0] == counts[1]
        assert {problem.remedy for problem in store.hosts(1)[0].problems} == {"run: play -l hgx0"}


def test_a_history_of_an_older_version_is_told_again_from_its_next_audit_on(tmp_path: Path) -> None:
    file = tmp_path / "fleet.db"
    with closing(sqlite3.connect(file)) as made:
        made.executescript(_OLD.read_text())
        before = made.execute("SELECT count(*) FROM finding_span").fetchone()
    with Store(str(file), catalogue=1) as store:
        assert report(store, 2).causes, "what it holds is told without its words"
        nights = {number: _said(report(store, number)) for number in (_audit(store, [
            replace(each, host="abcdef"[place], key=f"key {'abcdef'[place]}") for place, each in enumerate(night)])
            for night in _boxes())}
        _told_again(store, nights)
        with closing(sqlite3.connect(file)) as made:
            assert made.execute("SELECT count(*) FROM finding_span WHERE from_audit <= 3").fetchone() == before


def test_the_last_audit_before_the_upgrade_is_told_again_too(tmp_path: Path) -> None:
    """Its words are there until the hosts answer again: what is over in the next audit is over under its own id."""
    file = tmp_path / "fleet.db"
    first, second, third, *_ = _boxes()
    with Store(str(file)) as store:
        _audit(store, first)
        last = _audit(store, second)
    with closing(sqlite3.connect(file)) as made:        # as schema 0005 has it
        made.executescript("""
            DROP TABLE problem_span;
            DROP TABLE differing;
            DROP TABLE compared;
            ALTER TABLE host DROP COLUMN told_from;
            CREATE TABLE first_of AS SELECT "check", subject, min(id) AS id FROM finding GROUP BY "check", subject;
            UPDATE OR IGNORE finding_span SET finding_id = (SELECT first_of.id FROM first_of JOIN finding USING (
                "check", subject) WHERE finding.id = finding_span.finding_id);
            DELETE FROM finding WHERE id NOT IN (SELECT id FROM first_of);
            DELETE FROM finding_span WHERE finding_id NOT IN (SELECT id FROM first_of);
            DROP TABLE first_of;
            DROP INDEX finding_name;
            ALTER TABLE finding DROP COLUMN code;
            CREATE UNIQUE INDEX finding_name ON finding ("check", subject);
            UPDATE tunecheck_version SET version_num = '0005'""")
    with Store(str(file)) as store:
        # An older version kept no words of the audit before, by which a finding is called that cannot be told now.
        then = _said(report(store, last))
        found = report(store, _audit(store, third))
        # What was over in it came before anything was kept.
        assert [each for each in _said(report(store, last))["causes"] if each.state != "resolved"] == [
            each for each in then["causes"] if each.state != "resolved"]
        # What could not be told in it was told before.
        over = {cause.id for cause in found.causes if cause.state == "resolved" and cause.code}
        assert len(over) > 5 and over <= {cause.id for cause in then["causes"]}
        assert report(store, 1).causes, "what is not kept is told without its words"


def test_what_a_later_version_told_of_a_problem_besides_is_left_out(tmp_path: Path) -> None:
    """After a step back to an older version its history is still read, of then and of now."""
    found = Problem("swap", "areas", "warn", "swap is in use", code="in-use", remedy="swapoff -a")
    with Store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for _ in range(2):
            _audit(store, [Seen("h", "g", "ok", known={"gpu.count": 8}, tunecheck="0.1.0", document=b"{}",
                                problems=(found,))])
        before = [_said(report(store, audit)) for audit in (1, 2)]
    with closing(sqlite3.connect(tmp_path / "fleet.db")) as connection:
        changed = connection.execute("UPDATE value SET json = replace(json, '\"check\":\"swap\"', "
                                     "'\"a_later_part\":[1],\"check\":\"swap\"')").rowcount
        connection.execute("UPDATE newest SET problems = replace(problems, '\"check\":', "
                           "'\"a_later_part\":7,\"check\":')")
        connection.commit()
        assert changed
        assert connection.execute("SELECT count(*) FROM newest WHERE problems LIKE '%a_later_part%'").fetchone() == (1,)
    with Store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        assert [_said(report(store, audit)) for audit in (1, 2)] == before
