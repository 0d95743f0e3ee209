"""History tells when a host began to differ from most of its group, by what, and when that was over, as the reports of
the audits told it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.fleet.letters import night
from tests.unit.fleet.store.stores import Clock
from tests.unit.fleet.test_begins_to_differ import _BEGINS, _FACT, _audit, _of, _told

from tunecheck.cli.main import cli
from tunecheck_fleet.outputs.text import since_of
from tunecheck_fleet.store import open_store


def _history(place: str, *more: str) -> tuple[list[dict[str, Any]], str]:
    done = CliRunner().invoke(cli, ["history", "--host", "n0", "--store", place, "--json", "-", *more])
    assert done.exit_code == 0, done.output
    rows = [row for row in json.loads(done.output)["rows"] if "began" in row]
    return rows, CliRunner().invoke(cli, ["history", "--host", "n0", "--store", place, *more]).output


@pytest.mark.parametrize("how", _BEGINS)
def test_history_tells_when_a_host_began_to_differ_and_when_it_ended(tmp_path: Path, how: str) -> None:
    place = str(tmp_path / "fleet.db")
    before, first, _, _ = _BEGINS[how]
    with open_store(place, clock=Clock(), catalogue=1) as store:
        for groups in before:
            _audit(store, groups)
            _told(store)
        assert not _history(place)[0]
        _audit(store, first)
        cause = _of(_told(store), "n0")
        ((row,), text) = _history(place)
        assert (row["fact"], row["value"], row["began"], row["gone"]) == (_FACT, "b", how.split()[0], None)
        assert row["since"] == since_of(cause.since)
        assert f"{_FACT}: differs from most of its group: b" in text and "still so" in text
        _audit(store, first)
        assert not [each for each in _told(store).causes if "n0" in each.hosts and each.state == "resolved"]
        assert _history(place)[0] == [row]
        # It does as the others do.
        number = _audit(store, first.replace("b", "a"))
        assert [each.state for each in _told(store).causes if "n0" in each.hosts] == ["resolved"]
        ((over,), text) = _history(place)
        assert over["gone"] == number and {**over, "gone": None, "gone_at": None} == row
        assert f"until #{number}" in text
        assert not _history(place, "--since", f"audit:{number}")[0] and not _history(place, "--fact", "sysctl.x")[0]
        assert _history(place, "--fact", "kernel.cmdline.")[0] == _history(place, "--fact", _FACT)[0] == [over]


def test_what_a_host_had_when_it_was_first_heard_is_told_where_that_is_asked_for(tmp_path: Path) -> None:
    place = str(tmp_path / "fleet.db")
    with open_store(place, clock=Clock(), catalogue=1) as store:
        for values in ("baaaaa", "?aaaaa"):     # and it cannot be told now
            night(store, values)
        assert not _history(place)[0]
        ((row,), text) = _history(place, "--all")
        assert (row["began"], row["since"]["seen"], row["known"], row["dark"]) == ("first", 1, 1, 2)
        assert "cannot be told since #2" in text
