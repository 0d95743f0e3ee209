"""What `tunecheck watch` costs: CPU and memory of its processes beside a server whose page is as large as vLLM's.

    PYTHONPATH=checks python3 -m lab.bench.watch [--seconds 60] [--interval 1s]

Exit code 1 where a goal is missed: 1 % of one core, 60 MiB. With an NVIDIA driver its sampling is in it."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_CORE_SHARE, _MIB = 0.01, 60.0
#: vLLM's page: 60 KB, of which a few lines are read.
_PADDING = "".join(f'vllm:request_latency_seconds_bucket{{engine="0",le="{each}"}} {each}\n' for each in range(1200))


class _Handler(BaseHTTPRequestHandler):
    began = time.monotonic()

    def do_GET(self) -> None:
        tokens = (time.monotonic() - self.began) * 100
        body = (f"vllm:num_requests_running 1\nvllm:generation_tokens_total {tokens:.1f}\n{_PADDING}").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def _cpu(pids: list[int]) -> float:
    """Seconds of user and system time, those of reaped children too."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(pids: list[int]) -> float:
    """MiB, what several share counted once (Pss)."""
    kib = 0
    for pid in pids:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        kib += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return kib / 1024


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--interval", default="1s")
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    watching = subprocess.Popen([sys.executable, "-m", "tunecheck", "watch", "--interval", given.interval, "--url",
                                 f"http://127.0.0.1:{server.server_address[1]}"])
    try:
        time.sleep(5)       # its start is not what it costs
        before, began = _cpu(_family(watching.pid)), time.monotonic()
        time.sleep(given.seconds)
        family, passed = _family(watching.pid), time.monotonic() - began
        share, memory = (_cpu(family) - before) / passed, _memory(family)
    finally:
        watching.send_signal(signal.SIGTERM)
        watching.wait(timeout=30)
        server.shutdown()
    good = share <= _CORE_SHARE and memory <= _MIB
    print(f"{len(family)} processes over {passed:.0f} s: {share:.2%} of one core (goal {_CORE_SHARE:.0%}), "
          f"{memory:.0f} MiB (goal {_MIB:.0f} MiB): {'reached' if good else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
