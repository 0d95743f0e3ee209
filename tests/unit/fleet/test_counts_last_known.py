"""A check that failed on a host and cannot tell now has not passed: `fleet hosts` counts it as it was last known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store.store import Store


def _of(check: str, subject: str, outcome: Any) -> Problem:
    return Problem(check, subject, outcome, f"what {check} says of {subject}", code="unread" if outcome == "unknown"
                   else "x", absence="not-in-import" if outcome == "unknown" else "")


def _night(store: Store, *problems: Problem, **more: Any) -> None:
    head = store.begin("all", [("h", "g")])
    store.put(head.id, Seen("h", "g", "ok", key="k", hardware="hw", tunecheck="0.1.0", document=b"{}",
                            problems=problems, **more))
    store.finish(head.id)


def _told(place: str) -> tuple[dict[str, int], str]:
    done = CliRunner().invoke(cli, ["fleet", "hosts", "--store", place, "--json", "-"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)["rows"]
    text = CliRunner().invoke(cli, ["fleet", "hosts", "--store", place]).output
    return {name: row[name] for name in ("failing", "warnings", "unknown", "last_known")}, text


_BAD = (_of("link-width", "GPU0 0000:01:00.0", "fail"),
        _of("link-width", "GPU1 0000:02:00.0, GPU2 0000:03:00.0", "fail"),
        _of("smt", "it", "fail"), _of("swap", "it", "warn"))


@pytest.mark.parametrize(("later", "more", "counts"), [
    (_BAD, {}, (3, 1, 0, 0)),
    ((_of("link-width", "links", "unknown"), *_BAD[2:]), {}, (3, 1, 1, 2)),
    ((_of("link-width", "links", "unknown"), _of("smt", "it", "unknown"), _of("swap", "it", "unknown")), {},
     (3, 1, 3, 4)),
    # One link is told, and of the others nothing.
    ((_BAD[0], _of("link-width", "GPU1 0000:02:00.0, GPU2 0000:03:00.0", "unknown"), *_BAD[2:]), {}, (3, 1, 1, 1)),
    (_BAD[1:3], {"untold": ("swap",)}, (2, 1, 1, 1)),
    ((), {}, (0, 0, 0, 0))])
def test_what_failed_and_cannot_be_told_now_is_counted_as_last_known(
        tmp_path: Path, later: tuple[Problem, ...], more: dict[str, Any], counts: tuple[int, ...]) -> None:
    place = str(tmp_path / "fleet.db")
    with Store(place) as store:
        _night(store, *_BAD)
        for _ in range(2):
            _night(store, *later, **more)
            found, text = _told(place)
            assert tuple(found.values()) == counts
            assert ("as last known" in text) == bool(counts[3]), text
            assert ("checks on the host: 3 fail, 1 warns" in text) == (counts[:2] == (3, 1))
