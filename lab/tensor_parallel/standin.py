"""A stand-in for a tensor-parallel engine, with what systemd would do for it: one process a GPU, CUDA graphs, NCCL.

    python3 -m lab.tensor_parallel.standin FOLDER PORT

A step is what a decode of TP=N looks like: a graph of 24 matrix products with all-reduces, and one all-reduce outside
of the graph. /metrics on PORT has vLLM's names, /health answers whatever the GPUs do. FOLDER/manager is a socket that
takes a list of words, as systemctl does, or a fault; `systemctl.py` is the systemctl that asks it. Needs
PyTorch with NCCL, root, and GPUs that nothing else uses."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from lab.tensor_parallel import rank as tp_rank

__all__ = ["UNIT", "Board", "Manager"]

UNIT = "tunecheck-inference.service"
RECOVER = "tunecheck-recover.service"
_GROUP = Path("/sys/fs/cgroup") / UNIT
_REQUESTS = 8


class Board:
    """Shared memory: for each rank its steps, what it is told to do wrong, and its process."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 4096)

    def get(self, part: int, rank: int) -> int:
        return int(struct.unpack_from("q", self._memory, part * 512 + rank * 8)[0])

    def set(self, part: int, rank: int, value: int) -> None:
        struct.pack_into("q", self._memory, part * 512 + rank * 8, value)

    def clear(self) -> None:
        self._memory[:] = bytes(4096)


class _Pages(BaseHTTPRequestHandler):
    board: Board
    ranks: list[int]

    def do_GET(self) -> None:
        steps = self.board.get(tp_rank.STEPS, 0)
        text = "ok\n" if self.path == "/health" else (
            f'vllm:num_requests_running{{engine="0"}} {_REQUESTS}\nvllm:num_requests_waiting{{engine="0"}} 0\n'
            f'vllm:generation_tokens_total{{engine="0"}} {_REQUESTS * steps}\n'
            f'vllm:prompt_tokens_total{{engine="0"}} 100\n')
        body = text.encode()
        self.send_response(200 if steps else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _serve(board: Board, folder: Path, port: int, count: int) -> None:
    """The engine: its ranks below it. At SIGTERM it ends them, and itself."""
    os.setsid()
    with contextlib.suppress(OSError):
        (_GROUP / "cgroup.procs").write_text(str(os.getpid()))
    store = folder / f"store-{os.getpid()}"
    ranks = []
    for rank in range(count):
        pid = os.fork()
        if pid == 0:
            tp_rank.run(rank, count, str(store), board, folder)
        ranks.append(pid)
        board.set(tp_rank.PIDS, rank, pid)

    def end(*_: object) -> None:
        for pid in ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in ranks:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    server = HTTPServer(("127.0.0.1", port), type("Pages", (_Pages,), {"board": board}))
    server.timeout = 0.2
    while True:
        server.handle_request()
        for pid in ranks:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


class Manager:
    """Starts: proof of the GPUs, engine, acceptance. ``count``: GPUs."""

    def __init__(self, folder: Path, port: int, count: int) -> None:
        self.folder, self.port, self.count, self.board = folder, port, count, Board()
        self.active, self.runs, self.main, self.entered = "inactive", 0, 0, 0.0
        self._proof: subprocess.Popen[bytes] | None = None
        self._helpers: list[subprocess.Popen[bytes]] = []

    def turn(self) -> None:
        """What goes on by itself."""
        self._helpers = [each for each in self._helpers if each.poll() is None]
        if self._proof is not None and (code := self._proof.poll()) is not None:
            self._proof = None
            self.active = "failed" if code else self.active
            if code == 0:
                self.board.clear()
                self.main = os.fork()
                if self.main == 0:
                    _serve(self.board, self.folder, self.port, self.count)
        if self.main and not self._alive():
            self.main = 0
            self.active = "inactive" if self.active == "deactivating" else "failed"
        if self.active == "activating" and self.main and self._answers():
            self.active, self.entered = "active", time.monotonic()

    def _alive(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.main, os.WNOHANG)
        try:
            os.killpg(self.main, 0)
        except ProcessLookupError:
            return _runs(self.main)     # it has not called setsid yet
        return True

    def _answers(self) -> bool:
        """The acceptance: it has made steps, and makes more."""
        before = self.board.get(tp_rank.STEPS, 0)
        if before < 50:
            return False
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1) as page:
                return page.status == 200 and self.board.get(tp_rank.STEPS, 0) > before
        except OSError:
            return False

    def asked(self, words: list[str]) -> str:
        """An answer as systemctl prints it, or JSON for a word of our own."""
        verb, unit = words[0], words[-1]
        if verb == "start" and unit == RECOVER:
            self._helpers.append(subprocess.Popen([sys.executable, "-m", "lab.tensor_parallel.recover"]))
        elif verb == "start" and self.active in ("inactive", "failed"):
            self.active, self.runs = "activating", self.runs + 1
            self._proof = subprocess.Popen([sys.executable, "-m", "lab.tensor_parallel.recover", "--prove",
                                            str(self.folder / "proof.json")])
        elif verb == "stop" and self.main:
            self.active = "deactivating"
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.main, signal.SIGTERM)
        elif verb == "kill" and self.main:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.main, signal.SIGKILL)
        elif verb == "fault":
            self.board.set(tp_rank.FAULTS, int(words[1]), int(words[2]))
        elif verb == "ranks":
            return json.dumps({"steps": [self.board.get(tp_rank.STEPS, rank) for rank in range(self.count)],
                               "pids": [self.board.get(tp_rank.PIDS, rank) for rank in range(self.count)],
                               "active": self.active, "recovering": len(self._helpers)})
        elif verb == "show":
            return self._shown(unit)
        return ""

    def _shown(self, unit: str) -> str:
        if unit != UNIT:
            return "ActiveState=inactive\nLoadState=loaded\n"
        group = f"/{UNIT}" if (_GROUP / "cgroup.procs").exists() else ""
        return (f"ActiveState={self.active}\nSubState=x\nLoadState=loaded\nInvocationID=run{self.runs}\nJob=0\n"
                f"NRestarts=0\nMainPID={self.main}\nControlGroup={group}\nStatusText=\nResult=success\n"
                f"TimeoutStartUSec=2min\nActiveEnterTimestampMonotonic={int(self.entered * 1e6)}\n")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Serve the manager's socket until SIGTERM; then everything ends."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    count = tp_rank.gpus()
    with contextlib.suppress(OSError):
        _GROUP.mkdir(exist_ok=True)
    manager = Manager(folder, port, count)
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(folder / "manager"))
    door.listen(16)
    door.settimeout(0.05)

    def end(*_: object) -> None:
        if manager.main:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(manager.main, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        manager.turn()
        try:
            client, _ = door.accept()
        except TimeoutError:
            continue
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(1.0)
            client.sendall(manager.asked(json.loads(client.recv(65536))).encode())


if __name__ == "__main__":
    main()
