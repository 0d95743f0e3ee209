"""What does an audit cost the control node, beside `ansible -m setup` with the same forks?

    .venv/bin/python -m lab.bench.audit [--hosts 200] [--forks 5] [--names 1000] [--slow 60] [--kex both]

An audit is the whole verb: asked, kept in a new history, judged and shown; "asking" is its first part alone. Real sshd
processes on loopback are the boxes, with a stand-in that prints a recorded snapshot; they share this machine's
processors, so that wall times are pessimistic for both sides. CPU time is user and system time of the whole controller
tree, ssh's daemonised masters included (this process is their subreaper), the boxes excluded. Each side starts cold.
Exit code 1 when a goal is missed.

Memory is of all processes together, what they share counted once (PSS), and of the largest alone (RSS).

More names than boxes, and boxes that take their time, are asked as an audit does by itself: a few at a time, more while
boxes only wait. The slow ones also with --forks, to compare.

With OpenSSH 9.0 to 9.8 both sides spend about 65 ms per connection on the sntrup761 key exchange, their default; the
lines with "curve25519" show it. The opt-in is the operator's, so that both are judged.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import psutil
from tests.ssh_server import SSHD
from tests.unit.fleet.boxes import STAND_IN, Boxes
from tests.unit.fleet.snapshots import snapshot_of

from lab.bench.lines import Line, at_most, shown
from tunecheck_fleet.collect.kex import client

CPU, WALL, MEMORY = 0.4, 0.3, 200.0     # shares of setup's; MiB
NAMES_CPU, NAMES_MEMORY = 60.0, 150.0   # seconds; MiB
# Finding an interpreter would cost setup another connection.
VARIABLES = {"ansible_ssh_use_tty": False, "ansible_python_interpreter": "/usr/bin/python3"}
_SUBREAPER = 36                         # PR_SET_CHILD_SUBREAPER
_SAMPLE = 0.5
SLOW = (0.2, 0.7, 3.0)                  # seconds
KEXES = {"both": ("", "curve25519"), "default": ("",), "curve25519": ("curve25519",)}
# `tunecheck audit`, but that the boxes' command lies where this made it.
AUDIT = """
import sys
from functools import partial
from tunecheck_fleet import collect
tool, store, forks, kex, inventory = sys.argv[1:]
collect.Options = partial(collect.Options, tools=(tool,), ship=False)
sys.argv = ["tunecheck", "audit", "-i", inventory, "--store", store]
sys.argv += ["--forks", forks] if forks else []
sys.argv += ["--ssh-kex", kex] if kex else []
from tunecheck.__main__ import main
main()
"""
# Of it the asking alone.
ASKING = """
import sys
from tunecheck_fleet.collect import Options, collect
tool, _, forks, kex, inventory = sys.argv[1:]
ok = []
options = Options(forks=int(forks) if forks else None, tools=(tool,), ssh_kex=kex or None, ship=False)
done = collect(inventory, None, options, lambda answer: ok.append(answer.host) if answer.status == "ok" else None)
print(f"{len(done.asked)} hosts: {len(ok)} ok;")
"""


@dataclass(frozen=True)
class Spent:
    """Of one controller: seconds, seconds, MiB of all its processes (each page once), MiB of the largest of them, and
    what it printed."""

    cpu: float
    wall: float
    memory: float
    largest: float
    said: str


def spent(argv: list[str], env: dict[str, str]) -> Spent:
    """Run it in a process that has no other children: the boxes are this one's."""
    done = subprocess.run([sys.executable, "-m", "lab.bench.audit", "--measure", *argv], env=env,
                          stdout=subprocess.PIPE, check=True)
    return Spent(**json.loads(done.stdout))


