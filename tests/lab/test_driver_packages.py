"""The module driver_packages on a box with real apt, dpkg and DKMS (no VM): transaction, holds, refusals, healing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab.packages import standin_packages
from lab.packages.apt_repo import Package, Repository
from tests.lab.driver_box import ROOT, DriverBox, make_tree

from lab import needs

OLD, NEW = "595.71.05", "600.10.01"
MakeBox = Callable[..., DriverBox]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0:
        pytest.skip("mounts and enters a tree: needs root")
    missing = needs.missing_packages({"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "cc": "gcc",
                                      **needs.REPOSITORY})
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    return make_tree(tmp_path_factory.mktemp("debian"))


@pytest.fixture
def make_box(tree: Path, tmp_path: Path) -> Iterator[MakeBox]:
    repositories = []

    def make(*versions: str) -> DriverBox:
        repository = Repository(tmp_path / "mirror")
        repositories.append(repository)
        repository.publish([package for version in versions for package in driver(version)])
        (tmp_path / "box").mkdir()
        return DriverBox(tree, tmp_path / "box", repository)

    yield make
    for repository in repositories:
        repository.close()
    shutil.rmtree(tmp_path / "box", ignore_errors=True)


def driver(version: str, mismatch: bool = False) -> list[Package]:
    names = tuple(dict.fromkeys((*standin_packages.DRIVER, "firmware-nvidia-gsp")))
    return standin_packages.driver(version, names, mismatch)


def state(box: DriverBox) -> dict[str, tuple[int, int]]:
    """Every file that was written on the box, but for temporary ones, Ansible's own and apt's caches."""
    found = {}
    for folder, _folders, files in os.walk(box.upper):
        for path in (Path(folder, name) for name in files):
            place = str(path.relative_to(box.upper))
            if not place.startswith(("tmp/", "var/tmp/", "root/", "var/cache/", "var/lib/apt/lists/lock")):
                found[place] = (path.lstat().st_mtime_ns, path.lstat().st_size)
    return found


def test_one_exact_driver_is_installed_held_moved_and_taken_back(make_box: MakeBox) -> None:
    box = make_box(OLD)
    fresh = state(box)
    checked = box.module("--check", version=OLD)
    assert checked.get("changed") and state(box) == fresh
    assert any(step.startswith("install in one transaction: ") for step in checked["actions"])

    done = box.module(version=OLD)
    assert done["changed"] and done["actions"] == checked["actions"], done
    assert box.modinfo() == OLD
    installed = box.versions("*nvidia*", "libcuda1")
    assert set(installed.values()) == {f"{OLD}-1"} and sorted(installed) == sorted(box.held())

    settled = state(box)
    again = box.module(version=OLD)
    assert not again["changed"] and again["actions"] == [] and state(box) == settled

    # A newer driver appears: nothing takes it but this module.
    box.publish(*driver(NEW))
    box.run("apt-get", "update", "-o", "Dir::Etc::sourcelist=/dev/null")
    assert NEW in box.run("apt-cache", "madison", "libcuda1")
    upgrade = box.run("apt-get", "-s", "dist-upgrade")
    assert NEW not in upgrade and "Remv" not in upgrade
    assert "nvidia" not in box.run("apt-get", "-s", "--ignore-hold", "dist-upgrade").partition("Inst")[2]
    box.upper.joinpath("etc/apt/apt.conf.d/99lab").write_text(
        'Unattended-Upgrade::Origins-Pattern { "origin=*"; };\nAPT::Periodic::Unattended-Upgrade "1";\n')
    unattended = box.run("unattended-upgrade", "--dry-run", "--debug")
    assert NEW not in unattended.partition("Packages that will be upgraded:")[2]
    assert not box.module(version=OLD)["changed"]

    for version in (NEW, OLD):
        moved = box.module(version=version)
        assert moved["changed"], moved
        assert set(box.versions("*nvidia*", "libcuda1").values()) == {f"{version}-1"} and box.modinfo() == version
        assert sorted(box.versions("*nvidia*", "libcuda1")) == sorted(box.held())
        assert not box.module(version=version)["changed"]
    assert "linux-image" not in box.journal()

    back = box.module(state="absent")
    assert back["changed"] and box.versions("*nvidia*", "libcuda1") == {} and box.held() == []
    left = [name for name in state(box) if "tunecheck" in name and not name.startswith("var/lib/tunecheck/")]
    assert [name for name in left if not _gone(box, name)] == [] and box.modinfo() == ""
    assert not box.module(state="absent")["changed"]


def _gone(box: DriverBox, name: str) -> bool:
    return not (box.upper / name).is_file()


def test_the_versions_of_the_receipt_come_back(make_box: MakeBox) -> None:
    box = make_box(OLD, NEW)
    source = box.upper / "etc/apt/sources.list.d/own.list"
    source.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(box.repository.folder, box.upper / "srv/own")
    source.write_text("deb [trusted=yes] file:///srv/own /\n")
    box.run("apt-get", "update", "-o", "Dir::Etc::sourcelist=/dev/null")
    box.run("apt-get", "install", "-y", f"libnvidia-ml1={OLD}-1", f"nvidia-smi={OLD}-1")
    box.run("apt-mark", "hold", "nvidia-smi")
    done = box.module(version=NEW)
    assert done["changed"] and set(box.versions("*nvidia*").values()) == {f"{NEW}-1"}, done
    receipt = json.loads((box.upper / "var/lib/tunecheck/receipt.json").read_text())
    assert receipt["before"]["driver"] == {"packages": {"libnvidia-ml1": f"{OLD}-1", "nvidia-smi": f"{OLD}-1"},
                                           "held": ["nvidia-smi"]}
    assert box.module(state="absent")["changed"]
    assert box.versions("*nvidia*") == {"libnvidia-ml1": f"{OLD}-1", "nvidia-smi": f"{OLD}-1"}
    assert box.held() == ["nvidia-smi"]


def broken_source(box: DriverBox) -> None:
    box.publish(*driver("601.1", mismatch=True))


def kernel_without_headers(box: DriverBox) -> None:
    (box.upper / "vmlinuz").symlink_to("boot/vmlinuz-6.99.0-lab")


def kernel_in_tow(box: DriverBox) -> None:
    """A driver package that would bring a kernel along."""
    packages = driver("601.1")
    smi = next(package for package in packages if package.name == "nvidia-smi")
    smi.fields["Depends"] += ", linux-image-6.99.0-lab"
    box.publish(*packages, *standin_packages.kernel("6.99.0-lab", "6.99.0-1"))


def another_source(box: DriverBox) -> None:
    """As cuda-keyring's file stands on a box that somebody set up by hand: the same repository with another key."""
    folder = box.upper / "etc/apt/sources.list.d"
    folder.mkdir(parents=True)
    (folder / "cuda.list").write_text("deb [signed-by=/usr/share/keyrings/cuda.gpg] file:///mnt /\n")


