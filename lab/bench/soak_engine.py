"""An engine for the soak of the watch: its page /metrics speaks as vLLM, SGLang or llama.cpp, and it has a life.

    python3 -m lab.bench.soak_engine DIALECT PORT SEED FILE

It decodes, takes long prompts in which no counter moves, has queues, clients that give up, slow pages, counters that
begin anew, and idles. It is always well: whoever calls it stalled is wrong. What it does now is in FILE."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

__all__ = ["DIALECTS", "Life"]

#: Name of running, waiting, generated tokens, prompt tokens; labels of its replicas.
DIALECTS = {
    "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:generation_tokens_total",
             "vllm:prompt_tokens_total", ('{engine="0"}', '{engine="1"}')),
    "sglang": ("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:generation_tokens_total",
               "sglang:prompt_tokens_total", ("",)),
    "llama.cpp": ("llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:tokens_predicted_total",
                  "llamacpp:prompt_tokens_total", ("",)),
}
#: What it does -> how long, in seconds, at least and at most. The watch allows 120 s without a step, 30 s without a
#: page.
_PHASES = {"decode": (10, 60), "queue": (10, 40), "long-prompt": (20, 100), "gives-up": (20, 90), "idle": (20, 150),
           "slow-page": (10, 20), "reset": (5, 20)}
_LONGEST_PAGE = 1.9


class Life:
    """What the engine does. One thread asks for the time that passed; the rest is arithmetic."""

    def __init__(self, seed: int, replicas: int, told: Path) -> None:
        self._rng, self._told = random.Random(seed), told
        self.lock = threading.Lock()
        self.tokens, self.prompts = [0.0] * replicas, [0.0] * replicas
        self._at = time.monotonic()
        # What its acceptance makes of it: tokens, before anybody else asks.
        self.phase, self._until, self.questions = "decode", self._at + 15, 0

    def _next(self, now: float) -> None:
        before, phase = self.phase, self._rng.choice([each for each in _PHASES if each != self.phase])
        if before == "long-prompt":
            self.prompts = [each + self._rng.randrange(30_000, 128_000) for each in self.prompts]
            phase = "decode"        # a prompt ends with a token
        if phase == "reset":
            self.tokens, self.prompts = [0.0] * len(self.tokens), [0.0] * len(self.prompts)
        self.phase, self._until = phase, now + self._rng.uniform(*_PHASES[phase])
        self._told.write_text(phase)

    def pass_time(self) -> None:
        """Up to now."""
        now = time.monotonic()
        passed, self._at = now - self._at, now
        if self.phase in ("decode", "queue", "slow-page", "reset"):
            self.tokens = [each + 40 * passed for each in self.tokens]
        if now >= self._until:
            self._next(now)

    @property
    def running(self) -> int:
        busy = {"decode": 3, "queue": 8, "long-prompt": 1, "slow-page": 2, "reset": 1,
                "gives-up": int(time.monotonic()) // 7 % 2}.get(self.phase, 0)
        return busy + self.questions

    @property
    def waiting(self) -> int:
        return 12 if self.phase == "queue" else 0

    def page(self, dialect: str) -> str:
        running, waiting, tokens, prompts, labels = DIALECTS[dialect]
        lines = []
        for number, label in enumerate(labels):
            # A replica that nobody asks stands still while the other works.
            lines += [f"{running}{label} {self.running}", f"{waiting}{label} {self.waiting}",
                      f"{tokens}{label} {self.tokens[number]:.0f}", f"{prompts}{label} {self.prompts[number]:.0f}"]
        return "\n".join(lines) + "\n"


def _handler(life: Life, dialect: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with life.lock:
                life.pass_time()
                slow, text = life.phase == "slow-page", life.page(dialect)
            if self.path != "/metrics":
                text = json.dumps({"data": [{"id": "standin"}]})
            elif slow:
                time.sleep(random.uniform(0, _LONGEST_PAGE))
            self._send(text, "text/plain" if self.path == "/metrics" else "application/json")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with life.lock:
                life.questions += 1
            time.sleep(1.5)
            with life.lock:
                life.questions -= 1
                life.tokens[0] += 9
            chunk = {"choices": [{"delta": {"content": "The answer is Paris, in France."}, "finish_reason": "stop"}],
                     "usage": {"prompt_tokens": 5, "completion_tokens": 9}}
            self._send(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", "text/event-stream")

        def _send(self, text: str, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def main() -> None:
    """Serve until a signal ends it."""
    dialect, port, seed, told = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    life = Life(seed, len(DIALECTS[dialect][4]), told)
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(life, dialect))
    server.daemon_threads = True
    server.serve_forever(0.2)


if __name__ == "__main__":
    main()
