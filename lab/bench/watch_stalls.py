"""Faults of a tensor-parallel engine on real GPUs: noticed, the right rank blamed, GPUs proven, served again?

    PYTHONPATH=checks:. python3 -m lab.bench.watch_stalls [--trials 20] [--faults stop,skip,kernel,thread,kill]
        [--pairs 10] [--json FILE] [--by-hand]

stop: SIGSTOP of a rank; skip: a rank does not enter a collective; kernel: a kernel that never ends, on all SMs;
thread: the same with one thread; kill: SIGKILL of a rank. The engine is a stand-in (lab/tensor_parallel), the watch and
the way of a recovery are the real ones, with limits of seconds (spin 3 s); systemd is played. --by-hand: watched as an
engine that somebody started himself (`watch --pid`), without a recovery; it is started again by hand, too. --pairs:
throughput with and without the watch, in turns. Needs root, PyTorch and at least two GPUs that nothing else uses. Exit
code 1 where a trial was not noticed within the limit and 2 s, a wrong rank was blamed, or it did not serve again."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import queue
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.tensor_parallel.rank import GRID, SKIP, THREAD
from lab.tensor_parallel.standin import UNIT

_ROOT = Path(__file__).resolve().parents[2]
_PORT, _SPIN = 30117, 3.0
_WATCH = ("--interval", "0.5s", "--spin", "3s", "--stall", "12s", "--silent", "6s", "--json")
_INCIDENTS = Path("/var/lib/tunecheck/incidents")
_INSIDE = "TP_STANDIN"
#: Student's t for 95 %, by the degrees of freedom.
_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 19: 2.093}
_FAULTS: dict[str, tuple[int, int]] = {"stop": (signal.SIGSTOP, 0), "kill": (signal.SIGKILL, 0), "skip": (0, SKIP),
                                       "kernel": (0, GRID), "thread": (0, THREAD)}


class Box:
    """The stand-in and what is asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ask(self, *words: str) -> str:
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(10)
            door.connect(str(self.folder / "manager"))
            door.sendall(json.dumps(words).encode())
            return b"".join(iter(lambda: door.recv(65536), b"")).decode()

    def ranks(self) -> dict[str, Any]:
        return dict(json.loads(self.ask("ranks")))

    def serves(self) -> bool:
        report = self.ranks()
        return bool(report["active"] == "active" and not report["recovering"])


class Watching:
    """`tunecheck watch` in its own process; what it said, with the time at which it said it."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tunecheck", "watch", "--url", f"http://127.0.0.1:{_PORT}", *_WATCH, *arguments],
            stdout=subprocess.PIPE, text=True)
        self.reports: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.reports.put((time.monotonic(), json.loads(line)))

    def until(self, state: str, seconds: float) -> tuple[float, dict[str, Any]] | None:
        """The first word of this state from now on."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                at, report = self.reports.get(timeout=left)
                if report["state"] == state:
                    return at, report
        return None

    def forget(self) -> None:
        while not self.reports.empty():
            self.reports.get()

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)


