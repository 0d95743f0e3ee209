"""Debian's own driver, 550.163.01 with open modules: compiled natively, then looked at in a VM.

A build takes two minutes here and half an hour without KVM, so DKMS runs in the tree of the lab's image (its dkms, its
compiler), and the VM boots the result. No GPU: the modules are there, they are not loaded.

The newest kernel of trixie is not always one that this driver builds for: 6.12.117 changed pci_resize_resource, and on
2026-11-21 neither 550.163.01-2 nor backports' -4 knew. The VM then gets the oldest kernel that Debian offers.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.packages.apt_repo import Repository
from tests.lab.conftest import MakeBox
from tests.lab.driver_box import DriverBox

from lab import tree

pytestmark = pytest.mark.long
PACKAGE, VERSION = "nvidia-open-kernel-dkms", "550.163.01"
_BUILDS = 1800  # one on trial, one in place: 2 minutes each on 2 quiet cores, 10 beside other work
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


def older_kernel(box: DriverBox) -> str:
    """The oldest kernel of the suite whose image and headers the mirror has."""
    series = box.kernel.rpartition(".")[0]
    image = rf"^linux-image-{re.escape(series)}\.[0-9]+\+deb[0-9]+-amd64$"
    names = [row.split()[0] for row in box.run("apt-cache", "search", "--names-only", image).splitlines()]
    return min((name.removeprefix("linux-image-") for name in names),
               key=lambda each: int(re.split(r"[.+]", each)[2]))


def with_kernel(base: Path, folder: Path, nothing: Repository, like: DriverBox, kernel: str) -> DriverBox:
    """A box as ``like`` before its driver, with another kernel in place of its own."""
    box = DriverBox(base, folder, nothing, kernel)
    shutil.copytree(like.upper / "etc/apt", box.upper / "etc/apt", dirs_exist_ok=True)
    box.run("apt-get", "update", "-o", "Acquire::Languages=none")
    # Without grub.cfg nobody runs update-grub, which would ask for the device behind an overlay; then it gets the name.
    menu = "boot/grub/grub.cfg"
    box.run("mv", f"/{menu}", "/root/grub.cfg")
    box.run("apt-get", "install", "-y", "--no-install-recommends", f"linux-image-{kernel}", f"linux-headers-{kernel}",
            timeout=600)
    box.run("apt-get", "purge", "-y", f"linux-image-{like.kernel}", f"linux-headers-{like.kernel}", timeout=600)
    box.run("sh", "-c", f"sed 's/{like.kernel}/{kernel}/g' /root/grub.cfg > /{menu}")
    return box


def revisions(box: DriverBox) -> list[str]:
    rows = box.run("apt-cache", "madison", PACKAGE).splitlines()
    return [row.split("|")[1].strip() for row in rows]


@pytest.mark.parametrize("suites", SUITES)
def test_the_verdict_is_what_dkms_says(boxes: dict[str, DriverBox], suites: str) -> None:
    """Whatever the mirror has today: what the trial build refuses, DKMS fails at, and what it lets pass, is built."""
    box = boxes[suites]
    offered = revisions(box)
    assert offered, f"the mirror has no {PACKAGE}"
    done = box.module(seconds=_BUILDS, version=VERSION, source="distribution", mirror="", mirror_fingerprint="")
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
        boxes: dict[str, DriverBox], nothing: Repository, base: Path, box: MakeBox, drivers_image: Path,
        tmp_path: Path) -> None:
    built = next((each for each in boxes.values() if each.modinfo() == VERSION), None)
    if built is None:
        like = boxes["main"]
        (tmp_path / "older").mkdir()
        built = with_kernel(base, tmp_path / "older", nothing, like, older_kernel(like))
        done = built.module(seconds=_BUILDS, version=VERSION, source="distribution", mirror="", mirror_fingerprint="")
        assert done.get("changed") and built.modinfo() == VERSION and PACKAGE in built.held(), done
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
    assert lab.ssh("uname -r").strip() == built.kernel
    assert PACKAGE in lab.ssh("apt-mark showhold").split()
    shown = lab.ssh("modinfo nvidia-uvm 2>/dev/null || modinfo nvidia-current-open-uvm")
    assert re.search(rf"^version: +{VERSION}$", shown, re.MULTILINE), shown
    assert re.search(r"^parm: +uvm_disable_hmm:", shown, re.MULTILINE), shown
    assert "options nvidia_uvm uvm_disable_hmm=1" in lab.ssh("modprobe --showconfig")
    # The name that Debian gives the file is another: an install line, which gets the options of nvidia-uvm.
    load = lab.ssh("modprobe --show-depends nvidia-uvm").splitlines()
    assert re.search(r"nvidia-current-open-uvm.* uvm_disable_hmm=1", load[-1]), load
