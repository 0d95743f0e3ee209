"""From a fault while serving to a box that serves again: real systemd, podman and engine, no virtual machine, no GPU.

    PYTHONPATH=checks:. python3 -m lab.bench.recover [--trials 20] [--faults stop,mute,cut,oom,kill]

stop: SIGSTOP of the engine's process; mute: the thread that computes hangs, so that `/health` answers, no token comes
and SIGTERM does not end it; cut: its network is taken away; oom: the kernel's OOM killer takes it (a memory cgroup of
its own, version 1); kill: SIGKILL. systemd itself follows the last two. The watch has limits of seconds here (3 s
without an answer); the role's are 30 s, and 120 s without a token. Needs root. Exit code 1 where a trial did not serve
again by itself, was noticed too late or left no evidence."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from tests.roles.inference.machine import GOOD, KEY, UNIT, Machine, machine
from tests.roles.inference.watched import INCIDENTS, RECOVER, WATCH, policy, ready, signal_engine, soon, steps, until

#: The watch's limit in here, and what it may take longer: a look that waits 2 s for its answer, and a half.
_LIMIT, _MORE = 3.0, 4.5
_FAULTS = ("stop", "mute", "cut", "oom", "kill")
#: Of these systemd sees the end by itself: nothing stalls, and there is no evidence of a stall.
_ENDED = ("oom", "kill")
_MEMORY = Path("/sys/fs/cgroup/memory")
_TGKILL = 234       # x86-64


def _engine(box: Machine) -> psutil.Process:
    for process in psutil.Process(box.first).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "/app/llama-server" in process.cmdline()[:2]:
                return process
    raise SystemExit("the engine's process is not there")


def _cut(box: Machine) -> None:
    """From here: the engine's number is this machine's."""
    cut = ("nsenter", "-t", str(_engine(box).pid), "-n", "ip", "link", "set", "eth0", "down")
    subprocess.run(cut, check=True, timeout=20)


def _mute(box: Machine) -> None:
    """The thread that computes is the one that has computed, beside the first one, which loads Python."""
    engine = _engine(box)
    busy = max((each for each in engine.threads() if each.id != engine.pid), key=lambda each: each.user_time)
    if ctypes.CDLL(None, use_errno=True).syscall(_TGKILL, engine.pid, busy.id, int(signal.SIGUSR1)):
        raise SystemExit(f"the engine's thread cannot be hung: {os.strerror(ctypes.get_errno())}")
    if box.run("curl", "-s", "-m", "3", "http://127.0.0.1:30000/health").returncode:
        raise SystemExit("the engine does not answer /health any more: another thread was hung")


def _oom(box: Machine) -> None:
    """What it asks for from now on is limited to 1 MiB; a prompt of 30 MB needs more."""
    if not _MEMORY.is_dir():
        raise SystemExit(f"oom needs the memory controller of version 1 at {_MEMORY}; leave it out: --faults ...")
    group, engine = _MEMORY / f"tunecheck-bench-{os.getpid()}", _engine(box)
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(1 << 20))
        (group / "cgroup.procs").write_text(str(engine.pid))
        key = (box.root / KEY.lstrip("/")).read_text().strip()
        (box.root / "var/tmp/prompt").write_text(json.dumps({"prompt": "word " * 6_000_000, "max_tokens": 1}))
        box.run("curl", "-s", "-m", "20", "-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json",
                "-d", "@/var/tmp/prompt", "-o", "/dev/null", "http://127.0.0.1:30000/v1/completions")
        engine.wait(20)
        if not int((group / "memory.oom_control").read_text().split("oom_kill ")[1]):
            raise SystemExit("the engine ended, and the OOM killer did not end it")
    finally:
        with contextlib.suppress(OSError):      # one that goes on is in there still
            group.rmdir()


def _trial(box: Machine, fault: str) -> tuple[float, float, bool]:
    """Seconds until it was not ready any more, until it served again, and whether evidence is there."""
    box.run("systemctl", "stop", RECOVER)
    box.run("sh", "-c", f"rm -rf /{INCIDENTS} /run/tunecheck/stall.json")
    box.run("systemctl", "reset-failed", UNIT, RECOVER)
    run = box.show("InvocationID")
    begun = time.monotonic()
    {"stop": lambda: signal_engine(box, "STOP"), "mute": lambda: _mute(box), "cut": lambda: _cut(box),
     "oom": lambda: _oom(box), "kill": lambda: signal_engine(box, "KILL")}[fault]()
    if not until(lambda: ready(box)[0] != "200", 60):
        raise SystemExit(f"{fault}: was not noticed within 60 s")
    noticed = time.monotonic() - begun
    if not until(lambda: ready(box)[0] == "200" and box.show("InvocationID") != run, 180):
        said = box.say("systemctl", "status", UNIT, WATCH, RECOVER, "--no-pager", "--full")
        raise SystemExit(f"{fault}: does not serve again: {ready(box)}; {steps(box)}\n{said}")
    served = time.monotonic() - begun
    kept = list((box.root / INCIDENTS).glob("*/processes.json"))
    return noticed, served, fault in _ENDED or (len(kept) == 1 and bool(json.loads(kept[0].read_text())))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--faults", default=",".join(_FAULTS))
    given = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="tunecheck-bench") as folder, machine(Path(folder) / "box") as box:
        soon(box)
        policy(box, "restart", 24)
        done = box.hand_over(box.recipe("lab-good", GOOD))
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        print("| fault | trials | noticed, median (worst) | serves again, median (worst) | evidence |")
        print("|---|---|---|---|---|")
        for fault in given.faults.split(","):
            found = []
            for _ in range(given.trials):
                if not until(lambda: ready(box)[0] == "200", 120):
                    raise SystemExit(f"is not ready: {ready(box)}")
                found.append(_trial(box, fault))
            noticed, served = [each[0] for each in found], [each[1] for each in found]
            kept = sum(each[2] for each in found)
            print(f"| {fault} | {len(found)} | {statistics.median(noticed):.1f} s ({max(noticed):.1f} s) | "
                  f"{statistics.median(served):.1f} s ({max(served):.1f} s) | {kept} of {len(found)} |", flush=True)
            wrong += kept < len(found) or (fault not in _ENDED and max(noticed) > _LIMIT + _MORE)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
