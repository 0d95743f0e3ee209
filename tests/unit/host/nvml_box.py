"""A machine with two boards that are not there: a sysfs of links in a folder, lab/standins/gpu/nvml.c as its library.

Run as a program (dlopen reads LD_LIBRARY_PATH when a process starts), it is `tunecheck` on that machine:
    nvml_box.py FOLDER NVML_DEADLINE ARGUMENTS...
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
GPUS = ("0000:03:00.0", "0000:04:00.0")


def library(folder: Path) -> str:
    """Compile the fake; "" where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return ""
    source = ROOT / "lab/standins/gpu/nvml.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(folder / "libnvidia-ml.so.1"), str(source)],
                   check=True, timeout=120)
    return str(folder)


def tunecheck(libraries: str, folder: Path, mode: str, *arguments: str, deadline: float = 10.0,
              smi: str = "") -> tuple[subprocess.CompletedProcess[str], float, list[str]]:
    """Run a verb there. Returns the process, its seconds, and what it left running."""
    (folder / "bin").mkdir(exist_ok=True)
    if smi:
        program = folder / "bin" / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{smi}\n")
        program.chmod(0o755)
    mark = f"nvml-box-{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "checks"), "LC_ALL": "C.UTF-8", "FAKE_NVML": mode,
                   "LD_LIBRARY_PATH": libraries, "NVML_BOX": mark, "PATH": os.environ["PATH"]}
    before = time.monotonic()
    done = subprocess.run([sys.executable, __file__, str(folder), str(deadline), *arguments], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    seconds = time.monotonic() - before
    return done, seconds, _left(mark)


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, list[dict[str, Any]]]:
    """The findings of a --json run by check."""
    result: dict[str, list[dict[str, Any]]] = {}
    for each in json.loads(done.stdout)["findings"]:
        result.setdefault(each["id"], []).append(each)
    return result


def _left(mark: str) -> list[str]:
    """Processes with that word in their environment, a moment after."""
    for _ in range(50):
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        if not found:
            return []
        time.sleep(0.02)
    return found


def _main(folder: str, deadline: str, arguments: list[str]) -> None:
    from tests.unit.facts import trees

    import tunecheck.host.command as command
    import tunecheck.host.live as live
    from tunecheck.cli.main import main

    # The production code has no switch for this: a test replaces what looks at the machine.
    machine = trees.full(trees.switch())
    for bdf in GPUS:
        machine.realpaths[f"{trees.PCI}/{bdf}/driver"] = "/sys/bus/pci/drivers/nvidia"
    machine.lists["/proc/driver/nvidia/gpus"] = list(GPUS)
    machine.lists["/sys/bus/pci/drivers/nvidia"] = [*GPUS, "bind"]
    machine.realpaths[live._DRIVER[0]] = live._DRIVER[0]
    told = machine.host()

    class Box(live.LiveHost):
        def read_bytes(self, path: str) -> bytes:
            return told.read_bytes(path)

        def list(self, path: str) -> list[str]:
            return told.list(path)

        def realpath(self, path: str) -> str:
            return told.realpath(path)

        def nvml(self, limit: float = 0) -> dict[str, Any]:
            return super().nvml(float(deadline))

        def run(self, argv: tuple[str, ...], limit: float = 0) -> Any:
            if argv[0] != "nvidia-smi":
                return told.run(argv)
            return super().run(argv, float(deadline))

    live.LiveHost = Box  # type: ignore[misc]
    command._ENVIRONMENT["PATH"] = f"{folder}/bin:/usr/bin:/bin"
    os.environ["PATH"] = command._ENVIRONMENT["PATH"]
    sys.argv = ["tunecheck", *arguments]
    main()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _main(sys.argv[1], sys.argv[2], sys.argv[3:])
