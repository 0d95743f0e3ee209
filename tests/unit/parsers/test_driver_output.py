"""What apt, dnf, dkms and key files say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tunecheck.parsers.kernel import build_log
from tunecheck.parsers.packages import apt_output, dnf_output, openpgp

SIMULATED = """Reading package lists...
Remv nvidia-old [580.65.06-1]
Inst libcuda1 [580.65.06-1] (595.71.05-1 tunecheck lab: [amd64]) []
Inst linux-image-6.99 (6.99-1 tunecheck lab: [amd64])
Inst libnvidia-ml1:amd64 (580.65.06-1 x:1/y [amd64])
Conf libcuda1 (595.71.05-1 tunecheck lab: [amd64])
"""


def test_a_simulation_is_read_and_judged() -> None:
    found = apt_output.simulation(SIMULATED)
    assert found.removes == ("nvidia-old",) and found.installs["libcuda1"] == ("580.65.06-1", "595.71.05-1")
    said = apt_output.objections(found, {"libcuda1": "595.71.05-1"}, (), "595.71.05")
    assert [each.split(",")[0] for each in said] == [
        "it would install libnvidia-ml1:amd64 580.65.06-1",
        "it would install the kernel package linux-image-6.99 6.99-1",
        "it would remove nvidia-old"]
    wrong = apt_output.objections(found, {"libcuda1": "600.1-1", "linux-image-6.99": ""}, ("nvidia-old",), None)
    assert wrong == ["it would install libcuda1 595.71.05-1; expected 600.1-1"]


@pytest.mark.parametrize(("name", "kernel"), [
    ("linux-image-6.12.107+deb13-amd64", True), ("linux-modules-6.8.0-60-generic", True), ("linux-generic", True),
    ("linux-modules-nvidia-595-open-6.8.0-60-generic", False), ("linux-headers-6.12", False), ("kernel-core", True),
    ("kernel-devel", False)])
def test_kernels_are_told_from_what_is_built_for_them(name: str, kernel: bool) -> None:
    assert bool(apt_output.KERNEL.match(name)) is kernel


def test_half_done_packages_are_named() -> None:
    rows = "a\t1\tinstall\tinstalled\nb\t1\tinstall\thalf-configured\nc\t\tdeinstall\tconfig-files\ndamaged\n"
    assert apt_output.half_done(rows) == ["b (half-configured)"]


def test_the_tables_of_dnf() -> None:
    text = """Dependencies resolved.
================================================================
 Package            Arch    Version             Repository  Size
================================================================
Installing:
 nvidia-driver-cuda x86_64  3:595.71.05-1.el9   tunecheck   1 M
 a-very-long-name-that-wraps-the-table
                    x86_64  3:595.71.05-1.el9   tunecheck   1 M
Removing dependent packages:
 old                x86_64  3:580.1-1.el9       @x          2 k

Transaction Summary
================================================================
 Remove  1 Package
"""
    found = dnf_output.simulation(text)
    assert found.installs == {"nvidia-driver-cuda": ("", "3:595.71.05-1.el9"),
                              "a-very-long-name-that-wraps-the-table": ("", "3:595.71.05-1.el9")}
    assert found.removes == ("old",)
    locks = dnf_output.locked_names("# c\nnvidia-driver-cuda-3:595.71.05-1.el9.*\n!x-0:1-1.*\n")
    assert locks == ("nvidia-driver-cuda",)


@pytest.mark.parametrize(("log", "line"), [
    ("a.c:1:2: warning: x\na.c:6:27: error: too few arguments\nmake: *** [x] Error 1\n",
     "a.c:6:27: error: too few arguments"),
    ("ERROR: modpost: \"f\" [nvidia.ko] undefined!\n", "ERROR: modpost: \"f\" [nvidia.ko] undefined!"),
    ("Error! Bad return status\nConsult x\n", "Error! Bad return status"), ("", "")])
def test_the_first_error_of_a_build(log: str, line: str) -> None:
    assert build_log.first_error(log) == line


@pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg")
def test_fingerprints_are_those_of_gpg(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    gpg = ["gpg", "--homedir", str(tmp_path), "--batch", "--yes", "--passphrase", ""]
    for kind in ("rsa2048", "ed25519"):
        subprocess.run([*gpg, "--quick-generate-key", kind, kind, "sign", "1d"], check=True, capture_output=True)
    listing = subprocess.run([*gpg, "--with-colons", "--list-keys"], check=True, capture_output=True, text=True).stdout
    wanted = tuple(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
    for form in (["--armor"], []):
        content = subprocess.run([*gpg, *form, "--export"], check=True, capture_output=True).stdout
        assert sorted(openpgp.fingerprints(content)) == sorted(wanted)
        with pytest.raises(ValueError, match=r"cut off|damaged|no OpenPGP|partial"):
            openpgp.fingerprints(content[:len(content) // 2])
    subprocess.run(["gpgconf", "--homedir", str(tmp_path), "--kill", "all"], check=True, timeout=20)


@pytest.mark.parametrize("content", [b"", b"no key", b"<html>", b"\x99"])
def test_what_is_no_key_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        openpgp.fingerprints(content)
