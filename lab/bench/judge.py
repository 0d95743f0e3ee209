"""What does judging elsewhere cost? Makes its own inputs: an eight-GPU box with 40 bridges and 128 CPUs.

    .venv/bin/python -m lab.bench.judge [--count 10000] [--profile]

Decodes and judges that many different snapshots in one process, and runs `tunecheck topo --from` a bundle of the box.
Exit code 1 when a goal is missed. --profile shows where the time of 200 snapshots goes.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.unit.facts.big import big_spec, eight_gpus

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
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode not in (0, 1, 3) or "acs-redirect" not in said:
        sys.exit(f"{' '.join(argv)} ended with {process.returncode}: {said}")
    return wall, usage.ru_maxrss / 1024


def profile(count: int = 200) -> None:
    """Print the dearest functions."""
    contents = list(snapshots(count))
    judged(contents[0])
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [judged(content) for content in contents])
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def _say(text: str, good: bool) -> bool:
    print(f"{text}: {'reached' if good else 'MISSED'}")
    return good


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    if args.profile:
        profile()
        return 0
    wall, rss, size = topo(args.runs)
    good = _say(f"topo --from a bundle of {size >> 10} KiB: median {wall:.2f} s wall (of {args.runs} runs), "
                f"goal at most {WALL:.2f} s", wall <= WALL)
    good &= _say(f"its memory: at most {rss:.0f} MiB, goal at most {RSS} MB", rss * 1.048576 <= RSS)
    per_cpu, per_wall, size = rate(args.count)
    good &= _say(f"{args.count} snapshots of {size >> 10} KiB decoded and judged: {per_cpu:.0f}/s of one core "
                 f"({per_wall:.0f}/s wall), goal at least {RATE}/s", per_cpu >= RATE)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
