"""A month of a fleet of 1,000 hosts with two dozen kinds of planted faults, then random fleets: the confusion table.

    PYTHONPATH=checks:. python -m lab.fleet_nights [--hosts 1000] [--seeds 20]

Exit code 1: something was missed, false, or dated wrongly, in the report or in the alert.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.unit.fleet.nights import Fleet, audited, evidence, random_fleet

from tunecheck_fleet.store.store import Store


def _run(name: str, fleet: Fleet) -> bool:
    clock = [0.0]
    with tempfile.TemporaryDirectory() as folder, Store(str(Path(folder) / "fleet.db"),
                                                        clock=lambda: clock[0]) as store:
        score = audited(store, fleet, clock)
    print(f"{name}\n{score.table()}", *score.faults[:20], sep="\n", flush=True)
    return not score.faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    good = _run(f"{args.hosts} hosts, 30 nights", evidence(args.hosts))
    return int(not all([good, *(_run(f"seed {seed}", random_fleet(seed)) for seed in range(args.seeds))]))


if __name__ == "__main__":
    sys.exit(main())
