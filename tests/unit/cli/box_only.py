"""An environment with nothing but what `requirements/box.lock` installs, and a process that runs many calls in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "environment", "locked", "run"]

ROOT = Path(__file__).parents[3]
#: Each call in a process of its own, with a deadline: the command is loaded once, which is most of a call's time. Some
#: at once, as a few wait for an answer that never comes.
_MANY = """
import gc, json, os, signal, sys
import tunecheck.cli.main
from tunecheck.__main__ import main
gc.disable(), gc.freeze()       # a call ends before there is garbage; to look for it costs a seventh of its time
calls, running, answers = json.load(sys.stdin), {}, {}

def end():
    child, status = os.waitpid(-1, 0)
    number = running.pop(child)
    answers[number] = os.waitstatus_to_exitcode(status), open(f"out{number}", errors="replace").read()

for number, call in enumerate(calls):
    if len(running) == 6:
        end()
    child = os.fork()
    if not child:
        out = os.open(f"out{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(out, 1), os.dup2(out, 2)
        os.mkdir(f"call{number}"), os.chdir(f"call{number}")
        signal.alarm(60)
        sys.argv = ["tunecheck", *call]
        main()
        os._exit(0)
    running[child] = number
while running:
    end()
json.dump([answers[number] for number in range(len(calls))], sys.stdout)
"""


def locked(lock: str) -> set[str]:
    """Return the distributions that a lock file installs."""
    return set(re.findall(r"(?m)^([a-z0-9-]+)==", (ROOT / "requirements" / lock).read_text()))


def environment(folder: Path) -> Path:
    """Make a folder of packages with what the box's lock names, and with the packages of the box's wheel."""
    folder.mkdir()
    for name in locked("box.lock"):
        found = distribution(name)
        for first in {each.parts[0] for each in found.files or () if each.parts[0] not in ("..", "__pycache__")}:
            (folder / first).symlink_to(Path(str(found.locate_file(first))))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        (folder / Path(package).name).symlink_to(ROOT / package)
    return folder


def run(packages: Path, folder: Path, program: str = _MANY, data: Any = None) -> str:
    """Return what a Python program prints there."""
    (folder / "paste.txt").write_text("[    5.0] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n")
    kept = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8", "TUNECHECK_STORE": str(folder / "store.db")}
    done = subprocess.run([sys.executable, "-S", "-P", "-c", program], cwd=folder, env=kept, input=json.dumps(data),
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules_of(names: set[str]) -> set[str]:
    """Return the modules at the top of these distributions, as far as they are installed here."""
    found = set[str]()
    for name in names:
        try:
            files = distribution(name).files or ()
        except PackageNotFoundError:
            continue
        found |= {each.parts[0].removesuffix(".py") for each in files
                  if each.suffix == ".py" and (len(each.parts) == 1 or each.parts[1:] == ("__init__.py",))}
    return found
