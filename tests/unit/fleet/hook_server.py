"""A real HTTP server on loopback, in place of whoever a webhook is of."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["HookServer", "serving"]


class HookServer(ThreadingHTTPServer):
    """Answers with the codes in ``answers``, the last one again and again; ``got``: (path, headers, body)."""

    daemon_threads = False
    block_on_close = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[int] = [200]
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.location = ""
        self.release = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook/T0KEN"


class _Handler(BaseHTTPRequestHandler):
    server: HookServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), json.loads(body)))
        code = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if code == 0:       # never answers
            self.server.release.wait(30)
            return
        self.send_response(code)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@contextmanager
def serving() -> Iterator[HookServer]:
    started = HookServer()
    thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield started
    started.release.set()
    started.shutdown()
    started.server_close()
    thread.join()
