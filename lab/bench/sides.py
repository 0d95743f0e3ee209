"""Runs verbs of two codes beside each other: this one, and another folder with its `tunecheck`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Side", "Spent", "side", "sides"]


#: Runs a program and writes what it spent to a file. From a small process of its own: Linux counts what the process
#: that started a program had in memory as the program's, so that a benchmark which holds 188 MiB finds no less.
_MEASURED = """
import json, os, sys, time
begun = time.monotonic()
child = os.fork()
if not child:
    os.execv(sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, time.monotonic() - begun,
               used.ru_maxrss], file)
"""


@dataclass(frozen=True)
class Spent:
    """Of one verb with all its children: CPU seconds of user and system, seconds of wall time, MiB of the largest of
    its processes, and what it printed."""

    cpu: float
    wall: float
    rss: float
    said: bytes


@dataclass(frozen=True)
class Side:
    """One code, as a package has it: with its bytecode, whatever the environment says of that."""

    checks: Path
    env: dict[str, str]

    def spent(self, *verb: str, ends: tuple[int, ...] = (0, 3)) -> Spent:
        """Run `tunecheck` with these words. SystemExit where it ends with another code than ``ends``."""
        with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile() as spent:
            subprocess.run([sys.executable, "-I", "-S", "-c", _MEASURED, spent.name, sys.executable, "-m", "tunecheck",
                            *verb], stdout=output, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env,
                           check=True)
            ended, cpu, wall, rss = json.loads(spent.read())
            output.seek(0)
            said = output.read()
        if ended not in ends:
            raise SystemExit(f"{self.checks}: tunecheck {' '.join(verb)} ended with {ended}")
        return Spent(cpu, wall, rss / 1024, said)


def sides(folder: Path, other: Path | None) -> list[Side]:
    """This code, then the ``other`` where there is one. Their bytecode goes below ``folder``."""
    import tunecheck

    both = [Path(tunecheck.__file__).parents[1], *([other.resolve()] if other else [])]
    return [side(checks, folder / f"bytecode{number}") for number, checks in enumerate(both)]


def side(checks: Path, bytecode: Path, *more: Path) -> Side:
    """The code in ``checks``, compiled to ``bytecode``. ``more``: other folders to import from, such as the tree."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (checks, *more))), "PYTHONPYCACHEPREFIX": str(bytecode)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(checks)], env=env, check=True)
    return Side(checks, env)
