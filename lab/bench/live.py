"""Is a full live snapshot faster than what people run by hand? Needs NVIDIA GPUs.

    python3 -m lab.bench.live

Wall time of `tunecheck snapshot`, against `nvidia-smi -q -x` and `nvidia-smi topo -m` one after the other, in turns on
the same machine. Exit code 1 when the snapshot is not faster.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

SNAPSHOT = [sys.executable, "-m", "tunecheck", "snapshot", "--json", "/dev/null"]
BY_HAND = (["nvidia-smi", "-q", "-x"], ["nvidia-smi", "topo", "-m"])


def seconds(*commands: list[str]) -> float:
    """Wall time of the commands one after the other. A command that fails ends the benchmark: it would look fast."""
    began = time.perf_counter()
    for argv in commands:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr or done.stdout}")
    return time.perf_counter() - began


def main() -> int:
    """Measure in turns and judge by the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    args = parser.parse_args()
    seconds(SNAPSHOT, *BY_HAND)     # caches, byte code
    ours, theirs = [], []
    for _ in range(args.runs):
        ours.append(seconds(SNAPSHOT))
        theirs.append(seconds(*BY_HAND))
    for name, times in (("tunecheck snapshot", ours), ("nvidia-smi -q -x; topo -m", theirs)):
        print(f"{name:<26} median {statistics.median(times):.3f} s, "
              f"{min(times):.3f} to {max(times):.3f} s of {args.runs}")
    good = statistics.median(ours) < statistics.median(theirs)
    print(f"goal: the snapshot takes less: {'reached' if good else 'MISSED'}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
