"""A child with limits: what is too much ends it, with the limit by name, and the next request has a new one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tunecheck.host.foreign import Bounds, Confined, DefectError, ExceededError, Limit


def answer(request: bytes) -> bytes:
    if request == b"cpu":
        while True:
            pass
    if request == b"regex":
        re.match(r"(a+)+$", "a" * 60 + "b")
    if request == b"memory":
        return bytes(sum(len(each) for each in [b"x" * 1000 * (1 + number % 2) for number in range(1_000_000)]))
    if request == b"sleep":
        time.sleep(60)
    if request == b"large":
        return bytes(2 << 20)
    if request == b"defect":
        return {}[request]  # type: ignore[no-any-return]
    if request == b"killed":
        os.kill(os.getpid(), 9)
    if request == b"slow":      # 0.1 s of work on a processor that others have
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.nice(10)
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass
    return request[::-1]


@pytest.fixture
def busy() -> Iterator[None]:
    """Four processes that want all of the first processor."""
    spin = ("import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nprint(flush=True)\n"
            f"while os.getppid() == {os.getpid()}: pass")
    spinners = [subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) for _ in range(4)]
    try:
        for each in spinners:
            assert each.stdout is not None
            each.stdout.readline()
        yield
    finally:
        for each in spinners:
            each.kill()
            each.communicate()


@pytest.fixture(scope="module")
def child() -> Iterator[Confined]:
    with Confined(answer, Bounds(cpu=1, wall=90.0, memory=64 << 20, answer=1 << 20)) as found:
        yield found


@pytest.mark.parametrize(("request_", "limits", "value"), [
    (b"cpu", {Limit.CPU}, " 1 s"), (b"regex", {Limit.CPU}, " 1 s"),
    (b"memory", {Limit.MEMORY, Limit.CRASHED}, " 64 MiB"), (b"large", {Limit.ANSWER}, " 1 MiB"),
    (b"killed", {Limit.KILLED}, r"\b9\b")])
def test_what_is_too_much_is_refused_and_the_next_is_answered(child: Confined, request_: bytes, limits: set[Limit],
                                                              value: str) -> None:
    with pytest.raises(ExceededError, match=value) as refused:
        child.ask(request_)
    assert refused.value.limit in limits
    assert child.ask(b"abc") == b"cba"


def test_a_defect_says_where_it_is(child: Confined) -> None:
    with pytest.raises(DefectError, match=r"\bKeyError\b.*/test_foreign\.py:\d+"):
        child.ask(b"defect")
    assert child.ask(b"x" * 300_000) == b"x" * 300_000


def test_another_thread_ends_it_at_once() -> None:
    with Confined(answer, Bounds(wall=0.2)) as found, pytest.raises(ExceededError, match=r" 0\.2 s") as refused:
        found.ask(b"sleep")
    assert refused.value.limit is Limit.WALL
    with Confined(answer, Bounds(wall=60.0)) as found:
        timer = threading.Timer(0.3, found.abandon)
        timer.start()
        begun = time.monotonic()
        with pytest.raises(ExceededError) as refused:
            found.ask(b"sleep")
        assert refused.value.limit is Limit.ENDING
        assert time.monotonic() - begun < 10
        with pytest.raises(ExceededError):
            found.ask(b"abc")


def test_waiting_for_a_processor_is_not_counted(busy: None) -> None:
    begun = time.monotonic()
    with Confined(answer, Bounds(wall=0.2)) as found:
        assert found.ask(b"slow") == b"wols"
    assert time.monotonic() - begun > 0.5


def test_a_busy_machine_is_named(busy: None) -> None:
    with Confined(answer, Bounds(wall=0.2, most=0.4)) as found:
        with pytest.raises(ExceededError, match=r"\b0\.[01] s\b.*\b0\.4 s\b") as refused:
            found.ask(b"slow")
        assert refused.value.limit is Limit.BUSY
        assert found.ask(b"abc") == b"cba"


def test_no_process_left_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from tunecheck.errors import ProbeError
    from tunecheck.host.reader import Reader

    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    for start in (Reader, Confined(answer).ask):
        with pytest.raises(ProbeError, match=r"Resource temporarily unavailable.*ulimit -u"):
            start()
