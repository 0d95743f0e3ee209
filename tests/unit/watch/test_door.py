"""/ready and /metrics: what they answer, and clients that would hold the watch up."""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tunecheck.watch.door import READY, Door
from tunecheck.watch.model import State


@pytest.fixture
def door() -> Iterator[Door]:
    """Answers all the time, as between two looks."""
    found, end = Door("127.0.0.1", 0), threading.Event()

    def serve() -> None:
        while not end.is_set():
            found.wait(0.05)

    thread = threading.Thread(target=serve)
    thread.start()
    yield found
    end.set()
    thread.join()
    found.close()


def asked(door: Door, path: str, method: str = "GET") -> tuple[int, str]:
    call = urllib.request.Request(f"http://127.0.0.1:{door.port}{path}", method=method)
    try:
        with urllib.request.urlopen(call, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def told(door: Door) -> tuple[int, str]:
    """What /ready answers, and why: the word behind the colon."""
    status, text = asked(door, "/ready")
    return status, text.removesuffix("\n").rpartition(": ")[2]


def test_before_the_first_look_nothing_is_ready(door: Door) -> None:
    assert told(door) == (503, "starting")


@pytest.mark.parametrize("state", list(State))
def test_only_what_serves_is_ready(door: Door, state: State) -> None:
    door.tell(state, False, "x 1\n")
    assert asked(door, "/ready?check=1")[0] == (200 if state in READY else 503)
    assert asked(door, "/metrics") == (200, "x 1\n")
    door.tell(state, True, "")
    assert told(door) == (503, "drained")


def test_head_and_unknown_pages(door: Door) -> None:
    door.tell(State.IDLE, False, "")
    assert asked(door, "/ready", "HEAD") == (200, "")
    assert asked(door, "/../etc/passwd")[0] == 404
    assert asked(door, "/ready", "POST")[0] == 501


@pytest.mark.parametrize("said", [b"", b"GET /ready HTTP/1.1\r\n", b"x" * 5000, b"\r\n\r\n", b"\0\xff\r\n\r\n"])
def test_a_client_that_says_too_little_or_nonsense_holds_nobody_up(door: Door, said: bytes) -> None:
    door.tell(State.IDLE, False, "")
    clients = [socket.create_connection(("127.0.0.1", door.port), timeout=5) for _ in range(3)]
    for each in clients:
        each.sendall(said)
    begun = time.monotonic()
    assert told(door) == (200, "idle")
    # Half a second each at most; the bound here is for a busy machine.
    assert time.monotonic() - begun < 8
    for each in clients:
        each.close()


def test_a_client_that_goes_away_ends_nothing(door: Door) -> None:
    for _ in range(5):
        client = socket.create_connection(("127.0.0.1", door.port))
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        client.close()
    assert asked(door, "/ready")[0] == 503


def test_who_waits_is_answered_at_once_and_nobody_is_waited_for() -> None:
    """Before a stall is handed on: systemd may take seconds."""
    door = Door("127.0.0.1", 0)
    door.tell(State.STALLED, False, "")
    clients = [socket.create_connection(("127.0.0.1", door.port), timeout=10) for _ in range(3)]
    for each in clients:
        each.sendall(b"GET /ready HTTP/1.0\r\n\r\n")
    door.answer()
    assert all(b" 503 " in each.recv(100) for each in clients)
    begun = time.monotonic()
    door.answer()
    assert time.monotonic() - begun < 0.4
    for each in clients:
        each.close()
    door.close()


def test_an_address_that_is_taken_is_an_error(door: Door) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with pytest.raises(OSError, match=re.escape(os.strerror(errno.EADDRINUSE))):
        Door("127.0.0.1", taken.getsockname()[1])
    taken.close()
