"""NCCL's RAS as it is asked: by whom it is not heard, what it answers late, and in another network namespace."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tunecheck.host import Unreadable
from tunecheck.host.nccl_ras import RasAnswer, RasQuestion, where
from tunecheck.model.absence import Absence

#: A process of a job: all of them listen at one port. Argument 2: what it does with a question.
SERVER = """
import socket, sys, time
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
door.bind(("127.0.0.1", int(sys.argv[1])))
door.listen(64)
print(door.getsockname()[1], flush=True)
how = sys.argv[2]
kept = []
while True:
    one, _ = door.accept()
    if how == "mute":
        kept.append(one)
        continue
    one.settimeout(5)
    lines = one.makefile("rb")
    try:
        assert lines.readline() == b"CLIENT PROTOCOL 2\\n"
        one.sendall(b"SERVER PROTOCOL 2\\n" if how != "odd" else b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
        assert lines.readline().startswith(b"TIMEOUT ")
        one.sendall(b"OK\\nNCCL ")
        assert lines.readline() == b"VERBOSE STATUS\\n"
        one.sendall(b"version 2.28.9")
        while how == "endless":
            one.sendall(b"x" * 65536)
        while how == "late":
            one.sendall(b".")
            time.sleep(0.05)
        one.sendall(b"\\nthe end\\0\\n")
    except (OSError, AssertionError):
        pass
    # Both: a socket stays open as long as its file is, and the end of an answer is the end of its connection.
    lines.close()
    one.close()
"""


@contextmanager
def job(*hows: str, before: tuple[str, ...] = ()) -> Iterator[tuple[int, list[subprocess.Popen[str]]]]:
    """Processes that listen at one port: the port, and they."""
    port, running = 0, list[subprocess.Popen[str]]()
    try:
        for how in hows:
            running.append(subprocess.Popen([*before, sys.executable, "-c", SERVER, str(port), how],
                                            stdout=subprocess.PIPE, text=True))
            assert running[-1].stdout is not None
            port = int(running[-1].stdout.readline())
        yield port, running
    finally:
        for each in running:
            each.kill()
            each.wait(timeout=30)
            if each.stdout is not None:
                each.stdout.close()


def _asked(port: int, pid: int = 0, deadline: float = 12.0) -> RasAnswer:
    return RasQuestion(pid or os.getpid(), "127.0.0.1", port, deadline).answer()


def test_the_whole_answer() -> None:
    with job("well") as (port, _):
        assert _asked(port) == RasAnswer("NCCL version 2.28.9\nthe end?\n", True)


def test_a_process_that_is_stopped_gets_some_of_the_connections_and_no_question() -> None:
    """All processes of a job listen at one port, and the kernel chooses."""
    with job("well", "well", "well") as (port, running):
        for each in running[1:]:
            each.send_signal(signal.SIGSTOP)
        for _ in range(10):
            assert _asked(port).whole


def test_a_process_that_is_stopped_has_room_for_no_more_connections() -> None:
    """Whoever asks again and again fills the queue of such a process, and then the kernel drops what comes there."""
    with job("well", "well") as (port, running):
        running[1].send_signal(signal.SIGSTOP)
        kept = list[socket.socket]()
        while len(kept) < 300:
            kept.append(socket.socket())
            kept[-1].setblocking(False)
            kept[-1].connect_ex(("127.0.0.1", port))
        for each in kept:
            each.close()
        for _ in range(4):
            assert _asked(port).whole
        running[0].send_signal(signal.SIGSTOP)
        with pytest.raises(Unreadable) as told:
            for _ in range(12):
                _asked(port, deadline=3.0)
        assert told.value.absence is Absence.TIMED_OUT


def test_nobody_answers_in_time() -> None:
    with job("mute", "mute") as (port, _):
        begun = time.monotonic()
        with pytest.raises(Unreadable) as told:
            _asked(port, deadline=1.5)
        assert told.value.absence is Absence.TIMED_OUT and time.monotonic() - begun < 20


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with pytest.raises(Unreadable) as told:
        _asked(port)
    assert told.value.absence is Absence.NOT_PRESENT


def test_somebody_else_listens() -> None:
    with job("odd") as (port, _), pytest.raises(Unreadable) as told:
        _asked(port, deadline=3.0)
    assert told.value.absence is Absence.TIMED_OUT


@pytest.mark.parametrize("how", ["endless", "late"])
def test_an_answer_that_does_not_end_is_cut_off(how: str) -> None:
    with job(how) as (port, _):
        found = _asked(port, deadline=3.0)
    assert not found.whole and found.text.startswith("NCCL version 2.28.9") and len(found.text) <= 1 << 20


def test_a_question_never_blocks_and_can_be_dropped() -> None:
    with job("late") as (port, _):
        begun = time.monotonic()
        question = RasQuestion(os.getpid(), "127.0.0.1", port)
        assert not question.over
        question.close()
        assert question.over and time.monotonic() - begun < 5


def test_a_process_that_has_ended_has_no_network() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait(timeout=30)
    with pytest.raises(Unreadable) as told:
        _asked(28028, ended.pid)
    assert told.value.absence is Absence.NOT_PRESENT


def test_the_engine_lives_in_a_network_namespace_of_its_own() -> None:
    if os.geteuid() != 0 or subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode:
        pytest.skip("network namespaces cannot be made here")
    with job("well", before=("unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$0" "$@"')) as (port, running):
        with contextlib.suppress(Unreadable):
            assert not _asked(port, deadline=2.0).text, "it is not in ours"
        assert _asked(port, running[0].pid).whole


class _Environ:
    def __init__(self, *entries: str) -> None:
        self._text = "\0".join(entries).encode()

    def read_bytes(self, _: str) -> bytes:
        return self._text


@pytest.mark.parametrize(("entries", "place"), [
    ((), ("127.0.0.1", 28028)), (("A=b", "NCCL_RAS_ADDR=localhost:5"), ("127.0.0.1", 5)),
    (("NCCL_RAS_ADDR=[::1]:28029",), ("::1", 28029)), (("NCCL_RAS_ADDR=0.0.0.0:9",), ("127.0.0.1", 9)),
    (("NCCL_RAS_ENABLE=1", "NCCL_RAS_ADDR=10.0.0.7:28028"), ("10.0.0.7", 28028))])
def test_where_it_listens(entries: tuple[str, ...], place: tuple[str, int]) -> None:
    host: Any = _Environ(*entries)
    assert where(host, 1) == place


@pytest.mark.parametrize("entry", ["NCCL_RAS_ENABLE=0", "NCCL_RAS_ADDR=ras.example.org:28028", "NCCL_RAS_ADDR=:",
                                   "NCCL_RAS_ADDR=127.0.0.1:99999", "NCCL_RAS_ADDR=127.0.0.1"])
def test_where_nobody_is_asked(entry: str) -> None:
    host: Any = _Environ(entry)
    with pytest.raises(Unreadable) as told:
        where(host, 1)
    assert told.value.absence is Absence.NOT_ASKED


def test_the_answer_of_another_job_at_the_same_port_is_none() -> None:
    """Two jobs in one network: a connection goes to any of them, and the trouble of one is not the other's."""
    with job("well", "well", "well") as (port, running):
        of_one = RasQuestion(os.getpid(), "127.0.0.1", port, ours=[running[1].pid])
        assert of_one.answer().whole
        with pytest.raises(Unreadable) as found:
            RasQuestion(os.getpid(), "127.0.0.1", port, ours=[os.getpid()]).answer()
        assert found.value.absence is Absence.NOT_PRESENT
