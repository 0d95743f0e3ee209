"""A random signal at a random moment of every verb that takes time; then: no orphan, no half file, the right exit code.

``python -m tests.unit.cli.random_kills 200 [seed]`` prints what it saw, and ends with 1 where anything was left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

__all__ = ["VERBS", "campaign"]

REPO = Path(__file__).resolve().parents[3]
#: With what each writes, where it writes.
VERBS = (("host", "--json", "out.json"), ("topo", "--json", "out.json"), ("preflight", "--json", "out.json"),
         ("record", "-o", "out.tar"), ("snapshot", "--json", "out.json"), ("driver", "--json", "out.json"),
         ("preflight", "--pass", "pass.json"), ("preflight", "--quick", "--json", "out.json"))
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
_GRACE = 3.0
_MARK = "TUNECHECK_TEST_RUN"


def _left(token: str) -> Iterator[int]:
    """Processes that have our mark in their environment: children of the run, wherever they went."""
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in place.read_bytes() and int(place.parent.name) != os.getpid():
                state = (place.parent / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":
                    yield int(place.parent.name)
        except OSError:
            continue


def _one(verb: tuple[str, ...], number: signal.Signals, after: float, folder: Path) -> tuple[str, int]:
    """What was wrong ("" for nothing), and the exit code."""
    token = f"{_MARK}={folder.name}-{os.getpid()}"
    name, _, value = token.partition("=")
    run = subprocess.Popen([sys.executable, "-m", "tunecheck", *verb], cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, name: value, "PYTHONPATH": str(REPO / "checks")})
    try:
        run.wait(after)
    except subprocess.TimeoutExpired:
        run.send_signal(number)
    begun = time.monotonic()
    try:
        _, said = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        return f"did not end within 60 s of {number.name}", -1
    took = time.monotonic() - begun
    until = time.monotonic() + _GRACE
    while (left := list(_left(token))) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    wrong = [f"left {len(left)} processes"] if left else []
    expected = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -9}[number]
    # Done before the signal, or so early that Python itself had not begun: then the signal ends it.
    if run.returncode not in (expected, 0, 1, 2, 3, -number):
        wrong.append(f"exit code {run.returncode} after {number.name}")
    # Before the first line of ours runs, Ctrl-C ends Python as it ends any program of its kind.
    if ("Traceback" in said and "/tunecheck/" in said) or "internal error" in said:
        wrong.append(f"said {said[-200:]!r}")
    if number != signal.SIGKILL and took > 10:
        wrong.append(f"took {took:.0f} s to end")
    for path in folder.iterdir():
        if path.name.endswith(".json") and not path.name.startswith("."):
            try:
                json.loads(path.read_text())
            except ValueError:
                wrong.append(f"{path.name} is half written")
        elif path.name.startswith(".") and number != signal.SIGKILL:
            wrong.append(f"{path.name} was left")
    return "; ".join(wrong), run.returncode


def campaign(count: int, seed: int, verbs: tuple[tuple[str, ...], ...] = VERBS, longest: float = 2.5
             ) -> tuple[list[str], Counter[int]]:
    """What was wrong, and how often each exit code was seen."""
    chance, wrong, codes = random.Random(seed), [], Counter[int]()
    for turn in range(count):
        verb, number, after = verbs[turn % len(verbs)], chance.choice(_SIGNALS), chance.uniform(0.05, longest)
        with tempfile.TemporaryDirectory(prefix="tunecheck-kill-") as folder:
            said, code = _one(verb, number, after, Path(folder))
        codes[code] += 1
        if said:
            wrong.append(f"{' '.join(verb)}, {number.name} after {after:.2f} s: {said}")
    return wrong, codes


if __name__ == "__main__":
    told, seen = campaign(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("\n".join(told) or "nothing was left", dict(seen), sep="\n")
    raise SystemExit(bool(told))
