"""Two or more revisions of the checker on one lab box: the same documents, and what they cost.

    python -m lab up
    python -m lab.bench.releases record FOLDER REVISION REVISION ... [--runs 5]
    python -m lab.bench.releases costs FOLDER REVISION REVISION ... [--runs 15]
    python -m lab.documents compare FOLDER/REVISION.json FOLDER/OTHER.json

Every revision gets a folder of its own on the box, with the libraries that its own box.lock names, and runs there as
root, in turns with the others. FOLDER gets one file a revision: exit code and JSON document of every verb, without what
differs from one moment to the next (times, ages, counters). The costs are CPU and wall seconds on the box, median and
best over the turns, and their ratio to the first revision: other work on this machine only ever adds.
"""

from __future__ import annotations

import argparse
import io
import json
import shlex
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from lab import access, paths
from lab.machine import Machine

_VERBS = ("topo", "host", "preflight", "driver", "runtime")
#: Of one moment: the same revision says another value a second later.
_MOMENT = frozenset({"created", "taken", "when", "uptime", "age", "seconds", "at", "tunecheck", "took_s"})
_COSTS = {"--help": "--help", "live preflight": "preflight --json /dev/null",
          "topo --from": "topo --json /dev/null --from /tmp/releases.tar.zst"}
_DEADLINE_S = 300


def unpack(box: Machine, name: str, revision: str) -> None:
    """The package and its libraries to /opt/releases/REVISION, readable by root only."""
    with tempfile.TemporaryDirectory(prefix="tunecheck-release-") as folder:
        tree = subprocess.run(["git", "archive", revision, "checks/tunecheck", "docs/checks", "requirements/box.lock"],
                              cwd=paths.REPO, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(tree)) as archive:
            archive.extractall(folder, filter="data")
        python = _run(box, name, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip()
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", f"{folder}/checks",
                        "--python-version", python, "--only-binary", ":all:", "--platform", "manylinux_2_28_x86_64",
                        "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64",
                        "--require-hashes", "-r", f"{folder}/requirements/box.lock"], check=True)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(f"{folder}/checks", "checks")
            archive.add(f"{folder}/docs", "docs")
        place = f"/opt/releases/{revision}"
        _run(box, name, "sh", "-c", f"mkdir -p {place} && tar -x -C {place} && python3 -m compileall -q {place}",
             content=packed.getvalue())


def _run(box: Machine, name: str, *argv: str, content: bytes | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(access.command(box.folder, name, shlex.join(argv)), input=content, capture_output=True,
                          timeout=_DEADLINE_S, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _tunecheck(box: Machine, name: str, revision: str, arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(box, name, "sh", "-c", f"cd /opt/releases/{revision} && PYTHONPATH=checks python3 -m tunecheck "
                f"{arguments}")


def documents(box: Machine, name: str, revision: str) -> dict[str, Any]:
    """Of every verb its exit code and document."""
    said: dict[str, Any] = {}
    for verb in _VERBS:
        done = _tunecheck(box, name, revision, f"{verb} --json -")
        try:
            document = lasting(json.loads(done.stdout))
        except ValueError:
            document = done.stdout + done.stderr
        said[verb] = {"exit": done.returncode, "document": document}
    done = _tunecheck(box, name, revision, "checks")
    said["checks"] = {"exit": done.returncode, "document": done.stdout.split("\n")}
    return said


def lasting(value: Any) -> Any:
    """Without what is of one moment."""
    if isinstance(value, dict):
        return {key: lasting(each) for key, each in value.items() if key not in _MOMENT}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def cost(box: Machine, name: str, revision: str, arguments: str) -> tuple[float, float]:
    """(CPU, wall) seconds of one run, measured on the box."""
    timer = ("import os,subprocess,sys,time; b=time.perf_counter(); "
             "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
             "t=os.times(); print(t.children_user + t.children_system, time.perf_counter() - b)")
    done = _run(box, name, "sh", "-c", f"cd /opt/releases/{revision} && PYTHONPATH=checks python3 -c "
                f"{shlex.quote(timer)} python3 -m tunecheck {arguments}")
    cpu, wall = done.stdout.split()
    return float(cpu), float(wall)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "costs"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("revisions", nargs="+", metavar="REVISION")
    parser.add_argument("--box", default="lab")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    box = Machine(given.box)
    for revision in given.revisions:
        unpack(box, given.box, revision)
    for revision in given.revisions if given.what == "record" else ():
        text = json.dumps(documents(box, given.box, revision), indent=1, sort_keys=True)
        (given.folder / f"{revision}.json").write_text(text + "\n", encoding="utf-8")
    _tunecheck(box, given.box, given.revisions[0], "topo --record /tmp/releases.tar.zst")
    for title, arguments in _COSTS.items():
        times: dict[str, list[tuple[float, float]]] = {revision: [] for revision in given.revisions}
        for turn in range(given.runs + 1):
            for revision in (*given.revisions[turn % len(given.revisions):],
                             *given.revisions[:turn % len(given.revisions)]):    # nobody is always the first
                seconds = cost(box, given.box, revision, arguments)
                if turn:        # the first one fills the caches
                    times[revision].append(seconds)
        first: tuple[float, ...] | None = None
        for revision, pairs in times.items():
            both = tuple(figure(column) for column in zip(*pairs, strict=True) for figure in (statistics.median, min))
            first = first or both
            shown = [f"{one:.3f} s ({one / other:.3f})" for one, other in zip(both, first, strict=True)]
            print(f"{title:<16}{revision:<12}CPU {shown[0]}, best {shown[1]}  wall {shown[2]}, best {shown[3]}",
                  flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
