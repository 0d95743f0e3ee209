"""Runs verbs of two codes beside each other: this one, and another folder with its `tunecheck`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Side", "Spent", "side", "sides"]


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
        with tempfile.TemporaryFile() as output:
            begun = time.monotonic()
            child = subprocess.Popen([sys.executable, "-m", "tunecheck", *verb], stdout=output,
                                     stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
            _, status, used = os.wait4(child.pid, 0)
            wall = time.monotonic() - begun
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            said = output.read()
        if child.returncode not in ends:
            raise SystemExit(f"{self.checks}: tunecheck {' '.join(verb)} ended with {child.returncode}")
        return Spent(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, said)


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
