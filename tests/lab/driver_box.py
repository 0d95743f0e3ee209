"""A Debian box without a VM: a real tree with apt, dpkg, DKMS, compiler and headers, entered with chroot.

Every box is an overlay over one tree, mounted in the namespace of each program, so that nothing stays mounted. Only
the running kernel's name is not real there: uname(2) is answered by a preloaded library with the tree's own kernel.
Ansible runs as it does on a box: its "remote Python" is the tree's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.packages.apt_repo import Package, Repository

ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("python3-minimal", "dkms", "gcc", "make", "linux-image-amd64", "linux-headers-amd64",
             "unattended-upgrades")
# depmod reads every module: without these a build takes 2 s instead of 12.
_SLIM = ('cd "$1"/lib/modules/*/kernel && find . -name "*.ko*" ! -name "nouveau.ko*" -delete && '
         'chroot "$1" sh -c \'depmod $(ls /lib/modules) && update-initramfs -u -k all\'')
_UNAME = """
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
int uname(struct utsname *name) {
    long code = syscall(SYS_uname, name);
    strcpy(name->release, "%s");
    return (int)code;
}
"""
_ENTER = """#!/bin/sh
# Standard input passes through: Ansible pipes its modules to the tree's Python.
exec unshare --mount --propagation private --pid --fork --kill-child sh -c '
set -e
mount -t overlay overlay -o "lowerdir={tree},upperdir={box}/upper,workdir={box}/scratch" "{box}/root"
mount -t proc proc "{box}/root/proc"
mount --rbind /dev "{box}/root/dev"
mount -t tmpfs -o mode=755 run "{box}/root/run"
mount --bind "{mirror}" "{box}/root/mnt"
exec chroot "{box}/root" "$@"' sh {program} "$@"
"""


def make_tree(folder: Path) -> Path:
    """Make the tree that all boxes share (a minute, from Debian's mirror)."""
    tree = folder / "tree"
    mirror = os.environ.get("LAB_MIRROR")
    argv = ["mmdebstrap", "--mode=root", "--variant=apt", f"--include={','.join(_PACKAGES)}",
            '--aptopt=Acquire::Retries "3"', '--aptopt=Acquire::Languages "none"',
            '--aptopt=APT::Install-Recommends "false"',
            *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("man", "doc", "locale")),
            f"--customize-hook={_SLIM}", "trixie", str(tree), *([mirror] if mirror else [])]  # fmt: skip
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return tree


class DriverBox:
    """One box with a mirror of its own at file:///mnt."""

    def __init__(self, tree: Path, folder: Path, repository: Repository, kernel: str = "") -> None:
        """``kernel``: the one that runs there, default the tree's own."""
        self.folder, self.repository = folder, repository
        for name in ("upper/etc", "upper/usr/lib", "upper/usr/sbin", "scratch", "root"):
            (folder / name).mkdir(parents=True)
        self.upper = folder / "upper"
        self.kernel = kernel or next((tree / "lib/modules").iterdir()).name
        self._script("enter", tree, "")
        self._script("python", tree, "/usr/bin/python3")
        (folder / "uname.c").write_text(_UNAME % self.kernel)
        library = self.upper / "usr/lib/uname.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(folder / "uname.c")], check=True, timeout=60)
        (self.upper / "etc/ld.so.preload").write_text("/usr/lib/uname.so\n")
        # No service is started in a chroot.
        policy = self.upper / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def _script(self, name: str, tree: Path, program: str) -> None:
        path = self.folder / name
        path.write_text(_ENTER.format(tree=tree, box=self.folder, mirror=self.repository.folder, program=program))
        path.chmod(0o755)

    def run(self, *argv: str, check: bool = True, timeout: float = 300) -> str:
        """Run a program on the box; its standard output, with standard error behind it."""
        done = subprocess.run([str(self.folder / "enter"), *argv], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout, env=_environment())
        assert not check or done.returncode == 0, f"{argv}: {done.stdout[-3000:]}{done.stderr[-2000:]}"
        return done.stdout + done.stderr

    def start(self, **arguments: Any) -> subprocess.Popen[str]:
        """Start the module and do not wait."""
        return subprocess.Popen(self._ansible(arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=_environment())

    def module(self, *options: str, seconds: float = 600, **arguments: Any) -> dict[str, Any]:
        """Run driver_packages through Ansible; its result."""
        done = subprocess.run([*self._ansible(arguments), *options], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, cwd=ROOT, env=_environment())
        assert "=> {" in done.stdout, done.stdout + done.stderr
        return json.loads(done.stdout[done.stdout.index("=> {") + 3:])  # type: ignore[no-any-return]

    def _ansible(self, arguments: dict[str, Any]) -> list[str]:
        mirror = {"source": "mirror", "mirror": "file:///mnt", "mirror_fingerprint": self.repository.fingerprint}
        wanted = arguments if arguments.get("state") == "absent" else {**mirror, **arguments}
        return [str(Path(sys.executable).parent / "ansible"), "localhost", "-i", "localhost,", "-c", "local",
                "-e", f"ansible_python_interpreter={self.folder}/python", "-m", "driver_packages",
                "-a", json.dumps(wanted)]

    def versions(self, *patterns: str) -> dict[str, str]:
        """Installed packages that fit."""
        shape = "${Package} ${Version} ${db:Status-Status}\\n"
        rows = self.run("dpkg-query", "-W", "-f", shape, *patterns, check=False)
        cells = [row.split() for row in rows.splitlines()]
        return {row[0]: row[1] for row in cells if len(row) == 3 and row[2] == "installed"}

    def held(self) -> list[str]:
        return self.run("apt-mark", "showhold").split()

    def modinfo(self) -> str:
        """The version of the module for the box's kernel, empty where there is none. Debian has a name of its own."""
        for name in ("nvidia", "nvidia-current-open"):
            text = self.run("modinfo", "-k", self.kernel, "-F", "version", name, check=False).strip()
            if "not found" not in text:
                return text
        return ""

    def publish(self, *packages: Package) -> None:
        """Add packages to the mirror."""
        self.repository.publish(packages)

    def journal(self) -> str:
        """What apt did, its own words."""
        path = self.upper / "var/log/apt/history.log"
        return path.read_text() if path.exists() else ""


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_PIPELINING": "true", "ANSIBLE_BECOME": "false",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_NOCOLOR": "1"}
