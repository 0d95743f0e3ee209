"""The signed repository, and that the stand-ins have the names that the planner asks for. No VM, no apt."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab.packages import standin_packages
from lab.packages.apt_repo import Link, Package, Repository, build

from lab import needs
from tunecheck.parsers.packages.driver_packages import FAMILIES, TOOLKIT


@pytest.fixture(autouse=True)
def programs() -> None:
    if missing := needs.missing_packages(needs.REPOSITORY):
        pytest.skip(f"needs {', '.join(missing)}")


def required(family: str, on: tuple[str, ...]) -> set[str]:
    """Names of a driver of today, those with a version of their own left out."""
    return {part.name for part in FAMILIES[family].parts
            if part.on in on and not part.optional and part.follows == "driver" and part.branches[1] > 9000}


def test_there_is_a_stand_in_for_every_name_of_the_plan() -> None:
    assert required("nvidia-debian", ("always", "dkms")) <= set(standin_packages.DRIVER)
    assert required("nvidia-debian", ("nvswitch",)) == set(standin_packages.NVSWITCH)
    assert {part.name for part in TOOLKIT.parts} == set(standin_packages.TOOLKIT)


def test_what_is_not_published_yet_is_not_in_the_signed_index(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "mirror")
    try:
        repository.publish([Package("a", "1-1")])
        first = (tmp_path / "mirror/Packages").read_text()
        repository.publish([standin_packages.pinning("595.71.05")])
        second = (tmp_path / "mirror/Packages").read_text()
    finally:
        repository.close()
    assert "Package: a\n" in first and "pinning" not in first
    assert "Package: nvidia-driver-pinning-595.71.05\n" in second and "Package: a\n" in second
    keyring = tmp_path / "key.gpg"
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--no-default-keyring", "--keyring", str(keyring)]
    subprocess.run([*gpg, "--import", str(tmp_path / "mirror/key.asc")], check=True, capture_output=True)
    said = subprocess.run([*gpg, "--status-fd", "1", "--verify", str(tmp_path / "mirror/InRelease")],
                          capture_output=True, text=True)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], capture_output=True)
    assert f"VALIDSIG {repository.fingerprint}" in said.stdout


def test_a_package_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    package = Package("a", "1:2-3", files={"/usr/bin/a": "#!/bin/sh\n", "/usr/lib/a.so.1": Link("a.so.1.2")},
                      programs=frozenset({"/usr/bin/a"}), scripts={"postinst": "#!/bin/sh\n"})
    file = build(package, tmp_path)
    once = file.read_bytes()
    listing = subprocess.run(["dpkg-deb", "-c", str(file)], capture_output=True, text=True, check=True).stdout
    assert file.name == "a_2-3_amd64.deb" and build(package, tmp_path).read_bytes() == once
    assert "-rwxr-xr-x root/root" in listing and "a.so.1 -> a.so.1.2" in listing
