"""From a fault while serving to a box that serves again: real systemd, podman and engine, no GPU.

    PYTHONPATH=checks:. python3 -m lab.bench.recover [--vm] [--trials 20] [--faults stop,group,mute,cut,oom,kill]
                                                     [--minutes N] [--json FILE]

lab/bench/recover_trial.py has the faults, makes them on the box and measures there, by the box's own clock. With --vm
the box is a lab VM that site.yml provisions from nothing, with the role's own limits: 30 s without an answer, which is
what each of these faults comes to. Without it the box is namespaces of this machine, without a kernel of its own, and
the watch has limits of seconds (3 s). Faults come in turns, so that a run that ends early has as many of each. A line
for each trial as it ends, then a table; --minutes: no trial is begun later. Needs root. Exit code 1 where a trial did
not serve again by itself, was noticed too late or left no evidence; or where there was none."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bench import recover_trial, recover_vm

Trial = dict[str, Any]
_SCRIPT = Path(recover_trial.__file__)
#: In seconds: what the watch may take beyond its limit.
MORE = 2.0


@dataclass(frozen=True)
class Place:
    """``run`` makes a trial of a fault. ``limit``: of the watch there, in seconds."""

    run: Callable[[str], Trial]
    limit: float


def _parsed(fault: str, output: str, said: str) -> Trial:
    """What the script printed; where it ended before that, why."""
    try:
        return json.loads(output.splitlines()[-1])  # type: ignore[no-any-return]
    except (ValueError, IndexError):
        return {"fault": fault, "noticed": None, "served": None, "why": said.strip()[-2000:]}


@contextlib.contextmanager
def _namespaces(folder: Path) -> Iterator[Place]:
    from tests.roles.inference.machine import GOOD, machine
    from tests.roles.inference.watched import policy, soon

    with machine(folder / "box") as box:
        soon(box)
        policy(box, "restart", 24)
        done = box.hand_over(box.recipe("lab-good", GOOD))
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)

        def run(fault: str) -> Trial:
            done = box.run("python3", str(_SCRIPT), fault, seconds=3000)
            return _parsed(fault, done.stdout, done.stderr)

        yield Place(run, 3.0)


@contextlib.contextmanager
def _vm(folder: Path) -> Iterator[Place]:
    with recover_vm.box(folder) as box:
        box.ssh(f"cat > /root/{_SCRIPT.name} << 'END'\n{_SCRIPT.read_text()}\nEND")

        def run(fault: str) -> Trial:
            output = box.ssh(f"python3 /root/{_SCRIPT.name} {fault} 2>&1", check=False, timeout=3000)
            return _parsed(fault, output, output)

        yield Place(run, 30.0)


def missed(trial: Trial, place: Place) -> str:
    """What a trial did not do, or ""."""
    if trial["noticed"] is None or trial["served"] is None:
        return f"not noticed, or does not serve again: {trial.get('why', trial)}"
    if trial["noticed"] > place.limit + MORE:
        return f"noticed later than {place.limit:g} s + {MORE:g} s"
    if trial["answer"] != 200 or (trial["fault"] == "mute" and trial["health"] != 200):
        return f"an answer is {trial['answer']}, /health under the fault {trial['health']}"
    return "" if trial["evidence"] else "no evidence"


def _seconds(found: list[float]) -> str:
    return f"{statistics.median(found):.1f} s ({max(found):.1f} s)" if found else "never"


def table(trials: list[Trial]) -> str:
    """A row for each fault."""
    lines = ["| fault | trials | noticed, median (worst) | without service, median (worst) | evidence | missed |",
             "|---|---|---|---|---|---|"]
    for fault in dict.fromkeys(each["fault"] for each in trials):
        of = [each for each in trials if each["fault"] == fault]
        times = [_seconds([each[name] for each in of if each[name] is not None]) for name in ("noticed", "served")]
        lines.append(f"| {fault} | {len(of)} | {times[0]} | {times[1]} | "
                     f"{sum(bool(each.get('evidence')) for each in of)} of {len(of)} | "
                     f"{sum(bool(each['missed']) for each in of)} |")
    return "\n".join(lines)


def _trials(place: Place, faults: list[str], given: argparse.Namespace, kept: list[Trial]) -> None:
    began = time.monotonic()
    for turn in range(given.trials):
        for fault in faults:
            if given.minutes is not None and time.monotonic() - began > given.minutes * 60:
                return
            trial = place.run(fault)
            trial |= {"missed": missed(trial, place), "load": round(os.getloadavg()[0], 1)}
            kept.append(trial)
            print(f"{time.strftime('%H:%M:%S')} {turn + 1} {fault}: noticed after {trial['noticed']} s, served after "
                  f"{trial['served']} s{', MISSED: ' if trial['missed'] else ''}{trial['missed']}", flush=True)
            if given.json:
                document = {"vm": given.vm, "limit": place.limit, "more": MORE, "trials": kept}
                Path(given.json).write_text(json.dumps(document, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vm", action="store_true")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--faults", default=",".join(recover_trial.FAULTS))
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    faults = given.faults.split(",")
    if unknown := set(faults) - set(recover_trial.FAULTS):
        parser.error(f"--faults: {', '.join(sorted(unknown))}; expected some of {', '.join(recover_trial.FAULTS)}")
    # So that the box ends with us, and what was measured is said.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="tunecheck-bench") as folder, contextlib.suppress(KeyboardInterrupt), \
            (_vm if given.vm else _namespaces)(Path(folder)) as place:
        _trials(place, faults, given, trials)
    print(table(trials))
    return int(not trials or any(each["missed"] for each in trials))


if __name__ == "__main__":
    sys.exit(main())
