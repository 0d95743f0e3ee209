"""Answers are judged side by side: each by one judge alone, kept in the order in which they came, and whatever befalls
one child spoils one row."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
from tests.unit.fleet.snapshots import snapshot_of

from tunecheck_fleet.apart import Judge
from tunecheck_fleet.judge_workers import Judges
from tunecheck_fleet.model import Answer, Seen
from tunecheck_fleet.overlap import Beside


class _Slow:
    """A judge that lets every other answer wait until three are at work, and counts who is in it."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier, self.inside, self.most, self.closed = barrier, 0, 0, False

    def start(self) -> None:
        pass

    def seen(self, answer: Answer) -> Seen:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.barrier.wait(20)
        self.inside -= 1
        return Seen(answer.host, answer.group, "ok")

    def close(self) -> None:
        self.closed = True


def _slow(count: int) -> tuple[Judges, list[Any]]:
    barrier, made = threading.Barrier(count), []

    def make() -> Any:
        made.append(_Slow(barrier))
        return made[-1]

    return Judges(make, count), made


def test_all_judges_are_at_work_at_once_and_the_order_stays() -> None:
    judges, made = _slow(3)     # the barrier opens for three at once: with fewer at work this would not end
    kept: list[str] = []
    with judges, Beside(lambda future: kept.append(future.result().host), ahead=3) as beside:
        for number in range(12):
            beside.do(judges.begin(Answer(f"h{number:02d}", "g", "ok")))
    assert kept == [f"h{number:02d}" for number in range(12)]
    assert [judge.most for judge in made] == [1, 1, 1] and all(judge.closed for judge in made)


def test_what_is_done_before_may_need_a_judge_too() -> None:
    judges, _ = _slow(1)
    with judges:
        found = judges.begin(Answer("a", "g", "ok"), lambda answer: Answer(judges.seen(answer).host + "2", "g", "ok"))
        assert found.result(20).host == "a2"


def test_only_so_many_wait_and_nothing_is_kept_after_an_error() -> None:
    kept: list[int] = []

    def keep(number: int) -> None:
        if number == 3:
            raise OSError("disk is full")
        kept.append(number)

    given = 0
    with pytest.raises(OSError, match="disk is full"), Beside(keep, ahead=2) as beside:
        for given in range(100):
            beside.do(given)
    assert kept == [0, 1, 2] and given <= 3 + 2 + 1


def test_one_bad_snapshot_and_one_killed_child_spoil_one_row_each() -> None:
    good = snapshot_of("box")
    with Judges(lambda: Judge({}, None), 2) as judges:
        first = [judges.begin(Answer(f"a{number}", "g", "ok", content)) for number, content in
                 enumerate((good, b"{", good))]
        assert [each.result().status for each in first] == ["ok", "garbled", "ok"]
        judge = judges._all[0]
        worker = judge._child._worker
        assert worker is not None
        os.kill(worker[0].pid, signal.SIGKILL)
        after = [judges.begin(Answer(f"b{number}", "g", "ok", good)).result() for number in range(4)]
    spoiled = [each for each in after if each.status == "garbled"]
    assert len(spoiled) == 1 and "signal 9" in spoiled[0].reason
    assert {each.status for each in after if each not in spoiled} == {"ok"}
