"""What the watch leaves for the recovery, and what somebody else may have left there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tunecheck.recovery.unit import seconds_of
from tunecheck.util.safe_files import UnsafeFileError
from tunecheck.watch import request
from tunecheck.watch.request import Drained, Request

GOOD = Request("20261124T000000Z-0a1b", "boot", "x.service", "http://127.0.0.1:30000", {"": 12.0},
               {"reasons": [{"code": "tokens-frozen"}]}, ({"at": 1.0},), "NCCL version 2.28.9", "0af3")


def test_it_is_read_as_it_was_left(tmp_path: Path) -> None:
    path = str(tmp_path / "new/stall.json")
    assert request.read(path) is None
    request.leave(GOOD, path)
    assert request.read(path) == GOOD and GOOD.codes == ("tokens-frozen",)


def test_the_xids_are_those_of_the_reasons() -> None:
    told = [{"code": "xid", "numbers": {"xid": number}} for number in (79.0, 79, 119, True, -1, "31", 1e99)]
    asked = replace(GOOD, document={"reasons": [{"code": "tokens-frozen", "numbers": {"seconds": 31.0}}, *told, 7, {}]})
    assert asked.xids == (79, 119) and GOOD.xids == () and replace(GOOD, document={"reasons": 7}).xids == ()


@pytest.mark.parametrize("missing", ["ras", "invocation"])
def test_one_of_a_watch_that_did_not_know_the_field_is_read(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "stall.json"
    request.leave(GOOD, str(path))
    said = json.loads(path.read_text())
    del said[missing]
    path.write_text(json.dumps(said))
    assert request.read(str(path)) == replace(GOOD, **{missing: ""})


@pytest.mark.parametrize("change", [
    {"schema": "other"}, {"incident": None}, {"moved": []}, {"moved": {"": "many"}}, {"document": []}, {"timeline": {}},
    {"unit": 1}, {"url": None}, {"boot_id": []}])
def test_what_the_watch_did_not_write_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    assert request.SCHEMA in _refused(tmp_path, change)


@pytest.mark.parametrize("name", ["../../etc", "", "a/b", "x" * 61, "\u0661"])
def test_a_document_of_the_watch_with_an_incident_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    assert request.SCHEMA not in _refused(tmp_path, {"incident": name})


def _refused(tmp_path: Path, change: dict[str, object]) -> str:
    path = tmp_path / "stall.json"
    request.leave(GOOD, str(path))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=r".") as caught:
        request.read(str(path))
    assert type(caught.value) is ValueError, "no error of JSON"
    return str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 9000, "\xff"])
def test_a_damaged_one_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "stall.json"
    path.write_text(text, "latin-1")
    path.chmod(0o600)
    with pytest.raises(ValueError, match=r"."):
        request.read(str(path))


def test_one_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stall.json"
    request.leave(GOOD, str(path))
    path.chmod(0o622)
    with pytest.raises(UnsafeFileError, match=r"\b0622\b"):
        request.read(str(path))


def test_a_mark_of_drained_that_cannot_be_understood_drains_whatever_runs(tmp_path: Path) -> None:
    path = tmp_path / "drained.json"
    assert request.drained(str(path)) is None
    request.write_drained(Drained("a", "run"), str(path))
    assert request.drained(str(path)) == Drained("a", "run")
    for damaged in ("", "{}", "[1]", "{"):
        path.write_text(damaged)
        assert request.drained(str(path)) == Drained("", "")


@pytest.mark.parametrize(("text", "seconds"), [
    ("15min", 900.0), ("1h 30min", 5400.0), ("500ms", 0.5), ("1min 30.5s", 90.5), ("32min", 1920.0),
    ("infinity", None), ("", None), ("x", None), ("5", None), ("min", None)])
def test_systemds_time_spans(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds
