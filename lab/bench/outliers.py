"""Does `tunecheck audit` name the boxes that drifted, and only those? A made-up fleet with planted drift says.

    .venv/bin/python -m lab.bench.outliers [--seeds 3] [--database postgresql://...]

1,000 hosts in groups of 400 to 3, 104 facts of seven kinds, 275 drifts, 20 of them where no comparison of hosts can
find them. Goals: precision 100 %, recall at least 92 %, and the five volatile facts that were left in as config are
named.
Exit code 1 where a goal is missed. What a judgement costs is told, and not judged.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from tests.unit.fleet.synthetic import LEFT_IN, SIZES, audited, fleet, scored

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.store import open_store

RECALL = 0.92


def measure(seed: int, url: str) -> bool:
    """One fleet; prints a line and tells whether the goals are met."""
    made = fleet(SIZES, drifts=275, seed=seed)
    with open_store(url, catalogue=1) as store:
        begun = time.process_time()
        audited(store, made)
        kept = time.process_time() - begun
        begun, wall = time.process_time(), time.monotonic()
        found = report(store, None, JudgeOptions(entries=made.entries))
        judged, wall = time.process_time() - begun, time.monotonic() - wall
    score = scored(found, made)
    named = {note.split()[0] for note in found.notes if "looks volatile" in note}
    good = score.precision == 1.0 and score.recall >= RECALL and named == set(LEFT_IN)
    print(f"seed {seed}: {len(made.names)} hosts x {len(made.facts)} facts x {made.audits} audits, "
          f"{len(made.planted)} planted, {len(made.hidden)} of them hidden; {len(score.found)} flagged, precision "
          f"{score.precision:.4f}, recall {score.recall:.4f}; volatile named {len(named)} of {len(LEFT_IN)}; "
          f"{len(found.causes)} causes, {len(found.splits)} splits; kept in {kept:.1f} CPU-s, judged in {judged:.2f} "
          f"CPU-s ({wall:.2f} s); {'good' if good else 'MISSED'}")
    for what, pairs in (("false", score.false), ("missed", score.missed - made.hidden)):
        for host, fact in sorted(pairs)[:10]:
            print(f"  {what}: {host} {fact}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many fleets")
    parser.add_argument("--database", metavar="URL", help="an empty database for one fleet, instead of SQLite files")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tunecheck-bench-") as folder:
        good = [measure(seed, args.database or str(Path(folder) / f"{seed}.db"))
                for seed in range(1, 2 if args.database else args.seeds + 1)]
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    return int(not all(good))


if __name__ == "__main__":
    raise SystemExit(main())
