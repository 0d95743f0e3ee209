"""How many boxes are asked at a time: the rule, and real sshd processes with real Ansible on a control node of one
processor."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ansible_runner
import pytest
from ansible.plugins.loader import callback_loader
from tests.ssh_server import SSHD
from tests.unit.fleet.boxes import Boxes
from tests.unit.fleet.snapshots import snapshot_of

from tunecheck_fleet.collect import Options, collect
from tunecheck_fleet.collect.project import HERE
from tunecheck_fleet.model import Answer

#: Answers only when the test lets it go.
SLOW = 'echo asked >> "$BOX/asked"; until [ -e "$BOX/let_go" ]; do sleep 0.2; done'


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boxes]:
    if SSHD is None:
        pytest.skip("no sshd; apt-get install openssh-server")
    made = Boxes(tmp_path_factory.mktemp("boxes"), first=500)
    try:
        for number in range(12):
            made.add(f"hung{number:02}", snapshot_of("hung"), SLOW)
        for number in range(4):
            made.add(f"quick{number}", snapshot_of("quick"))
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two boxes at a time, five at most."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})


def asked(boxes: Boxes, limit: str, let_go_after: int | None = None, **more: Any) -> list[Answer]:
    """The answers, in their order. After so many of them the slow boxes answer, too: what comes first is known then,
    and nothing waits for a deadline."""
    for box in boxes.boxes.values():
        for name in ("asked", "let_go"):
            (box.folder / name).unlink(missing_ok=True)
    answers: list[Answer] = []

    def sink(answer: Answer) -> None:
        answers.append(answer)
        if len(answers) == let_go_after:
            for box in boxes.boxes.values():
                (box.folder / "let_go").touch()

    options = Options(tools=(str(boxes.tool),), connect=30.0, ship=False, **more)
    collect(str(boxes.inventory()), limit, options, sink)
    return answers


def test_boxes_that_never_answer_do_not_hold_up_the_rest(boxes: Boxes) -> None:
    """Three of them come first, and two are asked at a time. Where the operator says two, it stays at two."""
    limit = "hung00:hung01:hung02:quick*"
    hosts = [answer.host for answer in asked(boxes, limit, let_go_after=4, deadline=90.0)]
    assert set(hosts[:4]) == {"quick0", "quick1", "quick2", "quick3"} and len(hosts) == 7
    answers = asked(boxes, limit, let_go_after=2, deadline=6.0, forks=2)
    assert {answer.host: answer.status for answer in answers[:2]} == {"hung00": "timeout", "hung01": "timeout"}
    assert len({answer.host for answer in answers}) == 7


def test_there_is_an_end_to_it(boxes: Boxes) -> None:
    answers = asked(boxes, "hung*", deadline=300.0, overall=9.0)
    assert [answer.status for answer in answers] == ["timeout"] * 12
    assert 2 < sum((box.folder / "asked").exists() for box in boxes.boxes.values()) <= 5


# ---- The rule ---------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def callback() -> ModuleType:
    callback_loader.add_directory(str(Path(ansible_runner.__file__).parent / "display_callback/callback"))
    spec = importlib.util.spec_from_file_location("tunecheck_answers", HERE / "callbacks/tunecheck_answers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_box_that_waits_takes_nobodys_turn(callback: ModuleType) -> None:
    turns = callback.Turns(3, 6, 110.0)
    for number in range(4):
        turns.began(f"box{number}", 100.0 + number)
    assert [turns.now(now) for now in (100.0, 100.9, 101.5, 102.5, 104.5)] == [3, 3, 4, 5, 7]
    turns.ended("box0")
    turns.ended("never begun")
    assert turns.now(104.5) == 6
    for number in range(20):
        turns.began(f"more{number}", 104.0)
    assert turns.now(106.0) == 3 + 6, "the memory has an end"
    assert turns.now(300.0) == 3, "workers that were killed from outside are no boxes that wait"


def test_idle_processors_ask_more_boxes_and_busy_ones_fewer(callback: ModuleType) -> None:
    turns = callback.Turns(3, 6, 110.0)
    for _ in range(100):
        turns.looked(0.35)
    assert turns.now(0.0) == 3, "boxes that answer at once, with the gaps between them"
    turns.looked(1.0)
    assert turns.now(0.0) == 3, "one look is not believed"
    for _ in range(40):
        turns.looked(0.9)
    assert turns.now(0.0) == 9
    for _ in range(40):
        turns.looked(0.35)
    assert turns.now(0.0) == 9, "what keeps them neither busy nor idle stays"
    for _ in range(40):
        turns.looked(0.05)
    assert turns.now(0.0) == 3


def test_every_way_in_which_a_box_can_end_ends_its_turn(callback: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ("v2_runner_on_ok", "v2_runner_on_failed", "v2_runner_on_unreachable", "v2_runner_on_skipped")
    made = callback.CallbackModule
    for way in ways:
        monkeypatch.setattr(made.__mro__[1], way, lambda *_: None)
    told = object.__new__(made)
    told._host_start, told._turns = {}, callback.Turns(2, 6, 1e12)
    for way in ways:
        host = SimpleNamespace(get_name=lambda name=way: name)
        told.v2_runner_on_start(host, None)
        assert told._turns.now(1e11) == 3
        getattr(told, way)(SimpleNamespace(host=host))
        assert told._turns.now(1e11) == 2, way


def test_the_task_is_told(callback: ModuleType) -> None:
    told: list[int] = []

    class EnoughError(Exception):
        pass

    class Task:
        def __setattr__(self, name: str, value: int) -> None:
            assert name == "throttle"
            told.append(value)
            if len(told) == 2:
                raise EnoughError

    turns = callback.Turns(2, 6, 1e12)
    turns.began("box", time.monotonic() - 60)
    with pytest.raises(EnoughError):
        callback.CallbackModule._watch(Task(), turns)
    assert told == [3, 3]


def test_processors_are_looked_at(callback: ModuleType) -> None:
    idle, total = callback._processors()
    assert 0 < idle < total
