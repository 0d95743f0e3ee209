"""Debian's own driver, 550.163.01 with open modules: compiled natively, then looked at in a VM.

A build takes a minute here and a quarter of an hour without KVM, so DKMS runs in the tree of the lab's image (its
kernel, its headers, its dkms), and the VM boots the result. No GPU: the modules are there, they are not loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.apt_repo import Repository
from tests.lab.conftest import MakeBox
from tests.lab.driver_box import DriverBox

from lab import tree

pytestmark = pytest.mark.long
PACKAGE, VERSION = "nvidia-open-kernel-dkms", "550.163.01"
SUITES = {"main": "trixie trixie-updates", "backports": "trixie trixie-updates trixie-backports"}


@pytest.fixture(scope="module")
def base(drivers_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    with open(folder / "log", "wb") as log:
        tree.unpack(drivers_image, folder / "root", log)
    resolv = folder / "root/etc/resolv.conf"
    resolv.write_text(Path("/etc/resolv.conf").read_text())
    return folder / "root"


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """The mirror that a DriverBox asks for and that these do not use."""
    made = Repository(tmp_path_factory.mktemp("empty"))
    made.publish([])
    yield made
    made.close()


@pytest.fixture(scope="module")
def boxes(base: Path, nothing: Repository, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DriverBox]:
    """A box for each set of suites, with contrib and non-free."""
    uri = re.search(r"https?://\S+", (base / "root/sources/sources.list").read_text())
    assert uri is not None
    made = {}
    for name, suites in SUITES.items():
        folder = tmp_path_factory.mktemp(name)
        box = made[name] = DriverBox(base, folder, nothing)
        sources = box.upper / "etc/apt/sources.list.d"
        sources.mkdir(parents=True)
        (sources / "debian.sources").write_text(
            f"Types: deb\nURIs: {uri[0]}\nSuites: {suites}\nComponents: main contrib non-free non-free-firmware\n"
            "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
        box.run("apt-get", "update", "-o", "Acquire::Languages=none")
    return made


def revisions(box: DriverBox) -> list[str]:
    rows = box.run("apt-cache", "madison", PACKAGE).splitlines()
    return [row.split("|")[1].strip() for row in rows]


@pytest.mark.parametrize("suites", SUITES)
def test_the_verdict_is_what_dkms_says(boxes: dict[str, DriverBox], suites: str) -> None:
    """Whatever the mirror has today: what the trial build refuses, DKMS fails at, and what it lets pass, is built."""
    box = boxes[suites]
    offered = revisions(box)
    assert offered, f"the mirror has no {PACKAGE}"
    done = box.module(version=VERSION, source="distribution", mirror="", mirror_fingerprint="")
    if "does not build for the kernel" in done.get("msg", ""):
        assert re.search(r"\.c:\d+:\d+: error: ", done["msg"]), done["msg"]
        assert box.versions("*nvidia*") == {}
        refused = next(each for each in offered if f"{PACKAGE} {each} does not build" in done["msg"])
        said = box.run("apt-get", "install", "-y", "--no-install-recommends", f"{PACKAGE}={refused}", check=False,
                       timeout=900)
        assert "Bad return status for module build" in said, said[-3000:]
    else:
        assert done.get("changed"), done
        assert box.modinfo() == VERSION and VERSION in box.versions(PACKAGE)[PACKAGE]
        assert PACKAGE in box.held()


def test_in_the_vm_the_parameter_reaches_the_real_module(
        boxes: dict[str, DriverBox], base: Path, box: MakeBox, drivers_image: Path, tmp_path: Path) -> None:
    built = next((each for each in boxes.values() if each.modinfo() == VERSION), None)
    if built is None:
        pytest.skip(f"no revision of {PACKAGE} builds for {boxes['main'].kernel} today")
    for left in ("etc/ld.so.preload", "usr/lib/uname.so", "usr/sbin/policy-rc.d"):
        (built.upper / left).unlink()
    merged = built.folder / "root"
    overlay = f"lowerdir={base},upperdir={built.upper},workdir={built.folder / 'work'}"
    enter = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t overlay overlay -o "$1" "$2" && shift 2 && exec "$@"', "sh", overlay, str(merged))
    with open(tmp_path / "log", "wb") as log:
        tree.pack(merged, drivers_image, tmp_path / "base.img", log, enter)
    lab = box(base=tmp_path / "base.img", spec_overrides={
        "acs": {"peer_redirect": "leave"}, "kernel": {"cmdline": []}, "boot": {"reboot": "never"},
        "modules": {"nvidia-uvm": {"uvm_disable_hmm": 1}}})
    run = lab.playbook("--tags", "modules", playbook="playbooks/provision.yml")
    assert run.rc == 0, run
    shown = lab.ssh("modinfo nvidia-uvm")
    assert re.search(rf"^version: +{VERSION}$", shown, re.MULTILINE), shown
    assert re.search(r"^parm: +uvm_disable_hmm:", shown, re.MULTILINE), shown
    assert "options nvidia_uvm uvm_disable_hmm=1" in lab.ssh("modprobe --showconfig")
    # The name that Debian gives the file is another; the parameter must reach it all the same.
    load = lab.ssh("modprobe --show-depends nvidia-uvm").splitlines()
    assert re.search(r"/updates/dkms/nvidia-current-open-uvm\.ko\S* .*uvm_disable_hmm=1", load[-1]), load
