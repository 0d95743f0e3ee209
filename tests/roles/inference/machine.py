"""A machine for the inference unit: real systemd as first process, real podman, a real engine, no virtual machine.

Namespaces, with this machine's /usr in them. Only three things stand in: preflight's verdict (no GPU is here, a file
says it), podman's wrapper leaves out the limits that a machine without CAP_SYS_RESOURCE cannot raise, and the engine
is llama.cpp's server with a model of 0.4 M parameters."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.engine import models
from tests.play_environment import keep_bytecode
from tests.roles.inference.files import engine_image, made

from tunecheck.util import tied

__all__ = ["KEY", "UNIT", "Machine", "machine"]

REPO = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
UNIT = "tunecheck-inference.service"
KEY = "/etc/tunecheck/secrets/api-key"
_NEEDED = ("podman", "runc", "conmon", "unshare", "nsenter", "ip", "pivot_root", "systemctl", "iptables", "curl")
BIN = Path(sys.executable).parent
_ANSIBLE = (f"ANSIBLE_CONFIG={REPO}/ansible.cfg", "ANSIBLE_NOCOLOR=1", "ANSIBLE_BECOME=false",
            "PYTHONPATH=/root/bytecode", "LAB_BYTECODE=/root/bytecode/kept")


@dataclass
class Machine:
    """``root`` is its file system, seen from here; ``first`` its first process."""

    root: Path
    folder: Path
    first: int
    image: str = ""

    def run(self, *argv: str, seconds: float = 120, **more: Any) -> subprocess.CompletedProcess[str]:
        words = ["nsenter", "-t", str(self.first), "-a", "--", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                 "container=tunecheck", "HOME=/root", "LC_ALL=C.UTF-8", *argv]
        return subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False,
                              stdin=subprocess.DEVNULL, **more)

    def say(self, *argv: str) -> str:
        done = self.run(*argv)
        return done.stdout + done.stderr

    def show(self, name: str, unit: str = UNIT) -> str:
        return self.run("systemctl", "show", unit, "--value", "-p", name).stdout.strip()

    def status(self) -> str:
        return self.say("systemctl", "status", UNIT, "--no-pager", "--full")

    def verdict(self, why: str) -> None:
        (self.root / "etc/verdict").write_text(why)

    def preflights(self) -> int:
        path = self.root / "var/preflights"
        return len(path.read_text()) if path.exists() else 0

    def until(self, name: str, value: str, seconds: float = 60) -> bool:
        """Wait for a property of the unit."""
        end = time.monotonic() + seconds
        while self.show(name) != value:
            if time.monotonic() >= end:
                return False
            time.sleep(0.3)
        return True

    def post(self, key: str | None) -> int:
        """The status of a question, asked on the machine's own loopback."""
        header = ["-H", f"Authorization: Bearer {key}"] if key else []
        body = json.dumps({"model": "tiny", "max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}]})
        done = self.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *header, "-H",
                        "Content-Type: application/json", "-d", body, "http://127.0.0.1:30000/v1/chat/completions")
        return int(done.stdout or 0)

    def until_said(self, command: str, text: str, seconds: float = 20) -> bool:
        end = time.monotonic() + seconds
        while text not in self.say(*command.split()):
            if time.monotonic() >= end:
                return False
            time.sleep(0.2)
        return True

    def module(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """One module by Ansible, in the machine."""
        done = self.run("env", *_ANSIBLE, "ANSIBLE_CALLBACK_RESULT_FORMAT=json", f"{BIN}/ansible", "localhost", "-i",
                        "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}", "-m", name,
                        "-a", json.dumps(given))
        return json.loads(done.stdout[done.stdout.index("=> {") + 3:])  # type: ignore[no-any-return]

    def recipe(self, name: str, model: bytes, **fields: Any) -> Path:
        """A pinned recipe with this model, and the model on the machine."""
        revision = hashlib.sha1(model).hexdigest()
        place = self.root / "srv/models/tunecheck--lab-tiny" / revision
        place.mkdir(parents=True, exist_ok=True)
        (place / "tiny.gguf").write_bytes(model)
        folder = self.folder / "recipes"
        folder.mkdir(exist_ok=True)
        text = (REPO / "checks/tunecheck/recipes/lab-tiny.yml").read_text().replace("id: lab-tiny", f"id: {name}")
        for old, new in fields.items():
            text = text.replace(old, new)
        (folder / f"{name}.yml").write_text(text)
        lock = {"recipe": name, "created": "2026-11-21T00:00:00Z",
                "image": {"asked": "localhost/tunecheck/lab-tiny:1", "digest": self.image, "image_id": self.image},
                "model": {"id": "tunecheck/lab-tiny", "asked": "folder", "revision": revision,
                          "files": {"tiny.gguf": "sha256:" + hashlib.sha256(model).hexdigest()}}}
        (folder / f"{name}.lock.json").write_text(json.dumps({"schema": "tunecheck/lock/1", "lock": lock}))
        return folder / f"{name}.yml"

    def hand_over(self, recipe: Path | None, *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
        """The real play, in the machine, on itself."""
        shutil.copytree(self.folder / "recipes", self.root / "root/recipes", dirs_exist_ok=True)
        given = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable,
                 "box_spec": {"profile": "lab"}, "inference_image_free_gib": 0, **variables,
                 "inference_recipe": f"/root/recipes/{recipe.name}" if recipe else None}
        (self.root / "root/hosts.json").write_text(json.dumps({"all": {"hosts": {"box": given}}}))
        return self.run("env", *_ANSIBLE, f"{BIN}/ansible-playbook", f"{REPO}/playbooks/handoff.yml", "-i",
                        "/root/hosts.json", *options, seconds=400)


def _cgroups() -> Path:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        if right.startswith("cgroup2 "):
            return Path(left.split()[4])
    pytest.skip("no cgroups of version 2 here")


@contextlib.contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """Skips, with the reason, where it cannot be."""
    pytest.importorskip("xllamacpp", reason="no engine: pip install xllamacpp")
    if os.geteuid() != 0:
        pytest.skip("a machine of namespaces needs root")
    for program in _NEEDED:
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            pytest.skip(f"no {program} here")
    if not Path("/usr/lib/systemd/systemd").exists():
        pytest.skip("no systemd here")
    root, group = folder / "root", _cgroups() / f"tunecheck-test-{os.getpid()}"
    made(root)
    keep_bytecode(root / "root/bytecode", Path("/root/bytecode/kept"))
    engine_image(folder, root / "var/engine.tar")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup of our own: {error.strerror}")
    shared = sorted({str(REPO), sys.prefix, sys.base_prefix} - {"/usr"})
    words = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--cgroup", "--ipc",
             "--uts", "--net", "bash", str(HERE / "boot.sh"), str(root), *shared]
    enter = f"echo $$ > {group}/cgroup.procs; exec \"$@\""
    log = (folder / "boot.log").open("w")
    # An interrupted pytest kills its workers, and their clean-up with them.
    outer = tied.start(["bash", "-c", enter, "bash", *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield _up(outer, root, folder)
    finally:
        with contextlib.suppress(ProcessLookupError):
            outer.send_signal(signal.SIGKILL)
        outer.wait()
        log.close()
        _gone(group)
        shutil.rmtree(folder, ignore_errors=True)


def _up(outer: subprocess.Popen[bytes], root: Path, folder: Path) -> Machine:
    end = time.monotonic() + 30
    while time.monotonic() < end and outer.poll() is None:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        if children:
            found = Machine(root, folder, int(children[0]))
            comm = Path(f"/proc/{found.first}/comm")
            if (comm.exists() and comm.read_text().strip() == "systemd"
                    and found.run("systemctl", "is-active", "box.target").stdout.strip() == "active"):
                break
        time.sleep(0.1)
    else:
        pytest.skip(f"systemd does not start here: {(folder / 'boot.log').read_text()[-300:]}")
    done = found.run("podman", "import", "/var/engine.tar", "localhost/tunecheck/lab-tiny:1")
    if done.returncode != 0:
        pytest.skip(f"podman does not work in here: {done.stderr[-300:]}")
    found.image = "sha256:" + found.run("podman", "image", "inspect", "--format", "{{.Id}}",
                                        "localhost/tunecheck/lab-tiny:1").stdout.strip()
    (root / "var/engine.tar").unlink()
    return found


def _gone(group: Path) -> None:
    end = time.monotonic() + 10
    while group.exists() and time.monotonic() < end:
        for path in sorted([group, *(each for each in group.rglob("*") if each.is_dir())], reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()
        time.sleep(0.1)


GOOD = models.GOOD.read_bytes()
