"""What does an audit of snapshots that were carried here cost? `tunecheck audit --from FOLDER`, eight GPUs a box.

    PYTHONPATH=checks:. python -m lab.bench.carried [--hosts 1000 ...] [--nights 2] [--turns 1] [--against CHECKS]

Makes the snapshots (groups of 250; every box tells some 40 findings, more than a sound one) and audits them on so many
nights, of which the first begins a history. CPU time of the verb with its judges, and the memory of the largest of its
processes; of several turns the least, as other work on the machine only ever adds. --against: beside other code (the
folder with its `tunecheck`), in turns, each with a history of its own; what both have of the last night has to be the
same, but for the times. Several numbers of hosts show how it grows. Exit code 1: a goal was missed, or the answers
differ.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from lab.bench.judge import snapshots
from lab.bench.lines import Line, at_most, shown
from lab.bench.sides import Side, Spent, sides

#: Of 10,000 hosts; of fewer the same share.
GOAL_HOSTS, WALL_S, RSS_MIB, CORES = 10_000, 60.0, 400.0, 2
_GROUP = 250
#: Any number above is a time.
_TIMES = 1e9
_OTHER = "ANOTHER ANSWER"


def carried(folder: Path, hosts: int) -> None:
    for number, content in enumerate(snapshots(hosts)):
        group = folder / f"rack{number // _GROUP:03d}"
        group.mkdir(parents=True, exist_ok=True)
        (group / f"box{number:05d}.json").write_bytes(content)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items()}
    if isinstance(value, list):
        return [timeless(part) for part in value]
    return 0 if isinstance(value, float) and value > _TIMES else value


def answer(side: Side, place: Path) -> Any:
    return timeless(json.loads(side.spent("fleet", "--json", "--store", str(place), ends=(0, 1, 2, 3)).said))


def measure(both: list[Side], hosts: int, nights: int, turns: int, folder: Path) -> tuple[list[Line], Spent]:
    """The lines, and what this code spent on the last night."""
    carried(folder / "snapshots", hosts)
    every: list[list[list[Spent]]] = [[[] for _ in both] for _ in range(nights)]
    for turn in range(turns):
        places = [folder / f"fleet{turn}-{number}.db" for number in range(len(both))]
        for night, (side, place, number) in product(range(nights), zip(both, places, range(len(both)), strict=True)):
            every[night][number].append(side.spent("audit", "--from", str(folder / "snapshots"), "--store", str(place)))
    found = [answer(side, place) for side, place in zip(both, places, strict=True)]
    lines = []
    for night, taken in enumerate(every, 1):
        one, other = _least(taken[0]), _least(taken[1]) if len(both) > 1 else None
        part = f"night {night}, {hosts} hosts"
        note = "" if other is None or night < nights else "the same answer" if found[0] == found[1] else _OTHER
        lines += [
            at_most(part, f"CPU (of {CORES} cores for {WALL_S:g} s at {GOAL_HOSTS})", one.cpu, "s",
                    WALL_S * CORES * hosts / GOAL_HOSTS, other and other.cpu, note=note),
            Line(part, f"wall, {len(os.sched_getaffinity(0))} cores", one.wall, other and other.wall, "s"),
            at_most(part, "largest process", one.rss, "MiB", RSS_MIB if hosts == GOAL_HOSTS else None,
                    other and other.rss)]
    return lines, one


def _least(taken: list[Spent]) -> Spent:
    return Spent(min(each.cpu for each in taken), min(each.wall for each in taken), min(each.rss for each in taken),
                 b"")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1000])
    parser.add_argument("--nights", type=int, default=2)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--against", type=Path, metavar="CHECKS", help="other code, in turns")
    args = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="bench-carried-") as name:
        both = sides(Path(name), args.against)
        grown: list[tuple[int, Spent]] = []
        for hosts in args.hosts:
            folder = Path(name) / str(hosts)
            lines, spent = measure(both, hosts, args.nights, args.turns, folder)
            print("\n".join(map(shown, lines)), flush=True)
            good = good and all(line.good is not False and line.note != _OTHER for line in lines)
            shutil.rmtree(folder)
            grown.append((hosts, spent))
        for (few, less), (many, more) in pairwise(grown):
            each = [(after - before) / (many - few) for before, after in ((less.cpu, more.cpu), (less.rss, more.rss))]
            print(f"{few} -> {many} hosts, the last night: each more takes {each[0] * 1e3:.1f} ms of CPU (the first "
                  f"{few}: {less.cpu / few * 1e3:.1f} ms each) and {each[1] * 1024:.0f} KiB")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
