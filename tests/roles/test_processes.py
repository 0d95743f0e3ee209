"""An unprivileged user does not steer a module of root's, whatever its processes are called and wherever they point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible.module_utils import box_io, gpu_containers, processes
from ansible.module_utils.tunecheck.util.safe_files import Danger, UnsafeFileError

NOBODY = 65534
HOOK = {"hooks": {"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook"}]}}
Start = Callable[..., int]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user may pass through, with a shell called conmon that root owns."""
    folder = Path(tempfile.mkdtemp(prefix="tunecheck-test-", dir="/tmp"))
    folder.chmod(0o755)
    shutil.copy("/bin/sh", folder / "conmon")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def start(shared: Path) -> Iterator[Start]:
    """A process with the command line of conmon; returns its pid."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(bundle: str, name: str, user: int = 0, program: str = "conmon") -> int:
        running.append(subprocess.Popen(
            [str(shared / program), "-c", "read -r _", "-b", bundle, "-n", name, "-r", "/usr/bin/crun"],
            stdin=subprocess.PIPE, user=user, group=user, extra_groups=[]))
        while Path(f"/proc/{running[-1].pid}/exe").readlink().name != program:
            time.sleep(0.01)
        return running[-1].pid

    yield begin
    for process in running:
        process.communicate(timeout=10)


@pytest.mark.skipif(os.geteuid() != 0, reason="starts processes of two users: needs root")
def test_no_process_of_a_user_is_taken_for_a_container(shared: Path, start: Start) -> None:
    bundles = {name: shared / name for name in ("fifo", "zero", "hook", "good", "stuck")}
    for place in bundles.values():
        place.mkdir()
    os.mkfifo(bundles["fifo"] / "config.json")
    (bundles["zero"] / "config.json").symlink_to("/dev/zero")
    (bundles["hook"] / "config.json").write_text(json.dumps(HOOK))
    (bundles["good"] / "config.json").write_text(json.dumps(HOOK))
    os.mkfifo(bundles["stuck"] / "config.json")
    # What the user copied is his program, whoever it runs as; what root installed and he runs is his process.
    shutil.copy("/bin/sh", shared / "containerd-shim")
    os.chown(shared / "containerd-shim", NOBODY, NOBODY)
    for name in ("fifo", "zero", "hook"):
        start(str(bundles[name]), f"{name}-of-a-user", NOBODY)
    start(str(bundles["hook"]), "his-own-program", NOBODY, "containerd-shim")
    start(str(bundles["good"]), "of-root")
    start(str(bundles["stuck"]), "of-root-unreadable")
    begun = time.monotonic()
    found = {each.name: each.how for each in gpu_containers.running()}
    assert time.monotonic() - begun < 10
    assert {name: how for name, how in found.items() if "of-" in name or "his" in name} == {
        "of-root": "hook", "of-root-unreadable": "unknown"}


@pytest.mark.parametrize(("path", "delegated", "ours"), [
    ("/system.slice/tunecheck-inference.service", False, True),
    ("/system.slice/tunecheck-inference.service/libpod-payload-0", False, True),
    ("/system.slice/tunecheck-inference.service.evil", False, False),
    ("/user.slice/user-1000.slice/user@1000.service/tunecheck-inference.service", True, False),
    ("/user.slice/user-1000.slice/user@1000.service/app.slice/" + "a" * 64, True, False),
    ("/user.slice/user-0.slice/user@0.service/tunecheck-inference.service", False, True),
    ("/", False, False), ("", False, False),
])
def test_a_cgroup_that_a_user_may_name_says_nothing(path: str, delegated: bool, ours: bool) -> None:
    assert processes.delegated(path) is delegated
    assert processes.in_unit(path, "tunecheck-inference.service") is ours


@pytest.mark.parametrize(("text", "path"), [
    ("0::/system.slice/a.service\n", "/system.slice/a.service"),
    ("9:name=systemd:/b\n8:pids:/b\n0::/\n", "/b"), ("8:pids:/only\n", "/only"), ("0::/\n", "/"), ("", ""),
])
def test_the_cgroup_of_a_process(tmp_path: Path, text: str, path: str) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/cgroup").write_text(text)
    assert processes.cgroup("1", str(tmp_path)) == path


@pytest.mark.parametrize(("status", "ours"), [
    ("Uid:\t0\t0\t0\t0\nNSpid:\t5\n", True), ("Uid:\t0\t0\t0\t0\n", True), ("Uid:\t0\t0\t0\t0\nNSpid:\t5\t1\n", False),
    ("Uid:\t1000\t0\t0\t0\nNSpid:\t5\n", False), ("Uid:\t1000\t1000\t1000\t1000\n", False), ("", False)])
def test_root_through_and_through(tmp_path: Path, status: str, ours: bool) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5/status").write_text(status)
    assert processes.of_root("5", str(tmp_path)) is ours


def test_a_module_waits_for_no_fifo_and_reads_no_device_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(64 << 20)
    for name, danger in (("fifo", Danger.NOT_REGULAR), ("zero", Danger.NOT_REGULAR), ("large", Danger.TOO_LARGE)):
        with pytest.raises(UnsafeFileError, match=rf"{tmp_path}/{name}\b") as refused:
            box_io.read_text(str(tmp_path / name))
        assert refused.value.danger is danger
    assert box_io.read_text(str(tmp_path / "none"), "x") == "x" and box_io.read_text("/proc/self/comm")