def _until(what: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def _trial(box: Box, watching: Watching, fault: str, rank: int) -> dict[str, Any]:
    """What came of one fault; times in seconds since it."""
    shutil.rmtree(_INCIDENTS, ignore_errors=True)
    before, (number, word) = box.ranks(), _FAULTS[fault]
    pid = before["pids"][rank]
    watching.forget()
    begun = time.monotonic()
    if number:
        os.kill(pid, number)
    else:
        box.ask("fault", str(rank), str(word))
    stalled = watching.until("stalled", 30)
    found: dict[str, Any] = {"fault": fault, "rank": rank, "noticed": stalled and round(stalled[0] - begun, 2)}
    again = _until(lambda: box.serves() and box.ranks()["pids"][rank] != pid, 90)
    found["served"] = round(time.monotonic() - begun, 2) if again else None
    steps = _steps()
    first = steps[0] if steps else {}
    culprit = first.get("culprit")
    proof = json.loads((box.folder / "proof.json").read_text())
    place = next(iter(_INCIDENTS.glob("*/nccl-ras.txt")), None)
    text = place.read_text() if place else ""
    kept = json.loads((place.parent / "stall.json").read_text()) if place else {}
    seen = kept.get("watch", {})
    return {**found, "blamed": None if culprit is None else culprit["pid"] == pid and culprit["rank"] in (None, rank),
            "culprit": culprit, "claims": seen.get("claims"), "sms": seen.get("busy_sms_percent"),
            "codes": first.get("codes"), "last_looks": kept.get("timeline", [])[-6:],
            "steps": {each["step"]: round(each["at"] - first["at"], 1) for each in steps},
            "ras": "NCCL version" in text, "ras_text": text, "proven": proof["verdict"], "proof": proof["seconds"]}


def _trial_by_hand(box: Box, fault: str, rank: int) -> dict[str, Any]:
    """What the watch of a process says of one fault; then the engine is started again."""
    before, (number, word) = box.ranks(), _FAULTS[fault]
    pid, main = before["pids"][rank], re.search(r"MainPID=(\d+)", box.ask("show", UNIT))
    assert main is not None
    watching = Watching("--pid", main[1])
    try:
        watching.until("serving", 20)
        time.sleep(4.0)         # it learns whose GPUs they are
        begun = time.monotonic()
        if number:
            os.kill(pid, number)
        else:
            box.ask("fault", str(rank), str(word))
        told = last = watching.until("stalled", 30)
        # Who is to blame may be told a little later: NVML and NCCL are asked where a stall is near.
        while last and last[1]["culprit"] is None and (more := watching.until("stalled", 12)):
            last = more
    finally:
        watching.end()
    box.ask("kill", UNIT)
    _until(lambda: "ActiveState=failed" in box.ask("show", UNIT), 30)
    box.ask("start", UNIT)
    served, culprit = _until(lambda: box.serves() and box.ranks()["pids"][rank] != pid, 90), last and last[1]["culprit"]
    return {"fault": fault, "rank": rank, "noticed": told and round(told[0] - begun, 2), "culprit": culprit,
            "named": last and round(last[0] - begun, 2),
            "codes": told and [each["code"] for each in told[1]["reasons"]], "started_again": served,
            "blamed": None if culprit is None else culprit["pid"] == pid and culprit["rank"] in (None, rank)}


def _steps() -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in (_INCIDENTS / "journal.jsonl").read_text().splitlines()]
    except OSError:
        return []


def _rate(box: Box, seconds: float) -> float:
    first, begun = box.ranks()["steps"][0], time.monotonic()
    time.sleep(seconds)
    return float(box.ranks()["steps"][0] - first) / (time.monotonic() - begun)


def _pairs(box: Box, count: int) -> dict[str, Any]:
    """Steps a second without and with the watch, in turns; the difference in % with its 95 % interval (t)."""
    lost, rates = [], []
    for turn in range(count):
        pair = {}
        for watched in ((False, True), (True, False))[turn % 2]:
            watching = Watching("--unit", UNIT, "--interval", "1s") if watched else None
            time.sleep(1.0)
            pair[watched] = _rate(box, 3.0)
            if watching is not None:
                watching.end()
        rates.append((round(pair[False], 1), round(pair[True], 1)))
        lost.append(100 * (pair[False] - pair[True]) / pair[False])
    mean, spread = statistics.mean(lost), statistics.stdev(lost) / math.sqrt(count)
    wide = _STUDENT[count - 1] * spread
    return {"pairs": rates, "lost_percent": round(mean, 3), "interval": [round(mean - wide, 3), round(mean + wide, 3)]}


@contextmanager
def _standin(folder: Path) -> Iterator[Box]:
    running = subprocess.Popen([sys.executable, "-m", "lab.tensor_parallel.standin", str(folder), str(_PORT)])
    box = Box(folder)
    try:
        if not _until((folder / "manager").exists, 60):
            raise SystemExit("the stand-in does not start")
        box.ask("start", UNIT)
        if not _until(box.serves, 120):
            errors = [each.read_text() for each in folder.glob("rank-*.txt")]
            raise SystemExit(f"the stand-in does not serve: {box.ranks()} {errors}")
        yield box
    finally:
        running.terminate()
        running.wait(timeout=30)


