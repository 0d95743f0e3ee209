"""A check declares itself in its own file, and the index of all of them is what the files declare."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from lab.generators import check_index

from tunecheck.errors import UsageError
from tunecheck.rules.check import Family, Heading, Needs
from tunecheck.rules.errors import xid
from tunecheck.rules.index import BY_ID, CHECKS
from tunecheck.rules.pcie import link_width


def test_the_index_is_what_the_files_declare() -> None:
    assert check_index.INDEX.read_text() == check_index.text(), "run: python -m lab.generators.check_index"
    assert list(CHECKS) == check_index.declared() and len(BY_ID) == len(CHECKS) > 100


def test_every_file_with_a_judge_declares_a_check() -> None:
    """posted_*.py hold what five small checks share with the facts that they are of."""
    folder = check_index.INDEX.parent
    judging = {f"{path.parent.name}.{path.stem}" for path in folder.rglob("*.py")
               if "\ndef judge(case: Case) " in path.read_text()}
    assert len(judging) > 100
    assert {name for name in judging if ".posted_" not in name} <= {check.module for check in CHECKS}
    assert all(callable(import_module(f"tunecheck.rules.{check.module}").judge) for check in CHECKS)


def test_no_id_is_written_twice() -> None:
    """The declaration has it; the rest of the file says CHECK.id."""
    for check in CHECKS:
        if "-" not in check.id:
            continue    # a word that findings use as well, "swap"
        text = (check_index.INDEX.parent / f"{check.module.replace('.', '/')}.py").read_text()
        assert text.count(f'"{check.id}"') == 1, check.id


def test_what_a_declaration_can_say_is_used() -> None:
    assert {check.heading for check in CHECKS} == set(Heading)
    assert {check.family for check in CHECKS} == set(Family)
    assert {need for check in CHECKS for need in check.needs} == set(Needs)
    assert all(check.place % 5 == 0 and check.summary for check in CHECKS)


def test_codes_of_a_check_that_could_not_look_are_its_own() -> None:
    saying = [check for check in CHECKS if check.could_not_look]
    assert saying
    for check in saying:
        own = import_module(f"tunecheck.rules.{check.module}").CODES
        assert set(check.could_not_look) <= set(own), check.id


def test_codes_of_what_is_missing_and_of_what_is_good_are_its_own() -> None:
    for check in CHECKS:
        assert bool(check.misses) == bool(check.counts), check.id
        if check.misses or check.good_skips or check.one_fault:
            own = import_module(f"tunecheck.rules.{check.module}").CODES
            assert {*check.misses, *check.good_skips, *check.one_fault} <= set(own), check.id
    assert any(check.misses for check in CHECKS) and any(check.good_skips for check in CHECKS)


@pytest.mark.parametrize(("module", "changed", "says"), [
    (xid, {"id": "xids"}, r"^rules/errors/xid\.py .*\bxids\b.* rules/errors/xids\.py$"),
    (link_width, {"heading": xid.CHECK.heading, "place": xid.CHECK.place}, r"^link-width .*\bKERNEL, 10\b"),
])
def test_a_wrong_declaration_is_refused(monkeypatch: pytest.MonkeyPatch, module: ModuleType,
                                        changed: dict[str, object], says: str) -> None:
    monkeypatch.setattr(module, "CHECK", replace(module.CHECK, **changed))
    with pytest.raises(UsageError, match=says):
        check_index.declared()


def test_a_verb_imports_no_check_that_it_does_not_run() -> None:
    code = ("import sys; sys.path.insert(0, 'checks'); import tunecheck.rules as r; "
            "print([c.id for c in r.CHECKS if 'tunecheck.rules.' + c.module in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.stdout == "[]\n", done.stdout + done.stderr
