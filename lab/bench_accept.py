"""What does the client of `tunecheck accept` cost? A proxy paces a real engine's answers and notes what it sent.

    .venv/bin/python -m lab.bench_accept [--rate 5000] [--rounds 5]

Both sides in one run: the rate that the client measured against the one that the proxy delivered, by the same count of
tokens. Exit code 1 when the median differs by more than 1 %.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from tests.engine import models
from tests.engine.pace_proxy import Manner, Proxy
from tests.unit.serving.engines import engine

from lab.bench_lines import Line, shown, within
from tunecheck.serving.client import Client
from tunecheck.serving.prompts import TIMED, prompt

TOKENS, GOAL = 4000, 0.01


def measure(rate: float, rounds: int) -> list[Line]:
    """Per round both rates, then the judged medians. After ``first`` the proxy has the whole answer in hand."""
    walls, spans, spent = [], [], []
    with engine(models.GOOD) as found:
        proxy = Proxy(found.base, Manner(rate=rate, first=4.0))
        client = Client(proxy.base, "tiny")
        client.ask("warm-up", prompt(TIMED), 64, ignore_eos=True)
        for _ in range(rounds):
            begun = time.process_time()
            run = client.ask("timed", prompt(TIMED), TOKENS, ignore_eos=True)
            spent.append(time.process_time() - begun)
            tokens, wall, span = proxy.sent[-1]
            if run.broken or run.first_s is None or run.last_s is None or run.tokens != tokens:
                raise SystemExit(f"bench_accept: the run failed: {run.error or run.tokens}")
            walls.append((tokens / run.last_s, tokens / wall))
            spans.append((tokens / (run.last_s - run.first_s), tokens / span))
        client.close()
        proxy.close()
    note = f"{statistics.median(spent):.2f} CPU seconds a round, client and proxy together"
    return [
        *(within("client", f"round {number + 1}, first to last byte", *pair, "tok/s", None)
          for number, pair in enumerate(spans)),
        _judged("request to last byte", walls), _judged("first to last byte", spans, note),
    ]


def _judged(what: str, pairs: list[tuple[float, float]], note: str = "") -> Line:
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return within("client", f"median of {len(pairs)}, {what}", ours, theirs, "tok/s", GOAL, note)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=5000.0, help="tokens per second to pace at")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    lines = measure(args.rate, args.rounds)
    print("\n".join(shown(line) for line in lines))
    return int(any(line.good is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
