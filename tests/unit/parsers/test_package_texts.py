"""Package versions, listings and pins: real forms, the real dpkg and apt where they are, and anything at all."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.parsers.private_apt import PRESENT, PrivateApt

from tunecheck.parsers.packages import package_lists, package_pins, package_versions, packages
from tunecheck.parsers.packages.driver_set import Box, Pin, Repository, Want, plan

ANY = st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")))
_RUNS = settings(max_examples=300, deadline=None, derandomize=True, database=None)
_VERSIONS = ["595.71.05-1", "595.71.05-1ubuntu1", "595.71.05-0ubuntu0.24.04.1", "550.163.01-2", "550.163.01-4~bpo13+1",
             "550.163.01-4", "1:1.0-1", "0:1.0-1", "1.0", "1.0~rc1-1", "1.0a-1", "1.0+b1-1", "1.0-1-1", "20240109+1"]


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="no dpkg here")
def test_dpkg_orders_the_same() -> None:
    pairs = list(itertools.combinations(_VERSIONS, 2))
    script = "\n".join(f"dpkg --compare-versions '{one}' gt '{two}' && echo 1 || "
                       f"{{ dpkg --compare-versions '{one}' eq '{two}' && echo 0 || echo -1; }}" for one, two in pairs)
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, timeout=120, check=True)
    said = dict(zip(pairs, map(int, done.stdout.split()), strict=True))
    assert {pair: package_versions.dpkg_compare(*pair) for pair in pairs} == said


@pytest.mark.parametrize(("left", "right", "order"), [
    # tests/rpmvercmp.at of rpm.
    ("1.0", "1.0", 0), ("1.0", "2.0", -1), ("2.0.1", "2.0.1a", -1), ("5.5p1", "5.5p2", -1), ("5.5p10", "5.5p1", 1),
    ("10xyz", "10.1xyz", -1), ("xyz.4", "8", -1), ("xyz.4", "2", -1), ("5.5p2", "5.6p1", -1), ("6.0.rc1", "6.0", 1),
    ("10b2", "10a1", 1), ("7.0", "7", 1), ("1.0010", "1.9", 1), ("1.05", "1.5", 0), ("4.999.9", "5.0", -1),
    ("20101121", "20101122", -1), ("2_0", "2.0", 0), ("a", "a+", 0), ("+", "_", 0), ("1.0~rc1", "1.0", -1),
    ("1.0~rc1", "1.0~rc2", -1), ("1.0~rc1~git123", "1.0~rc1", -1), ("1.0^", "1.0", 1), ("1.0^git1", "1.01", -1),
    ("1.0^git1~pre", "1.0^git1", -1), ("1.0~rc1^git1", "1.0~rc1", 1), ("3:1.0-1.el9", "2.0-1.el9", 1),
    ("3:595.71.05-1.el9", "3:595.71.05-2.el9", -1), ("1.0-1", "1.0", 0)])
def test_rpm_orders_the_same(left: str, right: str, order: int) -> None:
    assert package_versions.rpm_compare(left, right) == order == -package_versions.rpm_compare(right, left)


@given(ANY, ANY, ANY)
@_RUNS
def test_orders_are_orders(one: str, two: str, three: str) -> None:
    for compare in (package_versions.dpkg_compare, package_versions.rpm_compare):
        assert compare(one, two) == -compare(two, one) and compare(one, one) == 0
    compare = package_versions.dpkg_compare
    if compare(one, two) <= 0 and compare(two, three) <= 0:
        assert compare(one, three) <= 0
    package_versions.highest([one, two, three], "dnf")
    package_versions.upstream(one)


@given(ANY)
@_RUNS
def test_listings_take_anything(text: str) -> None:
    package_lists.madison(text)
    package_lists.dnf_listing(text)
    package_lists.repoquery(text)
    package_lists.showhold(text)


def test_listings() -> None:
    assert package_lists.madison(
        "nvidia-smi | 550.163.01-4~bpo13+1 | http://m/debian trixie-backports/non-free amd64 Packages\n"
        "nvidia-smi | 550.163.01-2 | http://m/debian trixie/non-free amd64 Packages\n"
        "nvidia-smi | 550.163.01-2 | http://m/debian trixie-updates/non-free amd64 Packages\n"
        "nvidia-graphics-drivers | 550.163.01-2 | http://m/debian trixie/non-free Sources\n"
        "  libcuda1 | 550.163.01-2 | file:/srv ./ Packages\nN: Unable to locate package x\n") == {
        "nvidia-smi": ("550.163.01-4~bpo13+1", "550.163.01-2"), "libcuda1": ("550.163.01-2",)}
    assert package_lists.dnf_listing(
        "Last metadata expiration check: 0:00:01 ago.\nInstalled Packages\n"
        "nvidia-driver-cuda.x86_64    3:580.95.05-1.el9    @cuda-rhel9-x86_64\nAvailable Packages\n"
        "nvidia-driver-cuda.x86_64    3:580.95.05-1.el9    cuda-rhel9-x86_64\n"
        "nvidia-kmod-common.noarch    3:580.178.04-1.el9   cuda-rhel9-x86_64\n") == {
        "nvidia-driver-cuda": ("3:580.95.05-1.el9",), "nvidia-kmod-common": ("3:580.178.04-1.el9",)}
    assert package_lists.repoquery("dkms\t0:3.2.2-1.el9\nlibnvidia-ml\t3:580.95.05-1.el9\n\n") == {
        "dkms": ("3.2.2-1.el9",), "libnvidia-ml": ("3:580.95.05-1.el9",)}
    assert package_lists.showhold("libcuda1\nlibcuda1:i386\nnvidia-smi\n\n") == ("libcuda1", "nvidia-smi")


def test_texts_and_what_the_facts_read_of_them() -> None:
    pins = (Pin(("libcuda1", "nvidia-smi"), "595.71.05-1", 1001), Pin(("libcuda*",), "*", -1), Pin((), "x", 1))
    assert packages.apt_pins(package_pins.preferences(pins)) == [
        ("libcuda1 nvidia-smi", "version 595.71.05-1", 1001), ("libcuda*", "version *", -1)]
    assert packages.apt_settings(package_pins.unattended(("nvidia-", "linux-generic$"))) == (
        None, ["nvidia-", "linux-generic$"])
    locks = package_pins.versionlock(("nvidia-driver-cuda-3:595.71.05-1.el9.*",))
    assert packages.rpm("nvidia-driver-cuda\t595.71.05-1.el9\n", locks)[0].held
    flat = Repository("apt", "file:///srv/nvidia/", ("/",), arch="amd64")
    assert package_pins.deb822(flat, "/k.asc") == {"Types": "deb", "URIs": "file:///srv/nvidia/", "Suites": "/",
                                                   "Architectures": "amd64", "Signed-By": "/k.asc"}
    assert "gpgcheck=1\ngpgkey=file:///k.asc" in package_pins.yum_repo(Repository("dnf", "https://m/"), "/k.asc")
    assert (package_pins.preferences(()), package_pins.unattended(()), package_pins.versionlock(())) == ("", "", "")


@pytest.mark.skipif(not PRESENT, reason="no apt here")
def test_apt_takes_only_what_the_pins_let_in(tmp_path: Path) -> None:
    """A repository with three releases of a driver and a toolkit; apt itself says what it would install."""
    offered = {
        "libcuda1": ("590.48.01-1", "595.71.05-1", "610.43.02-1"), "libnvidia-ml1": ("595.71.05-1", "610.43.02-1"),
        "libnvidia-encode1": ("595.71.05-1", "610.43.02-1"), "libnvidia-nvvm70": ("610.43.02-1",),
        "libnvidia-container1": ("1.18.1-1",), "nvidia-settings": ("610.43.02-1",),
    }  # fmt: skip
    index = "".join(f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: x\nFilename: ./x.deb\n"
                    f"Size: 1\nSHA256: {'0' * 64}\nDescription: x\n\n"
                    for name, versions in offered.items() for version in versions)
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/Packages").write_text(index)
    status = "Package: libcuda1\nStatus: install ok installed\nVersion: 595.71.05-1\nArchitecture: amd64\n" \
             "Maintainer: x\nDescription: x\n\n"
    box = Box("debian", "13", "x86_64", "k", "k", available=offered)
    pins = package_pins.preferences(plan(box, Want("595.71.05", "nvidia")).pins)
    apt = PrivateApt(tmp_path / "apt", f"deb [trusted=yes] file:{tmp_path}/mirror ./\n", pins, status)
    apt.ask("apt-get", "update", "-q")
    policy = apt.ask("apt-cache", "policy", *offered).stdout
    candidates = [line.split()[-1] for line in policy.splitlines() if "Candidate:" in line]
    assert dict(zip(offered, candidates, strict=True)) == {
        "libcuda1": "595.71.05-1", "libnvidia-ml1": "595.71.05-1", "libnvidia-encode1": "595.71.05-1",
        "libnvidia-nvvm70": "(none)", "libnvidia-container1": "1.18.1-1", "nvidia-settings": "610.43.02-1"}
    assert "libcuda1" not in apt.ask("apt-get", "dist-upgrade", "-s", "-q").stdout
    assert package_lists.madison(apt.ask("apt-cache", "madison", "libcuda1").stdout)["libcuda1"] == (
        "610.43.02-1", "595.71.05-1", "590.48.01-1")
