"""A server with a page /metrics that does what a test says, and the watch as a process beside it."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tunecheck.watch.model import Code
from tunecheck.watch.tell import MEANING

ROOT = Path(__file__).resolve().parents[3]


def tells(line: str, code: Code) -> bool:
    """Whether a line tells of this code, in whatever words it has."""
    return re.search(".*".join(map(re.escape, re.split(r"\{[^}]*\}", MEANING[code]))), line) is not None


def until_state(pid: int, letter: str) -> None:
    """Wait until /proc shows this state of a process."""
    end = time.monotonic() + 30
    while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != letter:
        assert time.monotonic() < end, f"{pid} is not {letter}"
        time.sleep(0.02)


class Served:
    """``running`` requests, ``step`` tokens a second; ``delay`` seconds before an answer; ``page`` in place of one."""

    def __init__(self) -> None:
        self.running, self.step, self.delay, self.status = 1, 100.0, 0.0, 200
        self.page: str | None = None
        self.keys: list[str] = []
        self._tokens, self._at = 0.0, time.monotonic()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.keys.append(self.headers.get("Authorization", ""))
                time.sleep(outer.delay)
                body = (outer.text() if outer.page is None else outer.page).encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def text(self) -> str:
        now = time.monotonic()
        self._tokens, self._at = self._tokens + self.step * (now - self._at), now
        return (f"llamacpp:requests_processing {self.running}\nllamacpp:requests_deferred 0\n"
                f"llamacpp:tokens_predicted_total {self._tokens:.3f}\nllamacpp:prompt_tokens_total 5\n")

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Watching:
    """`tunecheck watch`, line by line."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tunecheck", "watch", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "checks"), "PYTHONUNBUFFERED": "1",
                            **(environment or {})})
        self.lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def until(self, word: str, seconds: float = 60.0) -> str:
        """The first line from now on that holds the word."""
        end = time.monotonic() + seconds
        while True:
            line = self.lines.get(timeout=max(0.1, end - time.monotonic()))
            if word in line:
                return line

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit code; it and its pipes are gone then."""
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.wait(timeout=30)
            self._reader.join(30)
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()


@contextmanager
def served() -> Iterator[Served]:
    """The server, for as long as it is needed."""
    server = Served()
    try:
        yield server
    finally:
        server.close()
