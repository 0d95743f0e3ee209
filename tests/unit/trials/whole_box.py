"""`tunecheck` as a whole on a box of two GPUs that are not there: real workers on the fake libcuda and libnccl, the
real NVML child on the fake libnvidia-ml, evidence from this machine's /proc, ps and dmesg, PCI from a tree in memory.

Run as a program, because what it mounts ends with it:
    python -m tests.unit.trials.whole_box '{...}' ARGUMENTS...
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["Done", "command", "environment", "may_mount", "run"]

REPO = Path(__file__).resolve().parents[3]
_COUNTERS = {"correctable": "BadTLP {0}\nRxErr 0\nTOTAL_ERR_COR {0}\n", "nonfatal": "DLP 0\nTOTAL_ERR_NONFATAL 0\n",
             "fatal": "DLP 0\nTOTAL_ERR_FATAL 0\n"}


@dataclass(frozen=True)
class Done:
    """``left``: names of what lay where the evidence goes, in the end."""

    code: int
    report: dict[str, Any]
    errors: str
    left: tuple[str, ...]

    @property
    def hang(self) -> dict[str, Any]:
        (found,) = self.report["measured"]["hangs"]
        return dict(found)

    def codes(self, check: str) -> set[str]:
        """What a check says, as its codes."""
        return {each["code"] for each in self.report["findings"] if each["id"] == check}

    def message(self, check: str) -> str:
        return " ".join(each["message"] for each in self.report["findings"] if each["id"] == check)


def may_mount() -> str:
    """Why no filesystem can be mounted here; "" where it can."""
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False, timeout=20)
    return "" if done.returncode == 0 and os.access("/dev/fuse", os.W_OK) else "needs root and /dev/fuse"


def environment(libraries: Path, folder: Path, cuda: str = "", nccl: str = "", used: bool = False) -> dict[str, str]:
    """``used``: a process (pid 4321) is on the GPUs."""
    return {**os.environ, "LD_LIBRARY_PATH": str(libraries), "FAKE_FOLDER": str(folder),
            "FAKE_NVML": "gpus=2" if used else "gpus=2 idle=1",
            "FAKE_CUDA": f"gpus=2 mib=96 h2d=55 d2h=55 {cuda}", "FAKE_NCCL": nccl, "FAKE_STUCK": str(folder / "stuck"),
            "PYTHONPATH": os.pathsep.join([str(REPO / "checks"), str(REPO)]), "TERM": "xterm"}


def command(folder: Path, *arguments: str, **given: Any) -> list[str]:
    """``given``: reads ({path: content} on top of the tree), realpaths, runs ({command: what it writes}), stuck (mount
    the silent filesystem; "nvidia-smi": and let one wait there), full (everything is on a disk without a free byte),
    nvml (words of FAKE_NVML from the trial on), counts (BadTLP of 0000:03:00.0 before the trial, and then),
    limits."""
    words = json.dumps({"folder": str(folder), "stuck": "", **given})
    return [sys.executable, "-m", "tests.unit.trials.whole_box", words, *arguments]


def run(libraries: Path, folder: Path, *arguments: str, cuda: str = "", nccl: str = "", used: bool = False,
        **given: Any) -> Done:
    """One verb to its end, with --json."""
    force = () if arguments[0] in ("preflight", "gate") else ("--force",)
    words = () if arguments[0] == "gate" else ("--json", *force)
    done = subprocess.run([*command(folder, *arguments, *words, **given)], text=True, cwd=folder,
                          env=environment(libraries, folder, cuda, nccl, used), capture_output=True, check=False,
                          timeout=120)
    left = json.loads((folder / "left").read_text())
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return Done(done.returncode, report, done.stderr, tuple(left))


def _fill(folder: Path) -> None:
    """A tmpfs of this process alone, without a free byte."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tunecheck", str(folder)], check=True, timeout=20)
    with (folder / "ballast").open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC


