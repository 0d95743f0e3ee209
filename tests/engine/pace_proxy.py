"""A proxy that delivers a real engine's answer at a rate of its own, or does to the stream what broken servers do.

The engine's speed on a loaded machine is no oracle; the proxy's clock is. Every answer is fetched whole first."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Manner", "Proxy"]


@dataclass
class Manner:
    """``rate``: tokens per second, counted by the engine's usage, 0: as fast as it goes; ``first``: seconds to the
    first token; ``coalesce``: chunks put into one; ``burst``: everything at the end; ``usage``, ``text``: whether the
    stream has them; ``nonce``: leave it in the prompt; ``refuse``: a key of the request to answer 422 to; ``stall``:
    200 and pings, never an answer; ``cut``: end after so many events; ``error``: put an error into the stream."""

    rate: float = 0.0
    first: float = 0.02
    coalesce: int = 1
    burst: bool = False
    usage: bool = True
    text: bool = True
    nonce: bool = True
    refuse: str = ""
    stall: bool = False
    cut: int = 0
    error: str = ""


@dataclass
class Proxy:
    """Serves until ``close``. ``sent``: of every answer the tokens, and the seconds from the request and from
    the first text to the last."""

    upstream: str
    manner: Manner = field(default_factory=Manner)
    sent: list[tuple[int, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Proxy

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _ask(self, method: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        place = urllib.parse.urlsplit(self.owner.upstream)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=300)
        try:
            connection.request(method, self.path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type", "application/json"), answer.read()
        finally:
            connection.close()

    def _whole(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._whole(*self._ask("GET"))

    def do_POST(self) -> None:
        begun, manner = time.monotonic(), self.owner.manner
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if manner.refuse and manner.refuse in json.loads(body):
            self._whole(422, "application/json", b'{"detail": "Unexpected field"}')
            return
        if not self.path.endswith("/completions"):
            self._whole(*self._ask("POST", body))
            return
        if not manner.nonce:
            body = re.sub(rb"\[[0-9a-f]{16}\] ", b"", body)
        self.close_connection = True
        if manner.stall:
            self._head()
            self._stall()
            return
        status, kind, answer = self._ask("POST", body)
        if status != 200:
            self._whole(status, kind, answer)
            return
        events = [json.loads(line[5:]) for line in answer.splitlines() if line.startswith(b"data: {")]
        self._head()
        self._deliver([each for each in events if _said(each)], [each for each in events if not _said(each)], begun)

    def _head(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def _stall(self) -> None:
        try:
            while True:
                self.wfile.write(b": ping\n\n")
                time.sleep(0.1)
        except OSError:
            return

    def _deliver(self, told: list[dict[str, Any]], others: list[dict[str, Any]], begun: float) -> None:
        manner = self.owner.manner
        usage = next((each["usage"] for each in others if each.get("usage")), {})
        tokens = usage.get("completion_tokens", len(told))
        opened, closed = 0.0, begun
        start, each = begun + manner.first, tokens / len(told) if told else 0.0
        for number in range(0, len(told), manner.coalesce):
            group = told[number : number + manner.coalesce]
            done = len(told) if manner.burst else number + len(group)
            self._wait(start + done * each / manner.rate if manner.rate else 0.0)
            if manner.cut and number >= manner.cut:
                return
            if manner.error and number:
                self._send({"error": {"message": manner.error, "code": 500}})
                return
            if manner.text:
                self._send(_joined(group))
                closed = time.monotonic()
                opened = opened or closed
        self.owner.sent.append((tokens, closed - begun, closed - opened))
        for event in others:
            if manner.usage or not event.get("usage"):
                self._send(event)
        self.wfile.write(b"data: [DONE]\n\n")

    def _wait(self, due: float) -> None:
        left = due - time.monotonic()
        if left > 0:
            time.sleep(left)

    def _send(self, event: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.flush()


def _said(event: dict[str, Any]) -> str:
    choice = (event.get("choices") or [{}])[0]
    return str(choice.get("delta", {}).get("content") or choice.get("text") or "")


def _joined(group: list[dict[str, Any]]) -> dict[str, Any]:
    """One event with the text of several; logprobs are kept of the first alone when there is only one."""
    if len(group) == 1:
        return group[0]
    choice = {**group[0]["choices"][0], "logprobs": None}
    text = "".join(_said(each) for each in group)
    told = {"delta": {"content": text}} if "delta" in choice else {"text": text}
    return {**group[0], "choices": [{**choice, **told}]}