def _table(found: list[dict[str, Any]]) -> bool:
    print("| fault | trials | noticed in time | right rank | nobody blamed | GPUs proven | stall to serving, median "
          "(worst) |\n|---|---|---|---|---|---|---|")
    good = True
    for fault in dict.fromkeys(each["fault"] for each in found):
        these = [each for each in found if each["fault"] == fault]
        served = [each["served"] for each in these if each["served"] is not None]
        sure = [each for each in these if each["noticed"] is not None and each["noticed"] <= _SPIN + 2]
        right, nobody = (sum(each["blamed"] is value for each in these) for value in (True, None))
        proven = sum(each["proven"] in ("recovered", "ghost latch") for each in these)
        times = f"{statistics.median(served):.1f} s ({max(served):.1f} s)" if served else "never"
        print(f"| {fault} | {len(these)} | {len(sure)} | {right} | {nobody} | {proven} | {times} |", flush=True)
        good = good and len(sure) == len(served) == proven == len(these) and right + nobody == len(these)
    return good


def _inside(arguments: list[str]) -> int:
    """In a mount namespace of our own, with our systemctl and empty folders for what the box keeps."""
    with tempfile.TemporaryDirectory(prefix="tunecheck-tp-") as folder:
        for name in ("/var/lib/tunecheck", "/run/tunecheck"):
            Path(name).mkdir(parents=True, exist_ok=True)
        script = ("for each in /usr/local/sbin /var/lib/tunecheck /run/tunecheck; do mount -t tmpfs none $each; done; "
                  f"install -m 755 {_ROOT}/lab/tensor_parallel/systemctl.py /usr/local/sbin/systemctl && "
                  "exec \"$0\" \"$@\"")
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, sys.executable, "-m", "lab.bench.watch_stalls",
                               *arguments], check=False, env={**os.environ, _INSIDE: folder}).returncode


def _by_hand(box: Box, given: argparse.Namespace) -> int:
    found = []
    for trial in range(given.trials):
        for fault in given.faults.split(","):
            found.append(_trial_by_hand(box, fault, (trial + 1) % len(box.ranks()["pids"])))
            print(json.dumps(found[-1]), flush=True)
    return int(any(each["noticed"] is None or each["noticed"] > _SPIN + 2 or each["blamed"] is False for each in found))


def main() -> int:
    """Run, print, and keep what was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--faults", default="stop,skip,kernel,thread,kill")
    parser.add_argument("--pairs", type=int, default=0, choices=[0, *(each + 1 for each in _STUDENT)])
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no trial after so long")
    parser.add_argument("--json")
    parser.add_argument("--by-hand", action="store_true")
    given = parser.parse_args()
    if _INSIDE not in os.environ:
        return _inside(sys.argv[1:])
    begun, found, pairs = time.monotonic(), list[dict[str, Any]](), None
    with _standin(Path(os.environ[_INSIDE])) as box:
        if given.pairs:
            pairs = _pairs(box, given.pairs)
            print(json.dumps(pairs), flush=True)
        if given.by_hand:
            return _by_hand(box, given)
        watching = Watching("--unit", UNIT, "--act")
        watching.until("serving", 20)
        try:
            # Fault by fault in turns: a run that is cut short has some of each.
            for trial in range(given.trials):
                for fault in given.faults.split(","):
                    if time.monotonic() - begun > given.seconds:
                        break
                    time.sleep(2.0)         # the watch learns whose GPUs they are
                    found.append(_trial(box, watching, fault, (trial + 1) % len(box.ranks()["pids"])))
                    print(json.dumps({name: found[-1][name] for name in (
                        "fault", "rank", "noticed", "served", "blamed", "steps", "proof", "ras", "sms")}), flush=True)
                    if given.json:
                        Path(given.json).write_text(json.dumps({"throughput": pairs, "trials": found}, indent=1))
                    if found[-1]["served"] is None:
                        raise SystemExit(f"it does not serve again: {json.dumps(found[-1])[:4000]}")
        finally:
            watching.end()
    return 0 if _table(found) else 1


if __name__ == "__main__":
    sys.exit(main())
