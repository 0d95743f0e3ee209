"""How many boxes are asked at a time: real sshd processes, real Ansible, a control node of one or two processors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.fleet.boxes import SSHD, Boxes
from tests.unit.fleet.snapshots import snapshot_of

from tunecheck.fleet.collect import Options, collect
from tunecheck.fleet.model import Answer

SLOW = 'echo asked >> "$BOX/asked"; exec sleep 600'


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
    """Two boxes at a time, eight at most."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})


def asked(boxes: Boxes, limit: str, **more: Any) -> list[Answer]:
    answers: list[Answer] = []
    options = Options(tools=(str(boxes.tool),), connect=30.0, ship=False, **more)
    collect(str(boxes.inventory()), limit, options, answers.append)
    return answers


def test_boxes_that_never_answer_do_not_hold_up_the_rest(boxes: Boxes) -> None:
    """Three of them come first, and only two are asked at a time. Where the operator says two, it stays at two."""
    limit = "hung00:hung01:hung02:quick*"
    hosts = [answer.host for answer in asked(boxes, limit, deadline=15.0)]
    assert set(hosts[:4]) == {"quick0", "quick1", "quick2", "quick3"} and len(hosts) == 7
    hosts = [answer.host for answer in asked(boxes, limit, deadline=6.0, forks=2)]
    assert set(hosts[:2]) == {"hung00", "hung01"} and len(hosts) == 7


def test_there_is_an_end_to_it(boxes: Boxes) -> None:
    for box in boxes.boxes.values():
        (box.folder / "asked").unlink(missing_ok=True)
    answers = asked(boxes, "hung*", deadline=300.0, overall=9.0)
    assert [answer.status for answer in answers] == ["timeout"] * 12
    assert 2 < sum((box.folder / "asked").exists() for box in boxes.boxes.values()) <= 8
