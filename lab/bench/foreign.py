"""What do the limits on foreign input cost? Two trees of tunecheck beside each other, in turns, on this machine.

    .venv/bin/python -m lab.bench.foreign BEFORE AFTER [--rounds 7]

BEFORE and AFTER are checkouts. `topo --from` of the recorded machine (wall time, the best of the rounds), snapshots per
second of an audit of carried files, pushes per second until the answer; each as after / before, where 1 is no cost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_AUDIT = """
import json, sys, time
from pathlib import Path
from tests.unit.fleet.snapshots import snapshot_of
from tunecheck_fleet.folder import Folder
from tunecheck_fleet.run import Source, audit
from tunecheck_fleet.store import open_store
folder, many = Path(sys.argv[1]), int(sys.argv[2])
for number in range(many):
    (folder / f"gpu{number:04}.json").write_bytes(snapshot_of(f"gpu{number:04}"))
with open_store(str(folder / "fleet.db")) as store:
    begun = time.monotonic()
    done = audit(store, Source(folder=Folder.read(str(folder), 1e9)), lambda _: {}, print)
    assert done.new == many, done
    print(json.dumps(many / (time.monotonic() - begun)))
"""
_INGEST = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.unit.fleet.receiver import receiver, snapshot, tokens
import httpx
folder, many = Path(sys.argv[1]), int(sys.argv[2])
known = tokens(folder / "state", [*(f"gpu{number:04}" for number in range(many)), "silent"])
known.pop("silent")
content = snapshot(60)
with receiver(folder / "state", None, every=0.001) as found:
    def some(each):
        with httpx.Client(trust_env=False, timeout=30) as client:
            return [client.post(found.url, content=content.replace(b'"0.1.0"', b'"0.1.%d"' % turn, 1),
                    headers={"Authorization": f"Bearer {each}"}).status_code for turn in range(4)]
    begun = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        answers = [status for each in pool.map(some, known.values()) for status in each]
    taken = time.monotonic() - begun
    assert set(answers) == {200}, set(answers)
    print(json.dumps(len(answers) / taken))
"""


def _topo(tree: Path) -> float:
    begun = time.monotonic()
    line = [sys.executable, "-m", "tunecheck", "topo", "--from", "tests/fixtures/h200-2gpu-vm.tar.zst"]
    subprocess.run(line, cwd=tree, env=_environment(tree), stdout=subprocess.DEVNULL, check=False)
    return 1 / (time.monotonic() - begun)


def _program(tree: Path, program: str, many: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", program, folder, str(many)], cwd=tree, env=_environment(tree),
                              capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{tree}/checks:{tree}"}


def main() -> None:
    """One line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    trees = given.before.resolve(), given.after.resolve()
    for what, measure, rounds in (
            ("topo --from, runs per second", _topo, 3 * given.rounds),
            ("audit --from, snapshots per second", lambda tree: _program(tree, _AUDIT, 400), given.rounds),
            ("ingest, pushes per second", lambda tree: _program(tree, _INGEST, 40), given.rounds)):
        best = [0.0, 0.0]
        for _ in range(rounds):
            for number, tree in enumerate(trees):
                best[number] = max(best[number], measure(tree))
        print(f"{what:38}{best[0]:8.2f} before, {best[1]:8.2f} after: {best[1] / best[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
