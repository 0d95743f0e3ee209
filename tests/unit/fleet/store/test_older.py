"""A history that an older tunecheck left: brought up to date in one step, whatever ends that; nothing of it is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event
from tests.unit.refusing import refused

from tunecheck.errors import Misuse, UsageError
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.store import database, open_store
from tunecheck_fleet.store.store import Store

from .stores import Clock, seen

_OLD = Path(__file__).with_name("history-0003.sql")
#: What a version of then knows of the tables that have more columns now.
_OF_THEN = {"host": "SELECT id, key, claimed, name, grp, hardware, first_audit, last_audit, answered_audit, snap_from, "
                    "status, about_id, retired_audit FROM host",
            "finding": 'SELECT id, "check", subject FROM finding'}
_BASE = {"cpu.smt": True, "gpu.vbios": ["98.02"], "kernel.running": "6.12.1"}


def _old(folder: Path) -> Path:
    file = folder / "fleet.db"
    with closing(sqlite3.connect(file)) as made:
        made.executescript(_OLD.read_text())
        made.execute("PRAGMA journal_mode=WAL")
    return file


def _tables(file: Path) -> tuple[str, set[str], list[str]]:
    """Its version, its tables, and what they hold."""
    with closing(sqlite3.connect(file)) as made:
        assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = {name for name, in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        # What its next answer is held against (state) is no part of what a host told.
        return made.execute("SELECT version_num FROM tunecheck_version").fetchone()[0], names, [
            *(line for line in made.iterdump() if line.startswith("INSERT") and "tunecheck_version" not in line
              and not line.startswith(tuple(f'INSERT INTO "{table}"' for table in _OF_THEN))),
            *(str((table, *row)) for table, columns in _OF_THEN.items() for row in made.execute(columns))]


def _upgraded_until(file: Path, statement: int) -> bool:
    """In a process that loses its power before that statement. Whether it came to its end."""
    child = os.fork()
    if not child:
        count = 0

        def before(*_: object) -> None:
            nonlocal count
            count += 1
            if count == statement:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            from sqlalchemy import Engine

            event.listen(Engine, "before_cursor_execute", before)
            open_store(str(file)).close()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.waitstatus_to_exitcode(status) == 0


def test_a_power_cut_in_the_middle_leaves_it_as_it_was_or_as_it_will_be(tmp_path: Path) -> None:
    before = _tables(_old(tmp_path))
    assert before[0] == "0003"
    open_store(str(tmp_path / "fleet.db")).close()
    after = _tables(tmp_path / "fleet.db")
    assert after[0] == database.HEAD
    assert after[1] - before[1] == {"compared", "decision", "decided", "differing", "incident", "problem_span", "told"}
    cut = []
    for statement in range(1, 200):
        for file in tmp_path.glob("fleet.db*"):
            file.unlink()
        file = _old(tmp_path)
        ended = _upgraded_until(file, statement)
        found = _tables(file)
        assert found[:2] in (before[:2], after[:2]) and set(before[2]) <= set(found[2]), statement
        cut.append(found[0])
        if ended:
            break
        open_store(str(file)).close()
        assert _tables(file)[:2] == after[:2], "the next one brings it to its end"
    assert ended and len(cut) > 8 and set(cut[:-1]) >= {"0003"}, cut


def test_what_it_holds_is_approved_and_what_comes_is_open(tmp_path: Path) -> None:
    clock = Clock()
    clock.now = 1_800_345_780.0
    options = JudgeOptions(now=clock.now)
    with Store(str(_old(tmp_path)), clock=clock, catalogue=1) as store:
        assert store.decisions() == [] and store.at("f", 1) == _BASE
        assert [each.fact for each in store.waivers()] == ["kernel.running"]

        def night(**facts: dict[str, object]) -> list[tuple[str, str, tuple[str, ...]]]:
            clock.hours(24)
            answers = [seen(name, {**_BASE, **({"cpu.smt": False} if name == "a" else {}),
                                   **({"gpu.vbios": ["98.03"]} if name == "b" else {}), **facts.get(name, {})},
                            key=f"key {name}") for name in "abcdef"]
            head = store.begin("inventory", [(each.host, each.group) for each in answers])
            for each in answers:
                store.put(head.id, each)
            store.finish(head.id)
            return sorted((cause.fact, cause.state, cause.hosts) for cause in report(store, None, options).causes
                          if cause.counts)

        known = [("cpu.smt", "known", ("a",)), ("gpu.vbios", "known", ("b",))]
        assert night() == known, "they differ from the others; nothing else of before is told anew"
        all_of_them = {name: {"kernel.running": "6.14.0"} for name in "abdef"}
        assert ("kernel.running", "new", tuple("abdef")) in night(**all_of_them)
        assert ("kernel.running", "known", tuple("abdef")) in night(**all_of_them)


def test_who_may_not_write_is_told_so_and_nothing_is_said() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = _old(Path(folder))
        open_store(str(file)).close()
        before = _tables(file)
        # Root may write whatever the mode says: in a child that is nobody.
        Path(folder).chmod(0o755)
        file.chmod(0o444)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                if os.geteuid() == 0:
                    os.setgid(65534)
                    os.setuid(65534)
                with open_store(str(file), create=False) as store:
                    decide(store, report(store), "acknowledge", ["1a"], author="ann")
                os.write(write, b"written")
            except UsageError as error:
                os.write(write, f"{error.flaw} {error}".encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read, "rb") as said:
            assert said.read().startswith(f"{Misuse.UNWRITABLE} {file}: ".encode())
        assert _tables(file) == before


@pytest.mark.parametrize("what", ["approve", "acknowledge"])
def test_a_decision_without_an_author_is_none(tmp_path: Path, what: str) -> None:
    with Store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        with refused(Misuse.LEFT_OUT):
            store.decide(what, 1, "1a", "x", [("a", "x")], author=" ")      # type: ignore[arg-type]
        assert store.decisions() == []
