"""From a fault while serving to a box that serves again: real systemd, podman and engine, no virtual machine, no GPU.

    PYTHONPATH=checks:. python3 -m lab.bench.recover [--trials 20] [--faults stop,cut,kill]

stop: SIGSTOP of the engine's process; cut: its network is taken away; kill: SIGKILL, which systemd itself follows. The
watch has limits of seconds here (3 s without an answer); the role's are 30 s, and 120 s without a token. Needs root.
Exit code 1 where a trial did not serve again by itself, was noticed too late or left no evidence."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.roles.inference.machine import GOOD, UNIT, Machine, machine
from tests.roles.inference.watched import INCIDENTS, RECOVER, policy, ready, signal_engine, soon, steps, until

#: The watch's limit in here, and what it may take longer: a look that waits 2 s for its answer, and a half.
_LIMIT, _MORE = 3.0, 4.5
_FAULTS = ("stop", "cut", "kill")


def _cut(box: Machine) -> None:
    pid = box.run("podman", "inspect", "--format", "{{.State.Pid}}", "tunecheck-inference").stdout.strip()
    box.run("nsenter", "-t", pid, "-n", "ip", "link", "set", "eth0", "down")


def _trial(box: Machine, fault: str) -> tuple[float, float, bool]:
    """Seconds until it was not ready any more, until it served again, and whether evidence is there."""
    box.run("systemctl", "stop", RECOVER)
    box.run("sh", "-c", f"rm -rf /{INCIDENTS} /run/tunecheck/stall.json")
    box.run("systemctl", "reset-failed", UNIT, RECOVER)
    run = box.show("InvocationID")
    begun = time.monotonic()
    if fault == "stop":
        signal_engine(box, "STOP")
    elif fault == "cut":
        _cut(box)
    else:
        signal_engine(box, "KILL")
    if not until(lambda: ready(box)[0] != "200", 60):
        raise SystemExit(f"{fault}: was not noticed within 60 s")
    noticed = time.monotonic() - begun
    if not until(lambda: ready(box)[0] == "200" and box.show("InvocationID") != run, 180):
        raise SystemExit(f"{fault}: does not serve again: {steps(box)}")
    served = time.monotonic() - begun
    kept = list((box.root / INCIDENTS).glob("*/processes.json"))
    return noticed, served, fault == "kill" or (len(kept) == 1 and bool(json.loads(kept[0].read_text())))


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
            wrong += kept < len(found) or (fault != "kill" and max(noticed) > _LIMIT + _MORE)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
