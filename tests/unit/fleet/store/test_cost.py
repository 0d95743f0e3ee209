"""What is asked of the database once, and what a question about one host does not load."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from tunecheck.model.command import run
from tunecheck_fleet.model import Problem
from tunecheck_fleet.store import open_store

from .stores import Makes, one, seen

_BAD = Problem("acs-redirect", "0000:00:01.0, 0000:02:00.0", "fail", "redirects", commands=(run("lspci -tv"),),
               tags=("acs",))


def test_a_finding_that_another_host_has_is_not_looked_up_again(makes: Makes) -> None:
    store = makes.fresh()
    head = store.begin("all", [("a", "g"), ("b", "g")])
    store.put(head.id, seen("a", problems=(_BAD,)))
    asked: list[str] = []
    event.listen(store.db.engine, "before_cursor_execute",
                 lambda connection, cursor, statement, *rest: asked.append(statement))
    store.put(head.id, seen("b", problems=(_BAD,)))
    store.finish(head.id)
    assert asked and not [each for each in asked if "finding" in each.split("RETURNING")[0].lower()]
    assert [(row.host, row.subject) for row in store.problems_since()] == [
        (name, subject) for name in "ab" for subject in _BAD.subjects]


def test_a_finding_of_a_write_that_was_undone_gets_its_number_again(makes: Makes) -> None:
    store = makes.fresh()
    head = store.begin("all", [("a", "g")])

    def interrupted() -> float:     # asked at the end of a write
        raise KeyboardInterrupt

    store.clock = interrupted
    with pytest.raises(KeyboardInterrupt):
        store.put(head.id, seen("a", problems=(_BAD,)))
    store.clock = makes.clock
    store.put(head.id, seen("a", problems=(_BAD,)))
    store.finish(head.id)
    assert [row.subject for row in store.problems_since()] == list(_BAD.subjects)


def test_a_problem_is_the_same_plain_data_as_dataclasses_make_of_it() -> None:
    def listed(value: Any) -> Any:
        return [listed(part) for part in value] if isinstance(value, list | tuple) else {
            name: listed(part) for name, part in value.items()} if isinstance(value, dict) else value

    assert _BAD.commands[0].shown == "lspci -tv"      # kept beside the fields
    assert listed(_BAD.plain()) == listed(asdict(_BAD))


def test_the_lists_themselves_load_no_fact_and_no_check() -> None:
    dear = {"tunecheck.facts.snapshot", "tunecheck.rules", "tunecheck.report.document"}
    code = ("import sys, tunecheck_fleet.store.store, tunecheck_fleet.outputs.rows; "
            f"print(sorted({dear!r} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[]\n", "")


#: What reads a box, and all that judges a fleet.
_DEAR = ("tunecheck.facts.snapshot", "tunecheck.report.document", "tunecheck_fleet.judge.verdict")


@pytest.mark.parametrize(("verb", "also"), [
    (("history", "--host", "a"), ()), (("history", "--gpu", "1"), ()), (("blame", "cpu.smt", "--host", "a"), ()),
    (("fleet", "volatility"), ()), (("drift", "--host", "a"), ("tunecheck_fleet.judge.verdict",))])
def test_lists_of_one_host_load_no_fact_and_no_judge(verb: tuple[str, ...], also: tuple[str, ...], tmp_path: Path
                                                     ) -> None:
    """Start-up is half of what such a list costs."""
    store = str(tmp_path / "fleet.db")
    with open_store(store) as made:
        one(made, seen("a", {"cpu.smt": True}, problems=(_BAD,)), finish=False)
        made.finish(1)
    code = ("import sys; from tunecheck.__main__ import main\n"
            f"sys.argv = {['tunecheck', *verb, '--store', store]!r}\n"
            "try: main()\nexcept SystemExit as end: assert end.code in (None, 0, 1), end.code\n"
            f"print(sorted(set({_DEAR!r}) & set(sys.modules)), file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1] == str(sorted(also)), done.stdout + done.stderr