def nothing(box: DriverBox) -> None:
    pass


@pytest.mark.parametrize(
    ("prepare", "arguments", "says"),
    [
        (broken_source, {"version": "601.1"}, ["does not build for the kernel", "nvidia.c:", "error:"]),
        (kernel_without_headers, {}, ["headers", "next kernel 6.99.0-lab"]),
        (kernel_in_tow, {"version": "601.1"}, ["would install the kernel package linux-image-6.99.0-lab"]),
        (another_source, {}, ["Conflicting values set for option Signed-By", "remove the other file"]),
        (nothing, {"version": "590.1"}, ["590.1", OLD]),
        (nothing, {"mirror_fingerprint": "A" * 40}, ["is not the expected one", "A" * 40]),
        (nothing, {"mirror": "file:///nowhere"}, ["no key for file:///nowhere"]),
        (kernel_without_headers, {"version": "590.1"}, ["headers", "590.1"]),  # all at once
    ],
    ids=["does-not-compile", "no-headers", "kernel-moves", "two-sources", "no-such-version", "wrong-key", "no-key",
         "two-problems"],
)
def test_what_cannot_work_is_refused_before_the_first_write(
        make_box: MakeBox, prepare: Callable[[DriverBox], None], arguments: dict[str, str], says: list[str]) -> None:
    box = make_box(OLD)
    prepare(box)
    before = state(box)
    refused = box.module(**{"version": OLD, **arguments})
    assert "changed" not in refused or not refused["changed"], refused
    for part in says:
        assert part in refused["msg"], refused["msg"]
    assert state(box) == before


