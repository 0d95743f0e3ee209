"""What does judging elsewhere cost? Makes its own inputs: an eight-GPU box with 40 bridges and 128 CPUs.

    .venv/bin/python -m lab.bench.judge [--count 10000] [--profile | --against CHECKS]

Decodes and judges that many different snapshots in one process, and runs `tunecheck topo --from` a bundle of the box.
Exit code 1 when a goal is missed. --profile shows where the time of 200 snapshots goes. --against: CPU time of each
stage of an audit beside that of other code (the folder with its `tunecheck`), in turns, over the same snapshots: of
each the least of all turns, since other work on the machine only ever adds, and their mean.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.fleet.snapshots import snapshot_of

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.recording import RecordingHost
from tunecheck.rules.batch import judge_many

RATE, WALL, RSS = 200, 0.40, 80


def snapshots(count: int) -> Iterator[bytes]:
    """Different boxes: names, boots, temperatures, and every eighth with ACS redirect off."""
    spec = big_spec()
    bases = [packed(Stored(gather(eight_gpus(ctl).host(), spec.spec, True), spec))
             for ctl in (0x001D,) * 7 + (0x0011,)]
    for number in range(count):
        boot = b"%08x-2222-3333-4444-555555555555" % number
        yield (bases[number % 8].replace(b'"box1"', b'"box%d"' % number)
               .replace(b"11111111-2222-3333-4444-555555555555", boot)
               .replace(b'"temperature_c": 35', b'"temperature_c": %d' % (35 + number % 50)))


def judged(content: bytes) -> int:
    """The number of findings of one snapshot."""
    return sum(len(findings) for _, findings in judge_many([content]))


def rate(count: int) -> tuple[float, float, int]:
    """Snapshots per second of CPU time and of wall time, and the size of one. They are made in parts beforehand: making
    them is not what is measured."""
    cpu = wall = 0.0
    size = 0
    every = snapshots(count)
    while part := list(islice(every, 250)):
        size = len(part[0])
        begin, begin_cpu = time.perf_counter(), time.process_time()
        if min(len(findings) for _, findings in judge_many(part)) < 20:
            sys.exit("a snapshot gave hardly any finding: nothing was judged")
        cpu, wall = cpu + time.process_time() - begin_cpu, wall + time.perf_counter() - begin
    return count / cpu, count / wall, size


def topo(runs: int) -> tuple[float, float, int]:
    """Median wall seconds and most MiB of memory of `tunecheck topo --from` a bundle, and the bundle's size."""
    recorder = RecordingHost(eight_gpus().host())
    spec = big_spec()
    recorder.keep("/etc/tunecheck/spec.json", spec.to_json().encode())
    gather(recorder, spec.spec, True)
    content = recorder.packed(redact=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "box.tar.zst"
        path.write_bytes(content)
        found = [_run([sys.executable, "-m", "tunecheck", "topo", "--from", str(path)]) for _ in range(runs)]
    return statistics.median(wall for wall, _ in found), max(rss for _, rss in found), len(content)


def _run(argv: list[str]) -> tuple[float, float]:
    begin = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode not in (0, 1, 3) or "acs-redirect" not in output:
        sys.exit(f"{' '.join(argv)} ended with {process.returncode}: {output}")
    return wall, usage.ru_maxrss / 1024


def profile(count: int = 200) -> None:
    """Print the dearest functions."""
    contents = list(snapshots(count))
    judged(contents[0])
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [judged(content) for content in contents])
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


_STAGES = """
import gc, json, struct, sys, time
from tunecheck.facts.registry import flatten
from tunecheck.facts.snapshot_file import unpack
from tunecheck_fleet.model import Answer
from tunecheck_fleet.read import seen
from tunecheck.rules import Case, judge

data, contents = open(sys.argv[1], "rb").read(), []
while data:
    length = struct.unpack_from("!I", data)[0]
    contents, data = [*contents, data[4:4 + length]], data[4 + length:]
gc.disable()
least = {}
for turn in range(4):       # the first one imports, and fills what is kept for a process
    for number, content in enumerate(contents):
        times = [time.process_time()]
        stored = unpack(content)
        times.append(time.process_time())
        judge(Case(stored.snapshot, stored.frozen), "preflight")
        times.append(time.process_time())
        flatten(stored)
        times.append(time.process_time())
        assert seen(Answer("box", "boxes", "ok", content)).status in ("ok", "partial")
        times.append(time.process_time())
        for name, one, other in zip(("unpack", "rules", "flatten", "whole"), times, times[1:]):
            each = least.setdefault(name, [9.0] * len(contents))
            each[number] = min(each[number], other - one)
        del stored
    gc.collect()
print(json.dumps(least))
"""


def stages(path: Path, checks: Path) -> dict[str, list[float]]:
    """Least CPU seconds of each stage of each snapshot, by the code in ``checks``."""
    done = subprocess.run([sys.executable, "-c", _STAGES, str(path)], env={**os.environ, "PYTHONPATH": str(checks)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def against(other: Path, turns: int) -> None:
    """Print each stage of both sides."""
    import tunecheck

    sides = {"theirs": other, "ours": Path(tunecheck.__file__).parents[1]}
    sets = {"8 GPUs": list(snapshots(16)), "2 GPUs": [snapshot_of(f"box{number}") for number in range(16)]}
    print(f"{'':<18}" + "".join(f"{side:>10}" for side in sides) + "     ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name, contents in sets.items():
            path = Path(folder) / "contents"
            path.write_bytes(b"".join(struct.pack("!I", len(content)) + content for content in contents))
            least: dict[str, dict[str, list[float]]] = {side: {} for side in sides}
            for _, (side, checks) in product(range(turns), sides.items()):
                for stage, seconds in stages(path, checks).items():
                    least[side][stage] = list(map(min, least[side].get(stage, seconds), seconds))
            for stage in least["ours"]:
                pair = [statistics.mean(least[side][stage]) * 1e3 for side in sides]
                print(f"{name}, {stage:<9} " + "".join(f"{each:7.2f} ms" for each in pair)
                      + f"{pair[1] / pair[0]:9.2f} x")
            rates = [1 / sum(statistics.mean(least[side][stage]) for stage in ("unpack", "rules")) for side in sides]
            print(f"{name}, unpacked and judged " + "".join(f"{each:7.0f}/s" for each in rates) + "   of one core")


def _verdict(text: str, good: bool) -> bool:
    print(f"{text}: {'reached' if good else 'MISSED'}")
    return good


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--against", type=Path, metavar="CHECKS")
    args = parser.parse_args()
    if args.profile:
        profile()
        return 0
    if args.against:
        against(args.against, args.runs)
        return 0
    wall, rss, size = topo(args.runs)
    good = _verdict(f"topo --from a bundle of {size >> 10} KiB: median {wall:.2f} s wall (of {args.runs} runs), "
                f"goal at most {WALL:.2f} s", wall <= WALL)
    good &= _verdict(f"its memory: at most {rss:.0f} MiB, goal at most {RSS} MB", rss * 1.048576 <= RSS)
    per_cpu, per_wall, size = rate(args.count)
    good &= _verdict(f"{args.count} snapshots of {size >> 10} KiB decoded and judged: {per_cpu:.0f}/s of one core "
                 f"({per_wall:.0f}/s wall), goal at least {RATE}/s", per_cpu >= RATE)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
