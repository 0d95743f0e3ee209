"""The two programs that the trials are held against, run and read: NVIDIA's nvbandwidth and nccl-tests.

Neither is part of this repository; whoever has built them names their paths (docs/benchmarks/README.md).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["PAIR_TESTS", "PeerError", "Run", "all_reduce", "all_reduce_rows", "matrices", "nvbandwidth", "run"]

#: Our (trial, what) -> nvbandwidth's test, and whether its matrix is [b][a]: its rows are the GPU that copies, our "a"
#: is the one that data comes from.
PAIR_TESTS: Mapping[tuple[str, str], tuple[str, bool]] = {
    ("one way", "engine write"): ("device_to_device_memcpy_write_ce", False),
    ("one way", "engine read"): ("device_to_device_memcpy_read_ce", True),
    ("both ways", "engine write"): ("device_to_device_bidirectional_memcpy_write_ce", False),
    ("both ways", "engine read"): ("device_to_device_bidirectional_memcpy_read_ce", True),
    ("one way", "kernel write"): ("device_to_device_memcpy_write_sm", False),
    ("one way", "kernel read"): ("device_to_device_memcpy_read_sm", True),
    ("both ways", "kernel write"): ("device_to_device_bidirectional_memcpy_write_sm", False),
    ("both ways", "kernel read"): ("device_to_device_bidirectional_memcpy_read_sm", True),
    ("latency", "pointer chase"): ("device_to_device_latency_sm", False),
}


class PeerError(RuntimeError):
    """A program of this benchmark failed, took too long, or wrote what cannot be read."""


@dataclass(frozen=True)
class Run:
    """What a program wrote, its exit code, and its wall time in seconds."""

    stdout: str
    code: int
    seconds: float


def run(argv: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None,
        codes: Sequence[int] = (0,)) -> Run:
    """Run to the end, or to the deadline: then its whole session is killed. PeerError for other exit codes than
    ``codes``."""
    began = time.perf_counter()
    name = " ".join(argv[:6])
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="replace", start_new_session=True,
                                   env={**os.environ, **(environment or {})})
    except OSError as error:
        raise PeerError(f"{name}: {error.strerror}") from None
    with process:
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise PeerError(f"{name}: not done within {seconds:g} s") from None
            raise
    wall = time.perf_counter() - began
    if process.returncode not in codes:
        raise PeerError(f"{name} ended with {process.returncode}: {(stderr.strip() or stdout.strip())[-600:]}")
    return Run(stdout, process.returncode, wall)


def nvbandwidth(path: str, gpus: Sequence[int], mib: int) -> tuple[dict[str, list[list[float | None]]], float]:
    """Its device-to-device tests with buffers of ``mib`` MiB: test -> matrix, and wall seconds of them all."""
    tests = [test for test, _ in PAIR_TESTS.values()]
    done = run([path, "-j", "-b", str(mib), "-t", *tests], 60 + 15 * len(gpus) ** 2,
               {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))})
    return matrices(done.stdout), done.seconds


def matrices(said: str) -> dict[str, list[list[float | None]]]:
    """Test -> matrix of its JSON. A bidirectional test writes three below each other; the last is the total."""
    try:
        tests: list[dict[str, Any]] = json.loads(said[said.index("{"):])["nvbandwidth"]["testcases"]
        found = {}
        for test in tests:
            rows = test.get("bandwidth_matrix")
            if rows:
                own = rows[-len(rows[0]):]
                found[str(test["name"])] = [[None if cell == "N/A" else float(cell) for cell in row] for row in own]
        return found
    except (ValueError, KeyError, TypeError) as error:
        raise PeerError(f"nvbandwidth's JSON cannot be read ({error}): {said[:300]}") from None


def all_reduce(path: str, mpirun: str, ranks: int, environment: Mapping[str, str],
               large: bool = False) -> dict[int, tuple[float, float]]:
    """all_reduce_perf, one process per GPU, half precision, out of place: bytes -> (microseconds, bus GB/s). 4 B to
    1 MiB in graphs of 200, launched 10 times, as our trial does; with ``large`` 4 to 256 MiB without graphs."""
    # Its first size carries warm-up: 4 B is measured for that alone.
    sizes = ["-b", "4M", "-e", "256M", "-f", "4", "-n", "20"] if large else [
        "-b", "4", "-e", "1M", "-f", "2", "-n", "200", "-w", "20", "-G", "10"]
    done = run([mpirun, "-np", str(ranks), path, *sizes, "-d", "half", "-g", "1"], 120,
               {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **environment})
    return all_reduce_rows(done.stdout)


def all_reduce_rows(said: str) -> dict[int, tuple[float, float]]:
    """The table's out-of-place columns. Wrong sums are a PeerError: such times are worth nothing."""
    rows = {}
    for line in said.splitlines():
        # size count type redop root | time algbw busbw #wrong | time algbw busbw #wrong
        words = line.split()
        if len(words) >= 13 and words[0].isdigit() and words[2] == "half":
            try:
                if float(words[8]) or float(words[12]):
                    raise PeerError(f"all_reduce_perf: wrong sums: {line.strip()}")
                rows[int(words[0])] = (float(words[5]), float(words[7]))
            except ValueError:
                raise PeerError(f"all_reduce_perf: cannot be read: {line.strip()}") from None
    if not rows:
        raise PeerError(f"all_reduce_perf wrote no table: {said[-300:]}")
    return rows
