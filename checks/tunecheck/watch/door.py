"""/ready and /metrics of the watch, for a load balancer and for Prometheus.

It answers between two looks, in the watch's own thread: a process that forks (host/nvml_samples.py) has no threads, and
a watch that hangs does not call anything ready. A client has half a second for its request."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from .loop import Clock
from .model import State

__all__ = ["READY", "Door"]

#: States in which requests may be sent here.
READY = (State.SERVING, State.IDLE, State.DEGRADED)
_CLIENT = 0.5
_MOST_HEAD = 4096


class _Handler(BaseHTTPRequestHandler):
    timeout = _CLIENT
    server: _Server

    def do_GET(self) -> None:
        door, path = self.server.door, self.path.partition("?")[0]
        if path == "/ready":
            self._reply(200 if door.ready else 503, f"{'ready' if door.ready else 'not ready'}: {door.why}\n")
        elif path == "/metrics":
            self._reply(200, door.metrics, "text/plain; version=0.0.4; charset=utf-8")
        else:
            self._reply(404, "expected /ready or /metrics\n")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _reply(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response_only(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Connection", "close")):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """A probe each second is no news."""


class _Server(HTTPServer):
    door: Door

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # Without the look-up of our own name that HTTPServer makes: nobody bounds it.
        self.allow_reuse_address = True
        super(HTTPServer, self).server_bind()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def get_request(self) -> tuple[socket.socket, Any]:
        """Only a client whose whole request is here already: one that sends a byte now and then holds nobody up."""
        client, address = super().get_request()
        client.settimeout(_CLIENT)
        until = time.monotonic() + _CLIENT
        try:
            while b"\r\n\r\n" not in (head := client.recv(_MOST_HEAD, socket.MSG_PEEK)):
                if not head or len(head) >= _MOST_HEAD or time.monotonic() >= until:
                    raise OSError("no whole request in time")
                time.sleep(0.01)
        except OSError:
            client.close()
            raise
        return client, address

    def handle_error(self, *_: Any) -> None:
        """A client that went away is no news."""


class Door(Clock):
    """The clock of the watch: while it waits, it answers. OSError where the address cannot be had."""

    def __init__(self, host: str, port: int) -> None:
        self.ready, self.why, self.metrics = False, "starting", ""
        self._server = _Server((host, port))
        self._server.door = self

    @property
    def port(self) -> int:
        """The one that was given, or that 0 became."""
        return self._server.server_port

    def wait(self, seconds: float) -> None:
        """Answer for so long, at most half a second longer."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._handle(left)

    def answer(self) -> None:
        """Answer who waits by now, before something that takes longer: for half a second, at most another one
        longer."""
        until = time.monotonic() + _CLIENT
        while time.monotonic() < until and select.select([self._server], [], [], 0)[0]:
            self._handle(0)

    def _handle(self, seconds: float) -> None:
        self._server.timeout = seconds
        with contextlib.suppress(OSError):
            self._server.handle_request()

    def tell(self, state: State, drained: bool, metrics: str) -> None:
        """What is answered from now on."""
        self.ready = state in READY and not drained
        self.why, self.metrics = "drained" if drained else state.value, metrics

    def close(self) -> None:
        """Answer no more."""
        self._server.server_close()
