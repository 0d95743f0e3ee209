"""What does the client of `tunecheck accept` cost? A proxy paces a real engine's answers and notes what it sent.

    .venv/bin/python -m lab.bench.accept [--rate 5000] [--rounds 5]

Both sides in one run: the rate that the client measured against the one that the proxy delivered, by the same count of
tokens. Exit code 1 when the median differs by more than 1 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

from tests.engine import models
from tests.engine.pace_proxy import Manner, Proxy
from tests.unit.serving.engines import engine

from lab.bench.lines import Line, shown, within
from tunecheck.serving.client import Client
from tunecheck.serving.prompts import TIMED, prompt

TOKENS, GOAL = 4000, 0.01


def measure(rate: float, rounds: int) -> list[Line]:
    """Per round both rates, then the judged medians. After ``first`` the proxy has the whole answer in hand."""
    walls, spans, spent = [], [], []
    with engine(models.GOOD) as found:
        proxy = Proxy(found.base, Manner(rate=rate, first=4.0))
        for _ in range(rounds):
            argv = [sys.executable, "-m", "lab.bench.accept", "--client", proxy.base]
            run = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
            tokens, wall, span = proxy.sent[-1]
            if run["error"] or run["tokens"] != tokens:
                raise SystemExit(f"bench_accept: the run failed: {run['error'] or run['tokens']}")
            spent.append(run["cpu"])
            walls.append((tokens / run["last"], tokens / wall))
            spans.append((tokens / (run["last"] - run["first"]), tokens / span))
        proxy.close()
    note = f"{statistics.median(spent):.2f} CPU seconds of the client a round"
    return [
        *(within("client", f"round {number + 1}, first to last byte", *pair, "tok/s", None)
          for number, pair in enumerate(spans)),
        _judged("request to last byte", walls), _judged("first to last byte", spans, note),
    ]


def ask(base: str) -> None:
    """The client alone, in a process of its own: what it measured, as JSON."""
    client = Client(base, "tiny")
    begun = time.process_time()
    run = client.ask("timed", prompt(TIMED), TOKENS, ignore_eos=True)
    cpu = time.process_time() - begun
    client.close()
    print(json.dumps({"tokens": run.tokens, "first": run.first_s, "last": run.last_s, "error": run.error, "cpu": cpu}))


def _judged(what: str, pairs: list[tuple[float, float]], note: str = "") -> Line:
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return within("client", f"median of {len(pairs)}, {what}", ours, theirs, "tok/s", GOAL, note)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=5000.0, help="tokens per second to pace at")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--client", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        ask(args.client)
        return 0
    lines = measure(args.rate, args.rounds)
    print("\n".join(shown(line) for line in lines))
    return int(any(line.good is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
