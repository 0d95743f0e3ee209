"""What does starting tunecheck cost? CPU time of `topo --json` from a recording, over `python3 -c pass`.

    .venv/bin/python -m lab.bench.startup RECORD.tar.zst

RECORD is what `tunecheck topo --record FILE` wrote. Exit code 1 when the cost is above the goal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

GOAL = 0.35


def cpu_seconds(argv: list[str], allowed: tuple[int, ...] = (0,), says: str = "") -> float:
    """Run `argv` and return its user + system CPU seconds.

    Another exit code than `allowed`, or an output without `says`, ends the benchmark: a command that failed early
    would look fast."""
    before = os.times()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    after = os.times()
    if done.returncode not in allowed or says not in done.stdout:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr}")
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def cost(record: str, runs: int) -> tuple[float, float]:
    """Return the median CPU seconds of bare Python and of `topo --json --from record`."""
    bare, topo = [], []
    for _ in range(runs):
        bare.append(cpu_seconds([sys.executable, "-c", "pass"]))
        # 1: a check of that recording failed. The start-up is the same.
        argv = [sys.executable, "-m", "tunecheck", "topo", "--json", "--from", record]
        topo.append(cpu_seconds(argv, (0, 1, 3), '"tunecheck/topo/1"'))
    return statistics.median(bare), statistics.median(topo)


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record")
    parser.add_argument("--runs", type=int, default=11)
    args = parser.parse_args()
    bare, topo = cost(args.record, args.runs)
    print(f"python3 -c pass  median {bare:.3f} s CPU\ntopo --json      median {topo:.3f} s CPU  (of {args.runs} runs)")
    print(f"cost {topo - bare:.3f} s, goal at most {GOAL} s: {'reached' if topo - bare <= GOAL else 'MISSED'}")
    return int(topo - bare > GOAL)


if __name__ == "__main__":
    sys.exit(main())
