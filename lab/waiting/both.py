"""What people wait for, before and now: two trees of this project in turns on one machine, one run.

    git archive COMMIT | tar x -C TREE
    PYTHONPATH=checks:. python -m lab.waiting.both --before TREE [--only PARTS] [--cores 2] [--json FILE]

judge     CPU to judge one snapshot by stages, 16 snapshots, of each the least of all turns; snapshots a second
carried   `audit --from` carried eight-GPU snapshots, the first night (--hosts; the last number by both, others by us)
one_host  `drift --host`, `history`, `blame` of one host, over a history of --nights (made meanwhile on other cores)
startup   `--help`, `checks`, `topo --json --from` a recording
live      `preflight` of this machine                                   needs GPUs, as all that follow
p2p       `p2p --json` over all GPUs
stalls    a rank is stopped in the soak (--stops, --stops-before): until the GPUs are proven

Each tree makes its inputs of the same machines by itself (lab.waiting.inside). The two sides of a turn stand side by
side; everything runs on --cores processors, no two of one core where there are so many. Goals stand beside each figure;
--json keeps every line with its goal, for lab.waiting.table. Exit code 1: a goal was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from lab.bench.lines import Line, at_least, at_most, shown
from lab.bench.sides import Side, Spent, side

_INSIDE = Path(__file__).with_name("inside.py")
_WHOLE = 10_000
_STAGES = ("unpack", "rules", "flatten")


@dataclass(frozen=True)
class Tree:
    """One side: its folder, and how its `tunecheck` is run."""

    root: Path
    side: Side

    def inside(self, *words: str) -> Any:
        """What lab/waiting/inside.py printed, run with this tree's code."""
        done = subprocess.run([sys.executable, "-P", str(_INSIDE), *words], env=self.side.env, cwd=self.root,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)


@dataclass(frozen=True)
class Run:
    """Both trees, ours first, and where to write."""

    ours: Tree
    before: Tree
    args: argparse.Namespace
    folder: Path
    histories: list[Future[str]]

    @property
    def both(self) -> tuple[Tree, Tree]:
        return self.ours, self.before


def judge(run: Run) -> Iterator[Line]:
    least: list[dict[tuple[str, str], list[float]]] = [{}, {}]
    for _, number in product(range(run.args.turns), (0, 1)):
        for name, stages in run.both[number].inside("judge").items():
            for stage, seconds in stages.items():
                known = least[number].get((name, stage), seconds)
                least[number][name, stage] = list(map(min, known, seconds))
    cpu = [{key: 1e3 * statistics.mean(values) for key, values in each.items()} for each in least]
    for name, stage in cpu[0]:
        goal = 8.0 if (name, stage) == ("8 GPUs", "whole") else None
        if stage != "judged":
            yield at_most("judge", f"{name}: CPU, {stage}", cpu[0][name, stage], "ms", goal, cpu[1][name, stage])
    for name in ("8 GPUs", "2 GPUs"):
        yield at_least("judge", f"{name}: judged a second of one core", 1e3 / cpu[0][name, "judged"], "/s",
                       400.0 if name == "2 GPUs" else None, 1e3 / cpu[1][name, "judged"])


def carried(run: Run) -> Iterator[Line]:
    *fewer, most = run.args.hosts
    grown: list[tuple[int, Spent]] = []
    for hosts in (*fewer, most):
        found = []
        for number, tree in enumerate(run.both if hosts == most else (run.ours,)):
            folder = run.folder / f"carried{number}"
            tree.inside("carried", str(folder), str(hosts))
            found.append(tree.side.spent("audit", "--from", str(folder), "--store", str(run.folder / f"c{number}.db")))
            shutil.rmtree(folder)
            for file in run.folder.glob(f"c{number}.db*"):
                file.unlink()
        for what, of, unit, goal in (("wall time", "wall", "s", 60.0), ("CPU", "cpu", "s", None),
                                     ("largest process", "rss", "MiB", 400.0)):
            ours, theirs = (*(getattr(each, of) for each in found), None)[:2]
            yield at_most(f"carried, {hosts} hosts", what, ours, unit, goal if hosts == _WHOLE else None, theirs)
        grown.append((hosts, found[0]))
    if len(grown) > 1:
        (few, less), (many, more) = grown[0], grown[-1]
        each, first = (more.wall - less.wall) / (many - few), less.wall / few
        yield at_most("carried", f"each host from {few} to {many}: wall, over each of the first", each / first, "x",
                      1.1)


def one_host(run: Run) -> Iterator[Line]:
    places = [run.folder / f"fleet{number}.db" for number in (0, 1)]
    hosts = [future.result() for future in run.histories]
    for verb, more in (("drift", ()), ("history", ()), ("blame", ("cpu.smt",))):
        taken: list[list[Spent]] = [[], []]
        for _, number in product(range(run.args.turns), (0, 1)):
            taken[number].append(run.both[number].side.spent(verb, *more, "--host", hosts[number], "--store",
                                                             str(places[number])))
        part = f"one host of {run.args.fleet}"
        for what, unit, goal in (("cpu", "s", 0.6), ("rss", "MiB", 80.0)):
            ours, theirs = (min(getattr(each, what) for each in side) for side in taken)
            yield at_most(part, f"{verb} --host, {'CPU' if what == 'cpu' else 'memory'}", ours, unit,
                          goal if run.args.fleet >= _WHOLE else None, theirs)


