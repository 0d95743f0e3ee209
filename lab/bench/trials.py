"""Do the GPU trials measure what NVIDIA's own programs measure, and do they always come back? Needs NVIDIA GPUs.

    python3 -m lab.bench.trials --nvbandwidth FILE --all-reduce-perf FILE [--mpirun FILE] [--only a,b,c,d,e]

a  copies and latency of `tunecheck p2p` against nvbandwidth, and the wall time of both
b  all-reduces of `tunecheck allreduce` against nccl-tests in graphs, one process per GPU
c  a rank is stopped (and killed) in the soak: time until the GPUs are proven usable, and who is blamed
d  a soak without a false alarm
e  4 GPUs: all 12 pairs and all subset sizes within 25 s
Both sides run in turns on the same machine. What has no counterpart here is measured alone and says so. Exit code 1
when a goal is missed, 2 when a part could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lab.bench import stalls as bench_stalls
from lab.bench.lines import Line, at_most, shown, within
from lab.gpu_peers import PAIR_TESTS, PeerError, all_reduce, nvbandwidth, run

_GOALS = {"engine": 0.01, "kernel": 0.02, "pointer": 0.01}
_NCCL_GOAL = 0.05
_OWN_SIZES, _OWN_GOAL, _TAIL_GOAL = (8192, 65536), 0.6, 1.35
_P2P_SECONDS, _FOUR_SECONDS = 4.0, 25.0
_NO_PEER = "no counterpart named: measured alone"


def tunecheck(*words: str, seconds: float = 180) -> tuple[dict[str, Any], float]:
    """The "measured" part of what a verb reports, and wall seconds of the command."""
    done = run([sys.executable, "-m", "tunecheck", *words, "--json"], seconds, codes=(0, 1, 3, 4))
    try:
        measured: dict[str, Any] = json.loads(done.stdout)["measured"]
    except (ValueError, KeyError):
        raise PeerError(f"tunecheck {' '.join(words)} measured nothing: {done.stdout[-300:]}") from None
    return measured, done.seconds


def sound(part: str, what: str, measured: dict[str, Any]) -> Iterable[Line]:
    """A line where something was wrong, hung or failed: then the figures beside it are no figures of a sound trial."""
    for kind in ("wrong", "hangs", "failures"):
        if measured[kind]:
            yield Line(part, f"{what}: {kind}", good=False, note=json.dumps(measured[kind])[:400])


def part_a(args: argparse.Namespace) -> Iterable[Line]:
    """Copies and latency of the first two GPUs."""
    ours: dict[tuple[str, str, int, int], list[float]] = defaultdict(list)
    theirs: dict[tuple[str, str, int, int], list[float]] = defaultdict(list)
    walls: list[float] = []
    peer_walls: list[float] = []
    for _ in range(args.runs):
        measured, wall = tunecheck("p2p", "--gpus", "0,1")
        yield from sound("a", "p2p", measured)
        walls.append(wall)
        for each in measured["figures"]:
            if (each["trial"], each["what"]) in PAIR_TESTS:
                ours[each["trial"], each["what"], each["a"], each["b"]].append(each["value"])
        if args.nvbandwidth:
            tables, wall = nvbandwidth(args.nvbandwidth, (0, 1), (measured["notes"]["size"] or 512 << 20) >> 20)
            peer_walls.append(wall)
            for key in ours:
                test, turned = PAIR_TESTS[key[:2]]
                row, column = key[:1:-1] if turned else key[2:]
                cell = tables[test][row][column] if test in tables else None
                theirs[key] += [cell] if cell is not None else []
    for key, values in ours.items():
        trial, what, a, b = key
        unit = "ns" if trial == "latency" else "GB/s"
        yield within("a", f"{trial}, {what} {a}-{b}", statistics.median(values), _median(theirs[key]), unit,
                     _GOALS[what.split()[0]], "" if theirs[key] else _NO_PEER)
    yield at_most("a", "wall time: tunecheck p2p; 9 tests of nvbandwidth", statistics.median(walls), "s",
                  _P2P_SECONDS, _median(peer_walls), note=f"{min(walls):.2f} to {max(walls):.2f} s of {len(walls)}")


def part_b(args: argparse.Namespace) -> Iterable[Line]:
    """All-reduces of every number of ranks that the trial measures."""
    ours: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    theirs: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    tails: dict[tuple[int, int], list[float]] = defaultdict(list)
    environment = {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, (
        str(Path(args.nccl).parent), os.environ.get("LD_LIBRARY_PATH"))))} if args.nccl else {}
    for _ in range(args.runs):
        measured, _ = tunecheck("allreduce", "--soak", "0", *_nccl(args))
        yield from sound("b", "allreduce", measured)
        figures = [each for each in measured["figures"] if each["trial"] == "allreduce"]
        for each in figures:
            ours[each["what"], each["ranks"], each["size"]].append(each["value"])
            if each["what"] == "own" and each["more"].get("p50_ns"):
                tails[each["ranks"], each["size"]].append(each["more"]["p99_ns"] / each["more"]["p50_ns"])
        for ranks in sorted({each["ranks"] for each in figures} if args.all_reduce_perf else ()):
            for what, column, large in (("nccl", 0, False), ("bus", 1, True)):
                if any(key[:2] == (what, ranks) for key in ours):
                    found = all_reduce(args.all_reduce_perf, args.mpirun, ranks, environment, large)
                    for size, row in found.items():
                        theirs[what, ranks, size].append(row[column])
    if not any(what == "nccl" for what, _, _ in ours):
        raise PeerError("tunecheck found no NCCL; name one with --nccl FILE")
    yield from _compared(ours, theirs, tails)


def _compared(ours: dict[tuple[str, int, int], list[float]], theirs: dict[tuple[str, int, int], list[float]],
              tails: dict[tuple[int, int], list[float]]) -> Iterable[Line]:
    for (what, ranks, size), values in ours.items():
        name, value = f"{ranks} ranks, {size} B", statistics.median(values)
        peer = _median(theirs.get((what, ranks, size), []))
        note = "" if peer else _NO_PEER
        if what == "nccl":
            yield within("b", f"NCCL in graphs, {name}", value, peer, "us", _NCCL_GOAL, note)
        elif what == "bus":
            yield within("b", f"NCCL bus bandwidth, {name}", value, peer, "GB/s", None, note)
        elif what == "own":
            peer = _median(theirs.get(("nccl", ranks, size), []))
            note = "" if peer else "against NCCL as measured by tunecheck"
            peer = peer or _median(ours.get(("nccl", ranks, size), []))
            goal = _OWN_GOAL if size in _OWN_SIZES and ranks == 2 else None
            yield at_most("b", f"own one-shot, {name}", value, "us", goal, peer, ratio=True, note=note)
            if size in _OWN_SIZES:
                yield at_most("b", f"own one-shot, p99 / p50, {name}", statistics.median(tails[ranks, size]), "",
                              _TAIL_GOAL if ranks == 2 else None)


def part_c(args: argparse.Namespace) -> Iterable[Line]:
    """Stopped and killed ranks."""
    return bench_stalls.stalls("c", args.stops, args.kills, args.nccl)


def part_d(args: argparse.Namespace) -> Iterable[Line]:
    """A soak in which nothing is wrong: no alarm, no wrong sum."""
    asked = float(args.soak[:-1]) * {"s": 1, "m": 60, "h": 3600}[args.soak[-1]]
    measured, wall = tunecheck("allreduce", "--soak", args.soak, *_nccl(args), seconds=asked + 180)
    yield from sound("d", f"soak {args.soak}", measured)
    steps = [each for each in measured["figures"] if each["trial"] == "soak"]
    good = not measured["hangs"] and bool(steps) and all(each["verified"] for each in steps)
    yield Line("d", f"soak of {args.soak}: bursts without a false alarm", sum(each["value"] for each in steps), unit="",
               goal="no alarm, no wrong sum", good=good, note=f"the whole trial {wall:.1f} s")


def part_e(args: argparse.Namespace) -> Iterable[Line]:
    """Four GPUs, everything but the soak."""
    gpus = bench_stalls.gpus()
    if gpus < 4:
        yield Line("e", "4 GPUs: all pairs, all subset sizes", note=f"skipped: this machine has {gpus} GPUs")
        return
    chosen = ("--gpus", "0,1,2,3")
    pairs, wall = tunecheck("p2p", *chosen)
    sums, wall_sums = tunecheck("allreduce", "--soak", "0", *chosen, *_nccl(args))
    yield from (*sound("e", "p2p", pairs), *sound("e", "allreduce", sums))
    seen = {(each["a"], each["b"]) for each in pairs["figures"] if each["trial"] == "one way"}
    ranks = sorted({each["ranks"] for each in sums["figures"] if each["ranks"]})
    complete = len(seen) == 12 and ranks == [2, 4] and any(each["what"] == "nccl" for each in sums["figures"])
    yield Line("e", "4 GPUs: ordered pairs", float(len(seen)), goal="12; NCCL of 2 and 4", good=complete,
               note=f"ranks {ranks}")
    yield at_most("e", "4 GPUs: wall time of p2p and allreduce --soak 0", wall + wall_sums, "s", _FOUR_SECONDS,
                  note=f"{wall:.2f} s and {wall_sums:.2f} s")


PARTS: dict[str, Callable[[argparse.Namespace], Iterable[Line]]] = {
    "a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e}


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _nccl(args: argparse.Namespace) -> list[str]:
    return ["--nccl", args.nccl] if args.nccl else []


def machine() -> list[str]:
    """Name and driver of every GPU, as nvidia-smi says them."""
    try:
        return run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 20).stdout.splitlines()
    except PeerError as error:
        return [str(error)]


def options(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvbandwidth", metavar="FILE")
    parser.add_argument("--all-reduce-perf", metavar="FILE", help="of nccl-tests, with MPI")
    parser.add_argument("--mpirun", metavar="FILE", default="mpirun")
    parser.add_argument("--nccl", metavar="FILE", help="the libnccl.so.2 that both sides load")
    parser.add_argument("--runs", type=int, default=3, help="turns of a and b; medians count")
    parser.add_argument("--stops", type=int, default=20, help="trials with SIGSTOP in c")
    parser.add_argument("--kills", type=int, default=10, help="trials with SIGKILL in c")
    parser.add_argument("--soak", default="60s", help="of d: 60s, 10m")
    parser.add_argument("--only", default="a,b,c,d,e", metavar="PARTS")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args(argv)
    args.parts = args.only.split(",")
    if set(args.parts) - set(PARTS):
        parser.error(f"--only {args.only}: expected some of {','.join(PARTS)}")
    return args


def main(argv: list[str] | None = None) -> int:
    """Measure part by part; each line is printed as soon as it is known."""
    args = options(argv)
    lines: list[Line] = []
    failed: dict[str, str] = {}
    gpus = machine()
    print("\n".join(gpus))
    for part in args.parts:
        try:
            for line in PARTS[part](args):
                print(shown(line), flush=True)
                lines.append(line)
        except PeerError as error:
            failed[part] = str(error)
            print(f"{part}  could not be measured: {error}", flush=True)
        if args.json:
            Path(args.json).write_text(json.dumps(
                {"gpus": gpus, "lines": [line.document() for line in lines], "failed": failed}, indent=1) + "\n")
    missed = sum(line.good is False for line in lines)
    print(f"{sum(line.good is True for line in lines)} goals reached, {missed} MISSED, "
          f"{len(failed)} parts not measured")
    return 1 if missed else 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
