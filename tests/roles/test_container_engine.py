"""The modules of container_runtime as Ansible runs them, against the real podman, in a mount namespace of
their own where /etc/containers and the rest are empty."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.play_environment import environment

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = ("/etc/containers", "/etc/docker", "/etc/cdi", "/var/lib/tunecheck", "/var/lib/containers", "/srv", "/run/cdi")
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts: needs root"),
    pytest.mark.skipif(shutil.which("podman") is None, reason="podman is not installed"),
]


class Box:
    """This machine, with folders of its own in the places that the modules write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.more = ""
        for path in HIDDEN:
            (folder / path.replace("/", "_")).mkdir()
        # podman starts no container without a policy.
        shutil.copy("/etc/containers/policy.json", folder / "_etc_containers")

    def path(self, path: str) -> Path:
        """Where a path of the box is, seen from outside."""
        top = next(each for each in HIDDEN if path.startswith(each + "/"))
        return self.folder / top.replace("/", "_") / path[len(top) + 1:]

    def script(self) -> str:
        """Mounts, and then the arguments as a command."""
        return "mount --make-rprivate /\n" + "".join(
            f"mkdir -p {path}; mount --bind {self.folder}/{path.replace('/', '_')} {path}\n" for path in HIDDEN
        ) + self.more + 'exec "$@"'

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        variables = environment(ANSIBLE_BECOME="false", ANSIBLE_CALLBACK_RESULT_FORMAT="json")
        return subprocess.run(["unshare", "--mount", "bash", "-ec", self.script(), "box", *argv], cwd=ROOT,
                              env=variables, capture_output=True, text=True, timeout=120, check=False)

    def module(self, name: str, arguments: dict[str, Any], *options: str) -> dict[str, Any]:
        done = self.run(str(Path(sys.executable).parent / "ansible"), "localhost", "-i", "localhost,", "-c", "local",
                        "-e", f"ansible_python_interpreter={sys.executable}", "-m", name,
                        "-a", json.dumps(arguments), *options)
        assert "=> {" in done.stdout, done.stdout + done.stderr
        told: dict[str, Any] = json.loads(done.stdout[done.stdout.index("=> {") + 3:])
        return {**told, "failed": done.returncode != 0, "shown": done.stdout}


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_podman_reads_what_is_written_and_rollback_takes_it_back(box: Box) -> None:
    asked = {"engine": "podman", "storage": "/srv/images", "log_max_mib": 7}
    checked = box.module("container_engine", asked, "--check", "--diff")
    assert checked["changed"] and not box.path("/etc/containers/storage.conf").exists()
    assert "+log_size_max = 7340032" in checked["shown"] and '+graphroot = "/srv/images"' in checked["shown"]
    assert box.module("container_engine", asked)["changed"]
    assert not box.module("container_engine", asked)["changed"]
    told = box.run("podman", "info", "--format", "{{.Store.GraphRoot}} {{.Host.LogDriver}}")
    assert told.stdout.split() == ["/srv/images", "k8s-file"], told.stderr
    assert box.module("container_engine", {"state": "absent"})["changed"]
    assert not box.module("container_engine", {"state": "absent"})["changed"]
    assert [path.name for path in box.path("/etc/containers/x").parent.iterdir() if path.is_file()] == ["policy.json"]


def test_a_store_with_images_is_not_moved(box: Box) -> None:
    made = box.run("bash", "-c", "echo FROM scratch > /srv/F; echo LABEL a=b >> /srv/F; podman build -q -f /srv/F /srv")
    assert made.returncode == 0, made.stderr
    told = box.module("container_engine", {"engine": "podman", "storage": "/srv/images"})
    assert told["failed"] and told["code"] == "has-images"
    assert re.search(r"\bpodman\b.* 1 .*/var/lib/containers/storage\b", told["msg"])
    assert not box.path("/etc/containers/storage.conf").exists()
    # With images in it, it has used the room it was given.
    assert not box.module("container_engine", {"engine": "podman", "storage_free_gib": 100_000})["failed"]


