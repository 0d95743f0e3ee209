"""What a server may answer to a canary: nothing is waited for, no key goes on, and only a dead engine is a dead one."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.unit.watch.test_canary import ACCEPTED, _ask

from tunecheck.watch.canary import Canary
from tunecheck.watch.model import Answer

EVENT = 'data: {"choices": [{"delta": {"content": "%s"}, "finish_reason": %s}]}\n\n'
STREAM = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
USAGE = 'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'


@contextmanager
def _server(head: str, again: str = "", every: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """Answers with the head, then with ``again`` until the client goes away."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        def one(client: socket.socket) -> None:
            with client:
                try:
                    asked.append(client.recv(1 << 16))
                    client.sendall(head.encode())
                    while again:
                        client.sendall(again.encode())
                        time.sleep(every)
                except OSError:
                    return

        def serve() -> None:
            while True:
                try:
                    client, _ = door.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(client,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}", asked
        door.shutdown(socket.SHUT_RDWR)


def _says(text: str) -> str:
    return STREAM + EVENT % (text, '"stop"') + USAGE


@pytest.mark.parametrize("text", ["Paris", " paris.\\n", "PARIS", "It is  **Paris**!", "\\tParis\\r\\n"])
def test_a_right_answer_in_other_words_is_right(text: str) -> None:
    with _server(_says(text)) as (url, _):
        assert _ask(url) is Answer.RIGHT


@pytest.mark.parametrize("text", ["", "Parisian", "Rome", "\\u0000", "P a r i s"])
def test_another_answer_is_wrong(text: str) -> None:
    with _server(_says(text)) as (url, _):
        assert _ask(url) is Answer.WRONG


@pytest.mark.parametrize(("again", "every"), [(EVENT % ("a", "null"), 0.05), (": ping\n\n", 0.05), ("\n", 0.05)])
def test_a_stream_that_never_ends_is_late(again: str, every: float) -> None:
    with _server(STREAM, again, every) as (url, _):
        begun = time.monotonic()
        assert _ask(url, seconds=1.5) is Answer.LATE
        assert time.monotonic() - begun < 20


def test_a_body_without_an_end_is_no_right_answer() -> None:
    with _server(STREAM, "x" * 65536) as (url, _):
        begun = time.monotonic()
        assert _ask(url, seconds=5.0) in (Answer.LATE, Answer.FAILED, Answer.REFUSED)
        assert time.monotonic() - begun < 30


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_does_not_follow_a_redirect(status: int) -> None:
    with _server(_says("Paris")) as (other, asked), _server(
            f"HTTP/1.1 {status} X\r\nLocation: {other}/v1/chat/completions\r\nContent-Length: 0\r\n\r\n") as (url, _):
        assert _ask(url, key="secret-word") is Answer.REFUSED
        assert asked == []


@pytest.mark.parametrize(("head", "answer"), [
    ("HTTP/1.1 429 X\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n", Answer.REFUSED),
    ("HTTP/1.1 503 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", Answer.REFUSED),
    ("HTTP/1.1 503 X\r\nRetry-After: nonsense\r\nContent-Length: 0\r\n\r\n", Answer.REFUSED),
    ("HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n", Answer.KEY),
    ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", Answer.FAILED),
    ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", Answer.FAILED),
    ("SSH-2.0-OpenSSH_9.6\r\n", Answer.FAILED), ("", Answer.FAILED),
    ("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nshort", Answer.FAILED)])
def test_an_answer_that_is_none(head: str, answer: Answer) -> None:
    with _server(head) as (url, _):
        assert _ask(url, seconds=4.0, key="secret-word") is answer


def test_a_question_that_is_not_read_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that asks hangs before it reads: the largest order that an acceptance allows fits its pipe."""
    from dataclasses import replace

    from tunecheck.serving.accepted import MOST_TEXT, Question, parsed
    from tunecheck.watch import canary

    text = "\u00e9" * (MOST_TEXT // 2)
    found = replace(ACCEPTED, model=text, question=Question(text, text, 4))
    assert parsed(json.dumps({
        "schema": "tunecheck/accepted/1", "boot_id": "", "invocation": "", "recipe": "", "image": "", "gpus": [],
        "tok_s": 1.0, "prompt_tok_s": None, "model": text, "api": "chat",
        "question": {"prompt": text, "expect": text, "tokens": 4}}).encode()).question == found.question
    real = canary.subprocess.Popen
    monkeypatch.setattr(canary.subprocess, "Popen", lambda argv, **more: real(["sleep", "60"], **more))
    asks = Canary("http://127.0.0.1:1", "k" * 4096, None, 20.0)
    begun = time.monotonic()
    asks.ask(found)
    assert asks.answer() is None and time.monotonic() - begun < 5
    asks.close()
