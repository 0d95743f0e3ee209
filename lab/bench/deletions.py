"""Does a verdict ever get better because evidence is missing? Deletes parts of evidence for as long as it is let.

    .venv/bin/python -m lab.bench.deletions [--seed N] [--trials N] [--samples FOLDER] [--show N]

Every fixture of the tests, recordings of machines of their own, and other people's files where FOLDER (or
TUNECHECK_SAMPLES) has some; what is deleted is in tests/unit/imports/deletions.py. Without --trials it ends with
Ctrl-C. Prints seed, trials and violations by check; exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import collections
import gc
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

from tests.unit.imports.deletion_bases import own, real
from tests.unit.imports.deletions import trials


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--trials", type=int)
    parser.add_argument("--samples", default=os.environ.get("TUNECHECK_SAMPLES", ""))
    parser.add_argument("--only", default="", help="only evidence whose name holds this")
    parser.add_argument("--show", type=int, default=20, help="how many violations are printed in full")
    given = parser.parse_args()
    bases = own() + (real(Path(given.samples)) if given.samples else [])
    bases = [base for base in bases if given.only in base.name]
    if not given.samples:
        print("no samples: TUNECHECK_SAMPLES names no folder, so only the project's own evidence is used")
    print(f"seed {given.seed}, {len(bases)} pieces of evidence", flush=True)
    begin, number, bad = time.monotonic(), 0, 0
    by_check: collections.Counter[str] = collections.Counter()
    gc.freeze()
    try:
        with tempfile.TemporaryDirectory(prefix="tunecheck-deletions-") as folder:
            for number, (what, better) in enumerate(trials(bases, given.seed, Path(folder), given.trials), 1):
                bad += bool(better)
                by_check.update({f"{each.split(' ')[0]} {each.rpartition(': ')[2]}" for each in better})
                if better and bad <= given.show:
                    print(f"trial {number}: {what}\n    " + "\n    ".join(better[:6]), flush=True)
                if number % 2000 == 0:
                    print(f"{number} trials, {bad} violations, {time.monotonic() - begin:.0f} s", flush=True)
    except KeyboardInterrupt:
        pass
    for check, count in by_check.most_common():
        print(f"  {count:6} {check}")
    print(f"seed {given.seed}: {number} trials, {bad} violations, {time.monotonic() - begin:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
