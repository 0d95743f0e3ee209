"""How long does a run that changes nothing take? Against a bare `ansible -m ping` of the same box, in one run.

    python3 -m lab up && .venv/bin/ansible-playbook site.yml -i inventory/lab
    .venv/bin/python -m lab.bench.second_run

Prints both medians and their ratio; exit code 1 when the ratio is above the goal, or the run was no second run.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from lab import paths

GOAL = 20.0
_RECAP = re.compile(r"^\S+\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


def timed(argv: list[str]) -> tuple[float, str]:
    """Run `argv` in the repository and return its wall seconds and output; a failure ends the benchmark."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    begin = time.perf_counter()
    done = subprocess.run(argv, cwd=paths.REPO, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}; nothing is measured:\n{done.stdout}")
    return seconds, done.stdout


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-i", "--inventory", default="inventory/lab")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    pings, sites = [], []
    for _ in range(args.runs):  # in turn, so that a busy moment of the machine hits both
        pings.append(timed(["ansible", "-i", args.inventory, "all", "-m", "ansible.builtin.ping"])[0])
        seconds, output = timed(["ansible-playbook", "site.yml", "-i", args.inventory])
        sites.append(seconds)
        recap = _RECAP.findall(output)
        if not recap or any(changed != "0" for changed, _, _ in recap):
            sys.exit(f"not a second run: it changed something\n{output}")
    ratio = statistics.median(sites) / statistics.median(pings)
    show = ", ".join
    print(f"ansible -m ping  median {statistics.median(pings):6.2f} s  ({show(f'{s:.2f}' for s in pings)})")
    print(f"site.yml         median {statistics.median(sites):6.2f} s  ({show(f'{s:.2f}' for s in sites)})")
    print(f"ratio {ratio:.1f}, goal at most {GOAL:.0f}: {'reached' if ratio <= GOAL else 'MISSED'}")
    return int(ratio > GOAL)


if __name__ == "__main__":
    sys.exit(main())
