"""History says of what cannot be told now until when it was known, and not that it is still so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store.store import Store

_FACT, _CHECK = "kernel.cmdline.pcie_aspm", "cmdline-conflict"
_FAIL = Problem(_CHECK, "pcie_aspm.policy=performance", "fail", "they contradict", code="conflict")
#: What the check says once its evidence is gone: of all, of the same thing, or nothing at all.
_DARK: dict[str, dict[str, Any]] = {
    "of all": {"problems": (Problem(_CHECK, "kernel command line", "unknown", "not read", code="unread"),)},
    "of it": {"problems": (Problem(_CHECK, _FAIL.subject, "unknown", "not read", code="unread"),)},
    "nothing": {"untold": (_CHECK,)}}
_LAST = "last known in #3; cannot be told since #4"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    with Store(str(tmp_path / "fleet.db")) as store:
        yield store


def _night(store: Store, value: str | None, **told: Any) -> None:
    head = store.begin("all", [("a", "g")])
    store.put(head.id, Seen("a", "g", "ok", key="a", hardware="hw", tunecheck="0.1.0",
                            known={} if value is None else {_FACT: value},
                            unknown={"kernel.": "not read"} if value is None else {}, **told))
    store.finish(head.id)


def _silent(store: Store) -> None:
    head = store.begin("all", [("a", "g")])
    store.put(head.id, Seen("a", "g", "timeout"))
    store.finish(head.id)


def _shown(tmp_path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    runner = CliRunner()
    asked = ["history", "--host", "a", "--store", str(tmp_path / "fleet.db")]
    text, listed = runner.invoke(cli, asked, env={"COLUMNS": "200"}), runner.invoke(cli, [*asked, "--json"])
    assert text.exit_code == listed.exit_code == 0, text.output + listed.output
    rows = [row for row in json.loads(listed.stdout)["rows"] if not row["fact"].startswith("host.")]
    return [line.strip() for line in text.stdout.splitlines() if "since #1..#2" in line], rows


@pytest.mark.parametrize("silent", [False, True], ids=["", "silent now"])
@pytest.mark.parametrize("dark", sorted(_DARK))
def test_until_when_it_was_known(store: Store, tmp_path: Path, dark: str, silent: bool) -> None:
    _night(store, "on")
    for _ in range(2):
        _night(store, "off", problems=(_FAIL,))
    lines, rows = _shown(tmp_path)
    assert len(lines) == len(rows) == 2
    assert all(line.endswith("still so") for line in lines)
    assert [(row["known"], row["dark"]) for row in rows] == [(None, None)] * 2
    for _ in range(2):
        _night(store, None, **_DARK[dark])
    if silent:
        _silent(store)
    lines, rows = _shown(tmp_path)
    assert len(lines) == len(rows) == 2
    assert all(_LAST in line and "still so" not in line for line in lines), lines
    assert [line for line in lines if f"fail when {_LAST}" in line]
    assert [(row["known"], row["dark"]) for row in rows] == [(3, 4)] * 2
    _night(store, "off", problems=(_FAIL,))
    lines, rows = _shown(tmp_path)
    assert all(line.endswith("still so") for line in lines), lines
