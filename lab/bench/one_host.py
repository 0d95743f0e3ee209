"""What does a question about one host of a large fleet cost? `drift --host`, `history --host` and `blame` of one host.

    PYTHONPATH=checks:. python -m lab.bench.one_host [--hosts 10000] [--nights 12] [--store FILE] [--against CHECKS]

Makes a history of nights with planted faults (eight-GPU hosts, groups of 40), or takes one that is there. CPU time of
user and system, and largest RSS, of the whole verb, its start included: the least of all turns, as other work on the
machine only ever adds. --against: beside other code (the folder with its `tunecheck`), in turns, over the same history;
the JSON of both has to be the same, to the letter. Exit code 1: a goal was missed, or the answers differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.unit.fleet.nights import NIGHT, evidence

from lab.bench.lines import Line, at_most, shown
from lab.bench.sides import Side, Spent, sides
from tunecheck_fleet.store.store import Store

CPU_S, RSS_MIB = 0.6, 80.0
_OTHER = "ANOTHER ANSWER"


def nights(place: Path, hosts: int, count: int) -> str:
    """The last one is now; the name of a host on which nothing happened."""
    fleet, now = evidence(hosts), [0.0]
    begun = time.time() - (count + 1) * NIGHT
    with Store(str(place), clock=lambda: now[0]) as store:
        for night in range(1, count + 1):
            now[0] = begun + night * NIGHT
            head = store.begin("inventory", fleet.asked())
            for said in fleet.night(night):
                store.put(head.id, said)
            store.finish(head.id)
    return fleet.untouched[0]


def measure(both: list[Side], verb: list[str], place: Path, turns: int, judged: bool) -> list[Line]:
    found: list[list[Spent]] = [[] for _ in both]
    for _ in range(turns):
        for side, taken in zip(both, found, strict=True):
            taken.append(side.spent(*verb, "--store", str(place)))
    cpu = [min(each.cpu for each in taken) for taken in found]
    rss = [min(each.rss for each in taken) for taken in found]
    answers = {taken[0].said for taken in found}
    # Text says how long ago things were.
    note = "" if judged or len(both) == 1 else "the same answer" if len(answers) == 1 else _OTHER
    part = " ".join(verb)
    return [at_most(part, "CPU", cpu[0], "s", CPU_S if judged else None, cpu[1] if len(cpu) > 1 else None, note=note),
            at_most(part, "largest RSS", rss[0], "MiB", RSS_MIB if judged else None, rss[1] if len(rss) > 1 else None)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--nights", type=int, default=12)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--store", type=Path, help="a history that is there")
    parser.add_argument("--host", help="of that history")
    parser.add_argument("--against", type=Path, metavar="CHECKS", help="other code, in turns")
    args = parser.parse_args()
    if (args.store is None) != (args.host is None):
        parser.error("--store and --host go together")
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="bench-one-host-") as folder:
        both = sides(Path(folder), args.against)
        place = args.store or Path(folder) / "fleet.db"
        host = args.host or nights(place, args.hosts, args.nights)
        for verb in (["drift", "--host", host], ["drift", "--host", host, "--json"],
                     ["history", "--host", host], ["blame", "cpu.smt", "--host", host]):
            found = measure(both, verb, place, args.turns, "--json" not in verb)
            print("\n".join(map(shown, found)), flush=True)
            lines += found
    return int(any(line.good is False or line.note == _OTHER for line in lines))


if __name__ == "__main__":
    sys.exit(main())
