"""Servers that are not OpenAI-compatible, or answer without a model behind: said so, and no word of wrong kernels."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tunecheck.errors import ProbeError
from tunecheck.recipes.frozen import Canary
from tunecheck.serving.client import Client, NoServer
from tunecheck.serving.plan import Plan
from tunecheck.serving.session import Session, wait_ready
from tunecheck.serving.verdict import Want, judge

pytest.importorskip("httpx")
_MODELS = json.dumps({"data": [{"id": "m"}]})
_EVENT = {"choices": [{"delta": {"content": "hello"}, "finish_reason": None}],
          "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
_DONE = {**_EVENT, "choices": [{"delta": {}, "finish_reason": "stop"}]}
_PLAN = Plan("full", 1, 100, 1, (), (2,), (Canary("17 + 25?", "42"), Canary("The capital of Japan?", "Tokyo")))


def _stream(*events: object) -> tuple[int, str, str]:
    return 200, "text/event-stream", "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """A server with one answer for every GET and one for every POST: status, media type, body."""
    made: list[ThreadingHTTPServer] = []

    def start(listed: tuple[int, str, str], answer: tuple[int, str, str] = (404, "text/html", "")) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(*(listed if self.path == "/v1/models" else (404, "text/html", "")))

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self._say(*answer)

            def _say(self, status: int, media: str, body: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        made.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=made[-1].serve_forever, args=(0.05,), daemon=True).start()
        return f"http://127.0.0.1:{made[-1].server_address[1]}"

    yield start
    for each in made:
        each.shutdown()
        each.server_close()


def _refused(base: str, seconds: float = 0) -> tuple[str, Enum | None]:
    client = Client(base)
    with pytest.raises(ProbeError) as refused:
        wait_ready(client, seconds)
    client.close()
    return str(refused.value), refused.value.flaw


@pytest.mark.parametrize(("answer", "why", "names", "wait"), [
    ((200, "text/html", "<html>It works!</html>"), NoServer.NO_LIST, "--base", False),
    ((200, "application/json", '["m"]'), NoServer.NO_LIST, "--base", False),
    ((200, "application/json", '{"data": null}'), NoServer.NO_LIST, "--base", False),
    ((404, "text/html", "Not Found"), NoServer.ELSEWHERE, "HTTP 404;.*--base", False),
    ((200, "application/json", '{"data": [{}]}'), NoServer.NO_MODEL, "", True),
    ((503, "application/json", "{}"), NoServer.NOT_READY, "HTTP 503;", True),
])
def test_what_lists_no_model(serve: Callable[..., str], answer: tuple[int, str, str], why: NoServer, names: str,
                             wait: bool) -> None:
    base = serve(answer)
    said, code = _refused(base)
    assert code is why and said.startswith(f"{base}/v1/models: ") and re.search(names, said)
    assert ("--wait-ready 20m" in said) == wait, "only where waiting can help"
    late, code = _refused(base, 0.01)
    assert code is why and re.search(f" 0 s: {base}/v1/models: .*{names}", late) and "--wait-ready" not in late


def test_a_name_that_nobody_knows() -> None:
    said, code = _refused("http://no-such-host.invalid:30000")
    assert code is NoServer.ELSEWHERE and "--base" in said and "--wait-ready" not in said


def _findings(base: str) -> dict[str, str]:
    client = Client(base)
    seen = Session(client, _PLAN).measure()
    client.close()
    return {each.id: f"{each.outcome} {each.code}: {each.observed}" for each in reversed(judge(seen, Want()))} | {
        "requests": str(len(seen.runs)), "broken": seen.runs[0].broken}


@pytest.mark.parametrize(("answer", "broken", "named"), [
    ((200, "application/json; charset=utf-8", json.dumps({"choices": [{"message": {"content": "42"}}]})), "stream",
     "application/json"),
    ((200, "text/html", "<html>It works!</html>"), "stream", "text/html"),
    (_stream(_EVENT), "", "finish_reason"), (_stream(), "", "finish_reason"),
], ids=["json", "html", "unfinished", "empty"])
def test_the_first_request_ends_it(serve: Callable[..., str], answer: tuple[int, str, str], broken: str,
                                   named: str) -> None:
    said = _findings(serve((200, "application/json", _MODELS), answer))
    assert said["answers"].startswith("fail not-answered: ") and named in said["answers"]
    assert (said["broken"], said["requests"]) == (broken, "1") and "canary" not in said and "output" not in said


def test_events_under_another_name_are_a_stream(serve: Callable[..., str]) -> None:
    _, _, body = _stream(_EVENT, _DONE)
    said = _findings(serve((200, "application/json", _MODELS), (200, "text/plain", body)))
    assert said["answers"].startswith("pass")


def test_one_answer_to_every_question_is_no_pass(serve: Callable[..., str]) -> None:
    said = _findings(serve((200, "application/json", _MODELS), _stream(_EVENT, _DONE)))
    assert said["output"] == "fail one-answer-to-all: hello"
    assert said["canary"].startswith("fail")
