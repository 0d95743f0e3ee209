"""Real containers by the real podman, on a small image made of this Python: its storage, its /run and its CDI spec, in
which the fake libraries take the place of the driver, are this test run's own, and gone after it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Box", "box"]

REPO = Path(__file__).resolve().parents[3]
#: Bytecode is brought along: every process in a container would compile the library again, for most of a second.
_LEFT_OUT = ("test", "tests", "*.opt-?.pyc", "config-*", "idlelib", "lib2to3", "ensurepip", "tkinter", "dist-packages",
             "site-packages", "pydoc_data", "unittest", "*.a")
_IN_A_NAMESPACE = 'mount -t tmpfs tunecheck /run && mkdir /run/cdi && cp "$CDI" /run/cdi/nvidia.json && exec "$@"'


@dataclass(frozen=True)
class Box:
    """``image`` has a Python, ``bare`` nothing at all; both are image ids."""

    folder: Path
    libraries: Path
    environment: Mapping[str, str]
    image: str = ""
    bare: str = ""

    def command(self, *argv: str) -> list[str]:
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", _IN_A_NAMESPACE, "sh", *argv]

    def podman(self, *argv: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command("podman", *argv), env=self.given(), capture_output=True, text=True,
                              timeout=seconds)

    def given(self, cuda: str = "", nccl: str = "") -> dict[str, str]:
        """The environment of a command, with what the fake driver does inside (the one outside is well)."""
        inside = {"LD_LIBRARY_PATH": "/usr/lib/fakes", "FAKE_FOLDER": "/tmp", "FAKE_CUDA": f"gpus=2 {cuda}",
                  "FAKE_NCCL": nccl}
        mount = {"hostPath": str(self.libraries), "containerPath": "/usr/lib/fakes", "options": ["ro", "bind"]}
        edits = {"env": [f"{name}={value}" for name, value in inside.items()], "mounts": [mount]}
        spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "all", "containerEdits": edits}]}
        path = self.folder / "cdi.json"
        path.write_text(json.dumps(spec))
        return {**os.environ, **self.environment, "CDI": str(path), "LD_LIBRARY_PATH": str(self.libraries),
                "FAKE_CUDA": "gpus=2", "FAKE_NCCL": "", "FAKE_FOLDER": str(self.folder),
                "PYTHONPATH": os.pathsep.join([str(REPO / "checks"), str(REPO)])}

    def start(self, trial: str = "p2p", cuda: str = "", nccl: str = "", **more: Any) -> subprocess.Popen[str]:
        """A trial (contained_main.py) in the container, whose standard output is one JSON document."""
        wanted = json.dumps({"trial": trial, "image": self.image, **more})
        return subprocess.Popen(self.command(sys.executable, "-m", "tests.unit.trials.contained_main", wanted),
                                env=self.given(cuda, nccl), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.folder)

    def trial(self, *what: Any, **more: Any) -> dict[str, Any]:
        running = self.start(*what, **more)
        out, errors = running.communicate(timeout=120)
        assert running.returncode == 0, errors
        found: dict[str, Any] = json.loads(out)
        return found


def _filled(root: Path) -> None:
    """A Python that runs, and nothing else."""
    def add(path: str) -> None:
        target = root / path.lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)

    def needs(path: str) -> None:
        told = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=20).stdout
        for library in re.findall(r"(/\S+) \(0x", told):
            add(library)

    program = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    add(program)
    needs(program)
    library = sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix})
    shutil.copytree(library, root / library.lstrip("/"), ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for module in Path(library, "lib-dynload").glob("*.so"):
        needs(str(module))
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    if not (root / "usr/bin/python3").exists():
        (root / "usr/bin/python3").symlink_to(program)


def box(folder: Path, libraries: Path) -> Iterator[Box]:
    """Skips, with the reason, where podman does not work."""
    if os.geteuid() != 0:
        pytest.skip("containers of these tests need root, for a storage and a CDI spec of their own")
    for program in ("podman", "unshare", "ldd"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here; apt-get install podman util-linux libc-bin")
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver="vfs"\ngraphroot="{folder}/storage"\nrunroot="{folder}/run"\n')
    made = Box(folder, libraries, {"CONTAINERS_CONF": str(folder / "containers.conf"),
                                   "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")})
    root = folder / "root"
    for name in ("tmp", "proc", "sys", "dev", "etc", "run"):
        (root / name).mkdir(parents=True)
    try:
        (folder / "containers.conf").write_text("")
        bare = _imported(made, root, "bare")
        _filled(root)
        image = _imported(made, root, "engine")
        shutil.rmtree(root)
        yield Box(folder, libraries, made.environment, image, bare)
    finally:
        if (folder / "storage").exists():
            made.podman("rm", "--all", "--force", "--time", "0")
            made.podman("rmi", "--all", "--force")
            shutil.rmtree(folder, ignore_errors=True)


def _imported(made: Box, root: Path, name: str) -> str:
    archive = made.folder / "root.tar"
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True, timeout=60)
    done = None
    # Debian's crun refuses cgroups of both versions at once; runc does not need CAP_SYS_RESOURCE for itself either.
    for runtime in filter(shutil.which, ("crun", "runc")):
        (made.folder / "containers.conf").write_text(
            f'[engine]\nruntime="{runtime}"\ncgroup_manager="cgroupfs"\nevents_logger="none"\n')
        done = made.podman("import", str(archive), f"localhost/{name}:1")
        if done.returncode == 0:
            identity = done.stdout.strip().splitlines()[-1].removeprefix("sha256:")
            limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")
            done = made.podman("run", "--rm", "--pull=never", "--network=none", "--log-driver=none", *limits,
                               "--entrypoint=/nothing", identity)
            if done.returncode == 127:      # all is well but that there is no such file
                archive.unlink()
                return identity
    pytest.skip(f"podman runs no container here: {done.stderr.strip()[-300:] if done else 'neither crun nor runc'}")