@pytest.mark.parametrize(
    ("asked", "code", "names"),
    [
        ({"engine": "podman", "storage_free_gib": 100_000}, "no-room", " 100000 GiB"),
        ({"engine": "podman", "user": "nobody-here"}, "no-user", " nobody-here"),
        ({"engine": "docker", "user": "root"}, "docker-is-root", "box_spec.runtime.user: "),
        ({"engine": "docker"}, "not-json", "/etc/docker/daemon.json "),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_write(box: Box, asked: dict[str, Any], code: str,
                                                             names: str) -> None:
    box.path("/etc/docker/daemon.json").write_text('{"dns": ["10.0.0.1"],}')
    told = box.module("container_engine", asked)
    assert told["failed"] and told["code"] == code and names in told["msg"]
    assert box.path("/etc/docker/daemon.json").read_text() == '{"dns": ["10.0.0.1"],}'
    assert [path.name for path in box.path("/etc/containers/x").parent.iterdir()] == ["policy.json"]


def test_daemon_json_keeps_foreign_keys_and_comes_back(box: Box) -> None:
    mine = {"dns": ["10.0.0.1"], "log-opts": {"tag": "x"}}
    box.path("/etc/docker/daemon.json").write_text(json.dumps(mine))
    asked = {"engine": "docker", "storage": "/srv/d"}
    assert box.module("container_engine", asked)["changed"]
    new = json.loads(box.path("/etc/docker/daemon.json").read_text())
    assert new["dns"] == mine["dns"] and new["log-opts"]["tag"] == "x" and new["features"] == {"cdi": True}
    assert not box.module("container_engine", asked)["changed"]
    assert box.module("container_engine", {**asked, "log_max_mib": 50})["changed"]
    assert box.module("container_engine", {"state": "absent"})["changed"]
    assert json.loads(box.path("/etc/docker/daemon.json").read_text()) == mine


@pytest.fixture
def served(box: Box) -> Iterator[tuple[Box, subprocess.Popen[str]]]:
    """A running container that has a GPU's device file by CDI; the file is a stand-in for /dev/null."""
    box.path("/etc/cdi/nvidia.json").write_text(json.dumps({
        "cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "all", "containerEdits": {
            "deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/dev/null"}]}}]}))
    busybox = shutil.which("busybox")
    root = box.folder / "_srv/root"
    (root / "bin").mkdir(parents=True)
    if busybox:
        shutil.copy(busybox, root / "bin/sleep")
    else:
        subprocess.run(["cc", "-static", "-o", str(root / "bin/sleep"), "-x", "c", "-"], check=True, text=True,
                       timeout=60, input="#include <unistd.h>\nint main(void) { sleep(60); }\n")
    command = ["podman", "--runtime=runc", "run", "--rm", "--name=the-engine", "--network=none",
               "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", "--device=nvidia.com/gpu=all",
               "--rootfs", "/srv/root", "/bin/sleep", "60"]
    with subprocess.Popen(["unshare", "--mount", "bash", "-ec", box.script(), "box", *command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        yield box, running
        box.run("podman", "kill", "--all")
        running.wait(timeout=60)


def test_the_guard_sees_how_a_running_container_got_its_gpu(served: tuple[Box, subprocess.Popen[str]]) -> None:
    box, running = served
    ask = ("import sys; sys.path[:0] = ['tests/roles']; import conftest\n"
           "from ansible.module_utils import gpu_containers as g; print(g.running())")
    told = box.run(sys.executable, "-c", ask)
    while "linked" not in told.stdout and "listed" not in told.stdout and running.poll() is None:
        time.sleep(0.2)
        told = box.run(sys.executable, "-c", ask)
    assert running.poll() is None, running.stdout.read() if running.stdout else ""
    # Under runc, and whether this machine has udev's links decides. Other tests' containers may run beside it.
    found = f"the-engine ({'listed' if Path('/dev/char/1:3').exists() else 'unlinked'})"
    assert found in told.stdout.strip("[]\n").split(", "), told.stdout + told.stderr


@pytest.mark.skipif(not Path("/proc/driver").is_dir(), reason="this kernel has no /proc/driver to mount on")
def test_the_cdi_specification_follows_the_driver(box: Box) -> None:
    """With the lab's stand-in for nvidia-ctk, put over /usr/bin; systemd does not run in here."""
    standin = (ROOT / "lab/standins/nvidia-ctk").read_text().replace("/usr/lib/x86_64-linux-gnu", "/srv/lib")
    for name in ("bin", "scratch", "lib"):
        (box.folder / "_srv" / name).mkdir()
    program = box.path("/srv/bin/nvidia-ctk")
    program.write_text(standin)
    program.chmod(0o755)

    def drive(loaded: str, installed: str) -> None:
        for old in (box.folder / "_srv/lib").iterdir():
            old.unlink()
        box.path(f"/srv/lib/libcuda.so.{installed}").touch()
        banner = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {loaded}  Release Build"
        box.more = ("mount -t overlay -o lowerdir=/usr/bin,upperdir=/srv/bin,workdir=/srv/scratch overlay /usr/bin\n"
                    "mount -t tmpfs proc /proc/driver; mkdir /proc/driver/nvidia\n"
                    "mount -t tmpfs run /run\n"      # no systemd in there
                    + (f"echo '{banner}' > /proc/driver/nvidia/version\n" if loaded else ""))

    asked = {"engine": "podman"}
    spec = box.path("/etc/cdi/nvidia.yaml")
    drive("", "595.71.05")
    told = box.module("cdi_spec", asked)
    assert not told["changed"] and "/etc/cdi/nvidia.yaml" in told["notes"][0] and not spec.exists()
    drive("595.71.05", "595.71.05")
    assert box.module("cdi_spec", asked, "--check")["changed"] and not spec.exists()
    told = box.module("cdi_spec", asked)
    assert told["changed"] and told["driver"] == ["595.71.05"] and "libcuda.so.595.71.05" in spec.read_text()
    assert not box.module("cdi_spec", asked)["changed"]
    # Another order is no difference; another driver is one.
    spec.write_text(json.dumps(json.loads(spec.read_text()), sort_keys=True))
    assert not box.module("cdi_spec", asked)["changed"]
    drive("595.80", "595.80")
    assert box.module("cdi_spec", asked)["driver"] == ["595.80"] and "595.71.05" not in spec.read_text()
    drive("595.80", "595.91")
    told = box.module("cdi_spec", asked)
    assert told["failed"] and told["code"] == "not-generated" and "Driver/library version mismatch" in told["msg"]
    drive("595.80", "595.80")
    shutil.copy(spec, spec.with_name("mine.yaml"))
    told = box.module("cdi_spec", asked)
    assert told["failed"] and told["code"] == "rival" and "/etc/cdi/mine.yaml" in told["msg"]
    spec.with_name("mine.yaml").unlink()
    assert box.module("cdi_spec", {"state": "absent"})["changed"] and not spec.exists()
    assert not box.module("cdi_spec", {"state": "absent"})["changed"]