def _spent(argv: list[str]) -> Spent:
    """Run it to its end, and end what it left behind."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+") as output:
        began, most, largest = time.monotonic(), 0, 0
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        while child.poll() is None:
            together, one = _held()
            most, largest = max(most, together), max(largest, one)
            with suppress(subprocess.TimeoutExpired):
                child.wait(_SAMPLE)
        wall = time.monotonic() - began
        while left := psutil.Process().children():
            for process in left:
                with suppress(psutil.Error):
                    process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        output.seek(0)
        said = output.read()
    if child.returncode not in (0, 2):
        raise SystemExit(f"bench_audit: {argv[0]} ended with {child.returncode}: {said[-500:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(cpu, wall, most / 1024, largest / 1024, said)


def _held() -> tuple[int, int]:
    """KiB of all processes together, what they share counted once (PSS), and of the largest alone (RSS)."""
    total = largest = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(OSError):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
            held = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
            total, largest = total + held.get("Pss", 0), max(largest, held.get("Rss", 0))
    return total, largest


def measure(program: str, inventory: Path, tool: str, forks: int | None, kex: str, hosts: int) -> Spent:
    """One run, with a history of its own; every host has to answer. ``forks``: None leaves it to the audit."""
    with tempfile.TemporaryDirectory() as folder:
        run = spent([sys.executable, "-c", program, tool, f"{folder}/fleet.db", str(forks or ""), kex, str(inventory)],
                    dict(os.environ))
    if f"{hosts} hosts: {hosts} ok;" not in " ".join(run.said.split()):
        raise SystemExit(f"bench_audit: not every box answered: {run.said[:800]}")
    return run


def setup(inventory: Path, forks: int, hosts: int) -> Spent:
    """`ansible -m setup` as it comes, without an ansible.cfg."""
    ansible = str(Path(sys.executable).with_name("ansible"))
    config = inventory.with_name("ansible.cfg")
    config.touch()
    env = {**os.environ, "ANSIBLE_CONFIG": str(config), "ANSIBLE_NOCOLOR": "1"}
    run = spent([ansible, "all", "-i", str(inventory), "-m", "setup", "--forks", str(forks)], env)
    if run.said.count("| SUCCESS =>") != hosts:
        raise SystemExit(f"bench_audit: setup did not reach all {hosts}: {run.said[-800:]}")
    return run


def slow(boxes: Boxes, count: int, forks: int, kex: str) -> Iterator[Line]:
    """Boxes that take their time, as real snapshots do: as an audit asks them, and with ``forks``."""
    tool = boxes.tool.with_name("slow")
    tool.touch(0o755)
    for seconds in SLOW:
        tool.write_text(STAND_IN.replace("exec", f"sleep {seconds}; exec"))
        own, fixed = (measure(AUDIT, with_names(boxes, count), str(tool), given, kex, count) for given in (None, forks))
        part = f"audit, {count} boxes that take {seconds:g} s, theirs: {forks} forks"
        yield from (Line(part, "wall", own.wall, fixed.wall, "s"),
                    Line(part, "control node's CPU", own.cpu, fixed.cpu, "s"),
                    at_most(part, "memory, all processes", own.memory, "MiB", MEMORY, fixed.memory))


def with_names(boxes: Boxes, names: int) -> Path:
    """The same boxes under other names, also more of them."""
    document = json.loads(boxes.inventory(**VARIABLES).read_text())
    hosts = list(document["all"]["hosts"].values())
    document["all"]["hosts"] = {f"name{number:04}": hosts[number % len(hosts)] for number in range(names)}
    path = boxes.folder / "names.yml"
    path.write_text(json.dumps(document))
    return path


def lines(hosts: int, names: int, slow_ones: int, forks: int, kexes: tuple[str, ...], folder: Path) -> Iterator[Line]:
    """Each when it is measured. ``kexes``: the key exchanges to ask for, "" for ssh's own choice."""
    boxes = Boxes(folder)
    try:
        for number in range(hosts):
            boxes.add(f"box{number:03}", snapshot_of(f"box{number:03}"))
        boxes.start()
        inventory, tool = boxes.inventory(**VARIABLES), str(boxes.tool)
        theirs = setup(inventory, forks, hosts)
        for kex, (doing, program) in product(kexes, (("asking", ASKING), ("audit", AUDIT))):
            ours = measure(program, inventory, tool, forks, kex, hosts)
            part = f"{doing}, {kex or client().first}"
            yield from (
                at_most(part, f"control node's CPU, {hosts} hosts, {forks} forks", 1000 * ours.cpu / hosts,
                        "ms", CPU, 1000 * theirs.cpu / hosts, ratio=True),
                at_most(part, "wall", ours.wall, "s", WALL, theirs.wall, ratio=True),
                at_most(part, "memory, all processes", ours.memory, "MiB", MEMORY, theirs.memory),
                Line(part, "memory, the largest process", ours.largest, theirs.largest, "MiB"),
            )
            if names:
                many = measure(program, with_names(boxes, names), tool, None, kex, names)
                yield from (
                    at_most(part, f"control node's CPU, {names} names", many.cpu, "s", NAMES_CPU),
                    at_most(part, f"memory, {names} names, all processes", many.memory, "MiB", NAMES_MEMORY),
                    at_most(part, f"memory, {names} names, the largest process", many.largest, "MiB", NAMES_MEMORY),
                    Line(part, f"wall, {names} names", many.wall, unit="s"),
                )
        if slow_ones:
            yield from slow(boxes, slow_ones, forks, kexes[-1])
    finally:
        boxes.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--names", type=int, default=1000, help="0: leave this part out")
    parser.add_argument("--slow", type=int, default=60, help="boxes that take their time; 0: leave this part out")
    parser.add_argument("--forks", type=int, default=5, help="of both sides; default: Ansible's own")
    parser.add_argument("--kex", choices=list(KEXES), default="both", help="which key exchange is asked for")
    parser.add_argument("--measure", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(asdict(_spent(args.measure))))
        return 0
    if SSHD is None:
        raise SystemExit("bench_audit: no sshd; apt-get install openssh-server")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # so that the boxes end with it
    folder, missed = Path(tempfile.mkdtemp(prefix="bench-audit-")), False
    try:
        for line in lines(args.hosts, args.names, args.slow, args.forks, KEXES[args.kex], folder):
            print(shown(line), flush=True)
            missed = missed or line.good is False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