def _main(given: Mapping[str, Any], arguments: list[str]) -> None:
    from tests.fakes import silent_fuse
    from tests.unit.facts import trees

    import tunecheck.host.live as live
    import tunecheck.trials.allreduce as reduce
    from tunecheck.cli.main import main
    from tunecheck.host import Completed
    from tunecheck.host.prefetch import DMESG
    from tunecheck.trials import lock, session
    from tunecheck.trials.heartbeat import PHASES

    folder = Path(given["folder"])
    for name in ("stuck", "full"):
        (folder / name).mkdir(exist_ok=True)
    evidence = folder
    if given["stuck"]:
        silent_fuse.mount(str(folder / "stuck"))
    if given["stuck"] == "nvidia-smi":
        (folder / "nvidia-smi").symlink_to("/usr/bin/stat")
        subprocess.Popen([folder / "nvidia-smi", folder / "stuck" / "file"], stderr=subprocess.DEVNULL)
    if given.get("full"):
        silent_fuse.own_namespace()
        evidence = folder / "full"
        _fill(evidence)
        tempfile._candidate_tempdir_list = lambda: [str(evidence)]  # type: ignore[attr-defined]

    machine = trees.full(trees.below_one_switch(2))
    machine.realpaths[live._DRIVER[0]] = live._DRIVER[0]
    machine.lists["/proc/driver/nvidia/gpus"] = ["0000:03:00.0", "0000:04:00.0"]
    machine.lists["/sys/bus/pci/drivers/nvidia"] = ["0000:03:00.0", "0000:04:00.0", "bind"]
    then, later = given.get("counts", (0, 0))
    for number, bdf in enumerate(("0000:03:00.0", "0000:04:00.0")):
        machine.errors.pop(f"realpath /sys/bus/pci/devices/{bdf}/driver", None)
        machine.realpaths[f"/sys/bus/pci/devices/{bdf}/driver"] = "/sys/bus/pci/drivers/nvidia"
        machine.reads[f"/proc/driver/nvidia/gpus/{bdf}/information"] = (
            f"Model: \t\t NVIDIA Stand-in\nGPU UUID: \t GPU-0000000{number}-1111-4222-8333-444444444444\n").encode()
    for path, content in given.get("reads", {}).items():
        machine.reads[path] = content.encode()
    machine.realpaths.update(given.get("realpaths", {}))
    told = machine.host()

    def count(badly: int) -> None:
        for bdf in machine.lists[trees.PCI]:
            for severity, text in _COUNTERS.items():
                told._reads[f"{trees.PCI}/{bdf}/aer_dev_{severity}"] = text.format(
                    badly if bdf == "0000:03:00.0" else 0).encode()

    # The production code has no switch for any of this: a test replaces what looks at the machine.
    class Box(live.LiveHost):
        def read_bytes(self, path: str) -> bytes:
            return (super() if re.match(r"/proc/\d", path) else told).read_bytes(path)

        def list(self, path: str) -> list[str]:
            return (super() if re.match(r"/proc/\d", path) else told).list(path)

        def realpath(self, path: str) -> str:
            return told.realpath(path)

        def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
            if (written := given.get("runs", {}).get(" ".join(argv))) is not None:
                return Completed(argv, 0, written, "")
            done = super().run(argv, deadline)
            # A machine that is up for long has lost the beginning of its log, and this box then what it tells of BARs.
            whole = argv != DMESG or "Linux version" in done.stdout.partition("\n")[0]
            return done if whole else replace(done, stdout=f"[    0.000000] Linux version 6.12.1 (x)\n{done.stdout}")

        def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
            return super().nvml(min(2.0, deadline))     # the tests' time

    def of_the_trial(*args: Any, **options: Any) -> Any:
        count(later)
        os.environ["FAKE_NVML"] = given.get("nvml", os.environ["FAKE_NVML"])
        return run_session(*args, **options)

    shortened = partial(reduce.allreduce, shortened=True)
    run_session = session.run
    count(then)
    live.LiveHost = Box  # type: ignore[misc]
    session.run, reduce.allreduce = of_the_trial, shortened  # type: ignore[assignment]
    lock._NAME, lock._MARK = f"\0tunecheck-box-{os.getpid()}", folder / "run" / "wedged.json"
    PHASES.update(given.get("limits", {"soak": 1.0, "verify": 1.0, "measure": 1.0}))
    looks = arguments[0] == "gate" or (arguments[0] == "preflight" and {"--pass", "--full"}.isdisjoint(arguments))
    sys.argv = ["tunecheck", *arguments, *(() if looks else ("--evidence", str(evidence)))]
    try:
        main()
    finally:
        (folder / "left").write_text(json.dumps(sorted(path.name for path in evidence.iterdir())))


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]), sys.argv[2:])
