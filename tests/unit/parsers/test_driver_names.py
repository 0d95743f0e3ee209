"""Debian's driver packages, asked of the reachable mirror: every name is there, and the plan is complete for apt."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.unit.parsers.private_apt import KEYRING, PRESENT, PrivateApt, mirror

from tunecheck.parsers.packages import driver_set, package_lists, package_pins
from tunecheck.parsers.packages.driver_packages import FAMILIES, RELEASES
from tunecheck.parsers.packages.driver_refusals import driver_of
from tunecheck.parsers.packages.driver_set import Box, Want
from tunecheck.parsers.packages.package_versions import ordered, upstream

SUITES = {"12": "bookworm", "13": "trixie"}


@pytest.fixture(scope="module", params=sorted(SUITES))
def debian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Box, PrivateApt]:
    if not PRESENT or not KEYRING.exists():
        pytest.skip("no apt, or no keyring of Debian's archive (apt-get install debian-archive-keyring)")
    base = mirror()
    if base is None:
        pytest.skip("no Debian mirror: neither LAB_MIRROR nor a source of this machine names one")
    suite = SUITES[request.param]
    components = " ".join(FAMILIES["debian"].components)
    sources = "".join(f"deb [signed-by={KEYRING}] {base} {each} {components}\n" for each in (suite, f"{suite}-updates"))
    apt = PrivateApt(tmp_path_factory.mktemp(suite), sources)
    done = apt.ask("apt-get", "update", "-q", "-o", "APT::Update::Error-Mode=any", check=False)
    if done.returncode:
        pytest.skip(f"the Debian mirror was not reachable: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    box = Box("debian", request.param, "x86_64", "k", "k", secure_boot=False, headers=("k",))
    asked = driver_set.names(box, Want("1.1", "distribution"))
    available = package_lists.madison(apt.ask("apt-cache", "madison", *asked).stdout)
    return dataclasses.replace(box, available=available), apt


def _newest(box: Box) -> driver_set.Plan:
    """Of the newest driver that all of it can be: bookworm's libraries are newer than its open modules."""
    version = upstream(ordered(box.available["nvidia-open-kernel-dkms"], "apt")[-1])
    return driver_set.plan(box, Want(version, "distribution"))


def test_every_name_is_there(debian: tuple[Box, PrivateApt]) -> None:
    box, _ = debian
    assert RELEASES[("debian", box.release)].distribution == "debian"
    asked = driver_set.names(box, Want("1.1", "distribution"))
    assert [name for name in asked if name not in box.available] == []


def test_the_set_is_complete(debian: tuple[Box, PrivateApt]) -> None:
    """apt resolves the explicit set, and brings no part of the driver that is not in it."""
    box, apt = debian
    found = _newest(box)
    assert found.problems == () and found.dkms_package and upstream(found.dkms_package.version) == found.version
    done = apt.ask("apt-get", "install", "-s", "-q", "--no-install-recommends", *(each.apt for each in found.install))
    brought = {words[1]: words[2].lstrip("(") for words in map(str.split, done.stdout.splitlines())
               if words[:1] == ["Inst"]}
    parts = {name: each for name, each in brought.items() if driver_of(name, each)}
    assert set(parts) <= set(found.hold), sorted(set(parts) - set(found.hold))
    assert {upstream(each) for each in parts.values()} == {found.version}
    assert all(each.version in ("", brought[each.name]) for each in found.install)


def test_the_pins_keep_it(debian: tuple[Box, PrivateApt], tmp_path: Path) -> None:
    """With the plan's preferences apt has no other candidate for any part of the driver."""
    box, apt = debian
    found = _newest(box)
    pins = tmp_path / "tunecheck.pref"
    pins.write_text(package_pins.preferences(found.pins))
    names = [*(each.name for each in found.install if each.version), "libnvidia-encode1", "nvidia-driver"]
    policy = apt.ask("apt-cache", "-o", f"Dir::Etc::preferences={pins}", "policy", *names).stdout
    candidates = {line.split()[-1] for line in policy.splitlines() if "Candidate:" in line}
    assert {upstream(each) for each in candidates} == {found.version}
