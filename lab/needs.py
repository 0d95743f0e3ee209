"""What a machine needs for a lab, found out before anything starts, said in one sentence."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab.errors import LabError, NoMeansError

# Program -> Debian/Ubuntu package.
RUN = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", "ssh": "openssh-client",
       "ssh-keygen": "openssh-client"}  # fmt: skip
BUILD = {**RUN, "mmdebstrap": "mmdebstrap", "sgdisk": "gdisk", "mke2fs": "e2fsprogs", "mkfs.vfat": "dosfstools"}
LAYER = {**BUILD, "debugfs": "e2fsprogs", "unshare": "util-linux"}
BTRFS = {**LAYER, "mkfs.btrfs": "btrfs-progs"}
# What some tests need and skip without: a compiler for a libnvidia-ml.so.1 that breaks in a chosen way, a real browser
# for the HTML report, containers for the trials inside an image (runc: Debian 12's crun refuses mixed cgroup versions),
# a signed apt repository, UEFI firmware, skopeo for what is pinned from a registry, sshd for boxes on loopback.
REPOSITORY = {"apt-ftparchive": "apt-utils", "dpkg-deb": "dpkg", "gpg": "gpg"}
TEST = {"cc": "gcc", "chromium": "chromium", "podman": "podman", "runc": "runc", "skopeo": "skopeo",
        "conmon": "conmon", "sshd": "openssh-server", "ip": "iproute2", "iptables": "iptables", "curl": "curl",
        **REPOSITORY}
_FILES = (("/usr/include/stdio.h", "libc6-dev"), ("/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf"))
KEYRING = ("/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def environment() -> dict[str, str]:
    """Return the environment for tools: with the sbin folders that a user's PATH lacks."""
    return {**os.environ, "PATH": _PATH, "LC_ALL": "C.UTF-8"}


def missing_packages(programs: dict[str, str]) -> list[str]:
    """Return the Debian packages whose program is not on this machine."""
    found = {package for program, package in programs.items() if shutil.which(program, path=_PATH) is None}
    if "mmdebstrap" in programs and not Path(KEYRING[0]).exists():
        found.add(KEYRING[1])
    if programs is TEST:
        found |= {package for path, package in _FILES if not Path(path).exists()}
    return sorted(found)


def check_architecture() -> None:
    """Raise NoMeansError where no lab box can run whatever is installed."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise NoMeansError(
            f"the lab box needs an x86-64 Linux machine, this one is {platform.machine()} {platform.system()}; "
            "everything but the lab works here"
        )


def check(programs: dict[str, str]) -> None:
    """Raise NoMeansError with one sentence when this machine cannot run (or build) a lab box."""
    check_architecture()
    if packages := missing_packages(programs):
        raise NoMeansError(f"the lab box needs {', '.join(packages)}; run: sudo apt-get install {' '.join(packages)}")


def accelerator() -> str:
    """Return `kvm` when it really works here, else `tcg`; $LAB_ACCEL decides when set."""
    asked = os.environ.get("LAB_ACCEL", "auto")
    if asked in ("kvm", "tcg"):
        return asked
    if asked != "auto":
        raise LabError(f"LAB_ACCEL is `{asked}`; expected auto, kvm or tcg")
    return "kvm" if _kvm_works() else "tcg"


@functools.cache
def _kvm_works() -> bool:
    """Run seven bytes under KVM: /dev/kvm may be there and yet fail (no nested virtualisation)."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    if not os.access("/dev/kvm", os.R_OK | os.W_OK) or not flags & {"vmx", "svm"}:
        return False
    # At the reset vector: mov dx,0xf4; mov al,0x10; out dx,al; hlt. isa-debug-exit makes that exit status 33.
    bios = bytearray(b"\xf4" * 65536)
    bios[0xFFF0:0xFFF7] = b"\xba\xf4\x00\xb0\x10\xee\xf4"
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(bios)
        file.flush()
        argv = [
            "qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-M", "q35,kernel-irqchip=split", "-m", "64",
            "-smp", "2", "-display", "none", "-nodefaults", "-bios", file.name,
            "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
        ]  # fmt: skip
        try:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10).returncode == 33
        except (OSError, subprocess.TimeoutExpired):
            return False