def startup(run: Run) -> Iterator[Line]:
    files = [str(run.folder / f"box{number}.tar.zst") for number in (0, 1)]
    for number, tree in enumerate(run.both):
        tree.inside("record", files[number])
    for what in ("--help", "checks", "topo --json --from"):
        taken: list[list[float]] = [[], []]
        for _, number in product(range(run.args.runs), (0, 1)):
            more = [files[number]] if what.endswith("--from") else []
            taken[number].append(run.both[number].side.spent(*what.split(), *more, ends=(0, 1, 3)).cpu)
        ours, theirs = map(statistics.median, taken)
        yield Line("startup", f"tunecheck {what}, CPU", ours, theirs, "s")


def live(run: Run) -> Iterator[Line]:
    yield _walls(run, "live", "preflight", ("preflight",), run.args.runs, 0.40)


def p2p(run: Run) -> Iterator[Line]:
    goal = {2: 1.8, 4: 4.0}.get(_gpus())
    yield _walls(run, "p2p", f"p2p of {_gpus()} GPUs", ("p2p", "--json"), run.args.turns, goal)


def stalls(run: Run) -> Iterator[Line]:
    counts = (run.args.stops, run.args.stops_before)
    trials = [tree.inside("stalls", str(count)) for tree, count in zip(run.both, counts, strict=True)]
    for what, count in zip(("now", "before"), trials, strict=True):
        right = sum(each["right"] and each["usable"] for each in count)
        yield Line("stalls", f"{what}: right rank blamed, GPUs proven usable", float(right), goal=f"{len(count)}",
                   good=right == len(count))
    for name, of in (("median", statistics.median), ("most", max)):
        ours, theirs = (of(each["proven"] for each in side) for side in trials)
        yield at_most("stalls", f"signal to GPUs proven, {name}", ours, "s", 2.6, theirs,
                      note=f"{counts[0]} and {counts[1]} stops")


def _walls(run: Run, part: str, what: str, words: tuple[str, ...], runs: int, goal: float | None) -> Line:
    """Medians of the wall time, in turns; the first of each side warms the driver and counts not."""
    taken: list[list[float]] = [[], []]
    for _, number in product(range(runs + 1), (0, 1)):
        taken[number].append(run.both[number].side.spent(*words, ends=(0, 1, 3)).wall)
    (ours, low, high), (theirs, *_) = ((statistics.median(each[1:]), min(each[1:]), max(each[1:])) for each in taken)
    return at_most(part, f"{what}, wall time", ours, "s", goal, theirs, note=f"{low:.2f} to {high:.2f} s of {runs}")


def _gpus() -> int:
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


PARTS: dict[str, Callable[[Run], Iterator[Line]]] = {
    each.__name__: each for each in (judge, startup, carried, one_host, live, p2p, stalls)}


def apart(every: set[int], count: int) -> set[int]:
    """``count`` processors, first one of each core: two of one core share its units."""
    cores: dict[str, list[int]] = {}
    for number in sorted(every):
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        cores.setdefault(siblings.read_text() if siblings.exists() else str(number), []).append(number)
    rounds = [core[at] for at in range(max(map(len, cores.values()))) for core in cores.values() if at < len(core)]
    return set(rounds[:count])


def machine(cores: set[int]) -> dict[str, Any]:
    named = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True).stdout if shutil.which("nvidia-smi") else ""
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "")
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "processor": model, "cores": os.cpu_count(),
            "pinned": sorted(cores) if len(cores) < (os.cpu_count() or 0) else [], "gpus": named.splitlines(),
            "python": platform.python_version(), "load": os.getloadavg()[0]}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="TREE")
    parser.add_argument("--only", default="judge,startup,carried,one_host", metavar="PARTS")
    parser.add_argument("--cores", type=int, default=2, metavar="N", help="processors to run on; 0: all")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--runs", type=int, default=11, help="of short commands")
    parser.add_argument("--hosts", type=int, nargs="+", default=[5_000, 10_000])
    parser.add_argument("--fleet", type=int, default=_WHOLE, help="hosts of the history")
    parser.add_argument("--nights", type=int, default=12)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--stops-before", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    args.parts = args.only.split(",")
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"--only {args.only}: unknown {', '.join(sorted(unknown))}; expected some of {','.join(PARTS)}")
    return args


def main() -> int:
    args = options()
    every = os.sched_getaffinity(0)
    pinned = apart(every, args.cores) if args.cores else every
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="bench-both-") as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        ours, before = (Tree(root, side(root / "checks", folder / f"bytecode{number}", root))
                        for number, root in enumerate((Path(__file__).parents[2], args.before.resolve())))
        futures: list[Future[str]] = []
        if "one_host" in args.parts:
            os.sched_setaffinity(0, every - pinned or every)
            futures = [pool.submit(tree.inside, "history", str(folder / f"fleet{number}.db"), str(args.fleet),
                                   str(args.nights)) for number, tree in enumerate((ours, before))]
            time.sleep(0.5)     # they are started; what follows is pinned
        os.sched_setaffinity(0, pinned)
        head = machine(pinned)
        print(json.dumps(head))
        run = Run(ours, before, args, folder, futures)
        for part in args.parts:
            for line in PARTS[part](run):
                print(shown(line), flush=True)
                lines.append(line)
                if args.json:
                    args.json.write_text(json.dumps({"machine": head, "lines": [each.document() for each in lines]},
                                                    indent=1) + "\n")
    return int(any(line.good is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
