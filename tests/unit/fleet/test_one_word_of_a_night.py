"""Of one host and one night all verbs say one word, and an audit that did not ask a host says nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck_fleet.cli.drift import drift
from tunecheck_fleet.cli.fleet import fleet
from tunecheck_fleet.cli.history import history
from tunecheck_fleet.model import Problem, Seen, Status
from tunecheck_fleet.store import open_store

_FAIL = Problem("gpu-ecc", "GPU0 0000:01:00.0", "fail", "2 errors", "none", code="remap-pending", observed="2")
_UNREAD = replace(_FAIL, outcome="unknown", text="NVML cannot be read", code="nvml-unread", observed="")


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "fleet.db"


def _night(place: Path, **hosts: tuple[Status, tuple[Problem, ...] | None]) -> None:
    with open_store(str(place), catalogue=1) as store:
        head = store.begin("/inventory", [(name, "g") for name in hosts])
        for name, (status, problems) in hosts.items():
            store.put(head.id, Seen(name, "g", status, document=b"{}", tunecheck="0.1.0", problems=problems or (),
                                    known={"gpu.count": 8}, untold=("gpu-ecc",) if problems is None else ())
                      if status == "ok" else Seen(name, "g", status, "no route to host"))
        store.finish(head.id)


def _said(command: Any, place: Path, *words: str) -> str:
    return CliRunner().invoke(command, [*words, "--store", str(place)]).stdout


@pytest.mark.parametrize(("nights", "word"), [
    (((), (_FAIL,)), "fail"), (((), (_FAIL,), None), "unknown"), (((), (_FAIL,), (_UNREAD,)), "unknown"),
    (((), (_FAIL,), None, (_FAIL,)), "fail")])
def test_all_verbs_say_one_word_of_a_host(place: Path, nights: tuple[tuple[Problem, ...] | None, ...],
                                          word: str) -> None:
    for told in nights:
        _night(place, h=("ok", told))
    for command, words in ((fleet, ()), (drift, ()), (drift, ("--host", "h")), (drift, ("--fact", "gpu-ecc"))):
        causes = json.loads(_said(command, place, *words, "--json"))["causes"]
        assert {each["outcome"] for each in causes if each["fact"] == "gpu-ecc"} == {word}, words
    rows = json.loads(_said(history, place, "--host", "h", "--json"))["rows"]
    assert {each["now"] for each in rows if each["fact"] == "gpu-ecc" and each["gone"] is None} == {word}
    text = _said(history, place, "--host", "h")
    line = f"check gpu-ecc GPU0 0000:01:00.0 ({_FAIL.code}): {word}"
    assert f"{line}\n" in text or f"{line};" in text


def test_only_audits_that_asked_a_host_count_for_it(place: Path) -> None:
    _night(place, h=("ok", ()), other=("ok", ()))
    _night(place, other=("ok", ()))
    _night(place, h=("unreachable", None), other=("ok", ()))
    text = _said(history, place, "--host", "h")
    assert "#1..#3" in text and "#2" not in text


def test_a_host_that_never_answered_was_heard_by_nobody(place: Path) -> None:
    _night(place, h=("unreachable", None), other=("ok", ()))
    text = _said(history, place, "--host", "h")
    assert "heard" not in text and "#1 (first asked " in text and "never answered yet" in text