def test_a_transaction_that_was_killed_heals_on_the_next_run(make_box: MakeBox, tmp_path: Path) -> None:
    box = make_box(OLD)
    assert box.module(version=OLD)["changed"]
    packages = driver(NEW)
    gate, reached = box.repository.folder / "gate", box.upper / "var/lib/reached"
    gate.touch()
    smi = next(package for package in packages if package.name == "nvidia-smi")
    smi.scripts["postinst"] = "#!/bin/sh\ntouch /var/lib/reached\nwhile [ -e /mnt/gate ]; do sleep 0.1; done\n"
    box.publish(*packages)
    run = box.start(version=NEW)
    try:
        while not reached.exists():
            assert run.poll() is None, run.stdout and run.stdout.read()
            time.sleep(0.1)
    finally:
        # The namespace's first process takes everything in it along, dpkg too: like a power cut.
        for pid in _unshared(box):
            os.kill(pid, signal.SIGKILL)
        run.kill()
        run.communicate(timeout=60)
    gate.unlink()
    assert "half" in box.run("dpkg", "--audit") or "not been configured" in box.run("dpkg", "--audit")
    healed = box.module(version=NEW)
    assert healed["changed"] and "end what a former run left half done" in healed["actions"][0], healed
    assert set(box.versions("*nvidia*", "libcuda1").values()) == {f"{NEW}-1"} and box.modinfo() == NEW
    assert sorted(box.versions("*nvidia*", "libcuda1")) == sorted(box.held()) and box.run("dpkg", "--audit") == ""
    assert not box.module(version=NEW)["changed"]
    receipt = json.loads((box.upper / "var/lib/tunecheck/receipt.json").read_text())
    assert receipt["before"]["driver"]["packages"] == {}


def _unshared(box: DriverBox) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"unshare" and str(box.folder).encode() in b" ".join(words):
            found.append(int(path.parent.name))
    return found


def test_a_library_moved_by_hand_is_named(make_box: MakeBox) -> None:
    box = make_box(OLD)
    assert box.module(version=OLD)["changed"]
    box.run("ln", "-sf", "libnvidia-ml.so.580.65.06", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")
    box.run("touch", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.65.06")
    failed = box.module(version=OLD)
    assert f"library: libnvidia-ml.so.1 is 580.65.06; expected {OLD}" in failed["msg"], failed


def test_a_hold_that_was_taken_away_and_a_module_that_is_gone_come_back(make_box: MakeBox) -> None:
    box = make_box(OLD)
    assert box.module(version=OLD)["changed"]
    box.run("apt-mark", "unhold", "libcuda1")
    held = box.module(version=OLD)
    assert held["actions"] == ["hold: libcuda1"] and "libcuda1" in box.held()
    box.run("dkms", "uninstall", "-m", "nvidia", "-v", OLD, "-k", box.kernel)
    built = box.module(version=OLD)
    assert built["actions"] == [f"build for: {box.kernel}"] and box.modinfo() == OLD
    free = box.module(version=OLD, hold=False)
    assert free["changed"] and box.held() == [] and not box.module(version=OLD, hold=False)["changed"]


@pytest.mark.parametrize("source", ["leave", "mirror"])
def test_the_role(make_box: MakeBox, tmp_path: Path, source: str) -> None:
    box = make_box(OLD)
    wanted = {"version": OLD, "source": source, "mirror": "file:///mnt", "modules": "dkms", "hold": True,
              "mirror_fingerprint": box.repository.fingerprint, "drain": False}
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "roles": ["nvidia_driver"],
        "post_tasks": [{"ansible.builtin.assert": {"that": "nvidia_driver_pending == []"}}],
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": f"{box.folder}/python",
                 "box_spec_frozen": {"spec": {"driver": wanted}}}}]))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(playbook), "-i", "box,"]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_PIPELINING": "true",
                   "ANSIBLE_NOCOLOR": "1"}
    for changed in ([0] if source == "leave" else [2, 0]):
        done = subprocess.run(argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0 and f"changed={changed} " in done.stdout, done.stdout + done.stderr
    conf = box.upper / "etc/modprobe.d/zz-tunecheck-nouveau.conf"
    assert ("blacklist nouveau" in conf.read_text()) if source == "mirror" else not conf.exists()
