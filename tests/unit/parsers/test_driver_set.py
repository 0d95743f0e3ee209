"""What is planned for a box: every case is one small file under ``driver_sets/``.

box, want:  the planner's input; next_kernel is the running one where it is not said
offers:     {package version: [names]}
plan:       what is held against the plan, where it is named: install {name: version} as a whole; names: the names of
            install; has: some of it as name=version; prerequisites, remove, hold, missing, kernel_hold; hold_has and
            versionlock_has: some of them; repository: some of its fields; problems, notes: in order, a part of each
"""

from __future__ import annotations

import dataclasses
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from tunecheck.parsers.packages import driver_packages, driver_set, package_pins
from tunecheck.parsers.packages.driver_refusals import driver_of
from tunecheck.parsers.packages.driver_set import Box, Plan, Want

CASES = sorted((Path(__file__).parent / "driver_sets").glob("*.yml"))


def _planned(case: dict[str, Any]) -> Plan:
    available: dict[str, tuple[str, ...]] = {}
    for version, names in case.get("offers", {}).items():
        for name in names:
            available[name] = (*available.get(name, ()), version)
    given = {"next_kernel": case["box"]["kernel"], **case["box"]}
    box = Box(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()},
              available=available)
    want = Want(**case["want"])
    asked = driver_set.names(box, want)
    found = driver_set.plan(box, want)
    # What is refused before the repository is configured is refused after it too.
    assert set(driver_set.preflight(box, want)) <= set(found.problems)
    # The caller asks the package manager about these alone.
    assert {each.name for each in (*found.install, *found.prerequisites)} <= set(asked), "names() leaves some out"
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case = yaml.safe_load(path.read_text())
    expected, found = case["plan"], _planned(case)
    for part in ("problems", "notes"):
        sentences = getattr(found, part)
        assert len(sentences) == len(expected.get(part, sentences)), sentences
        for sentence, text in zip(sentences, expected.get(part, sentences), strict=True):
            assert text.lower() in sentence.lower()
    as_apt = {each.apt for each in found.install}
    assert dict(found.install) == expected.get("install", dict(found.install))
    assert sorted(dict(found.install)) == sorted(expected.get("names", dict(found.install)))
    assert set(expected.get("has", ())) <= as_apt
    assert set(expected.get("hold_has", ())) <= set(found.hold)
    assert set(expected.get("versionlock_has", ())) <= set(found.versionlock)
    for part in ("remove", "hold", "kernel_hold", "pins", "blacklist"):
        assert list(getattr(found, part)) == expected.get(part, list(getattr(found, part))), part
    for part in ("prerequisites", "missing"):
        have = [each.dnf for each in getattr(found, part)]
        assert have == expected.get(part, have), part
    assert found.done == expected.get("done", found.done)
    if "dkms_package" in expected:
        assert (found.dkms_package.apt if found.dkms_package else None) == expected["dkms_package"]
    if expected.get("repository", False) is None:
        assert found.repository is None
    elif "repository" in expected:
        assert found.repository is not None
        have = {key: list(value) if isinstance(value, tuple) else value
                for key, value in dataclasses.asdict(found.repository).items()}
        assert have == {**have, **expected["repository"]}


def test_what_is_refused_before_the_repository_is_configured() -> None:
    box = Box("debian", "13", "x86_64", "k", "n", secure_boot=True, headers=("k",), gpu_users=("python3 (4711)",),
              installed={"dkms": "3.2", "gcc": "4:14", "make": "4.4", "libcuda1": "590.48.01-1"})
    said = driver_set.preflight(box, Want("595.71.05", "nvidia"))
    assert [text for text in ("Secure Boot is on", "headers of the next kernel n", "GPUs are in use")
            if not any(text in sentence for sentence in said)] == [] and len(said) == 3
    fit = dataclasses.replace(box, secure_boot=False, next_kernel="k")
    assert driver_set.preflight(fit, Want("595.71.05", "nvidia", drain=True)) == ()
    assert len(driver_set.preflight(fit, Want(None, "nvidia"))) == 1


def test_every_refusal_says_what_was_expected_and_how_to_mend_it() -> None:
    for path in CASES:
        for sentence in _planned(yaml.safe_load(path.read_text())).problems:
            assert (sentence.count(";") >= 1 and "expected" in sentence) or "set driver." in sentence, sentence


def test_pins_leave_the_toolkit_and_what_has_versions_of_its_own_alone() -> None:
    free = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container1",
            "libnvidia-container-tools", "nvidia-settings", "nvidia-cuda-toolkit", "nvidia-driver-assistant",
            "libnvidia-egl-wayland1", "libnvidia-egl-gbm1", "nvidia-support", "nvidia-kernel-common", "nvidia-prime")
    for name, family in driver_packages.FAMILIES.items():
        caught = [(glob, each) for glob in family.globs for each in free if fnmatchcase(each, glob)]
        # Ubuntu's nvidia-kernel-common has the driver's version, Debian's has a date.
        assert [each for _, each in caught if not (each == "nvidia-kernel-common" and "ubuntu" in name)] == []
        if family.globs:
            own = [part.name for part in family.parts if part.follows == "driver"]
            filled = [part.format(branch="595", version="595.71.05", kernel="k", flavour="generic") for part in own]
            assert [each for each in filled if not any(fnmatchcase(each, glob) for glob in family.globs)] == [], name


def test_the_blacklist_covers_the_set_and_spares_others() -> None:
    for path in CASES:
        found = _planned(yaml.safe_load(path.read_text()))
        for name in found.hold if found.blacklist else ():
            assert any(re.match(each, name) for each in found.blacklist) or name == "infiniband-diags", name
        assert not any(re.match(each, "openssl") or re.match(each, "linux-libc-dev") for each in found.blacklist)


def test_every_entry_says_where_it_was_read() -> None:
    for family in (*driver_packages.FAMILIES.values(), driver_packages.TOOLKIT):
        assert family.date
        for part in family.parts:
            assert bool(part.source) == part.verified, part.name
            for letter in part.source.split():
                assert f"\n{letter}  " in (driver_packages.__doc__ or ""), part.name
    assert {release.key for release in driver_packages.RELEASES.values()} == set(driver_packages.KEYS)
    for key in (*driver_packages.KEYS.values(), driver_packages.TOOLKIT_KEY):
        assert key.fingerprint is None or len(key.fingerprint) == 40


@pytest.mark.parametrize(("name", "version", "driver"), [
    ("libcuda1", "595.71.05-1", "595.71.05"), ("nvidia-driver-cuda", "3:595.71.05-1.el9", "595.71.05"),
    ("nvidia-modprobe", "570.133.07-1", None), ("nvidia-kernel-common", "20240109+1", None),
    ("nvidia-container-toolkit", "1.18.1-1", None), ("linux-modules-nvidia-595-open-x", "6.8.0-60.63", None),
    ("nvidia-kernel-common-595-server", "595.71.05-0ubuntu1", "595.71.05"), ("libnvidia-egl-gbm1", "1.1.2-1", None)])
def test_which_packages_are_parts_of_the_driver(name: str, version: str, driver: str | None) -> None:
    assert driver_of(name, version) == driver


def test_the_toolkit_is_four_packages_at_one_version() -> None:
    four = [part.name for part in driver_packages.TOOLKIT.parts]
    box = Box("ubuntu", "24.04", "aarch64", "k", "k", available={name: ("1.18.1-1", "1.19.1-1") for name in four})
    assert list(driver_set.toolkit_names(box)) == four
    found = driver_set.toolkit_plan(box, "1.18.1", "nvidia")
    assert [each.apt for each in found.install] == [f"{name}=1.18.1-1" for name in four]
    assert not found.done and not found.problems and found.hold == tuple(four)
    assert found.repository and found.repository.url.endswith("/stable/deb/arm64/")
    text = package_pins.preferences(found.pins)
    assert f"Package: {' '.join(four)}\nPin: version 1.18.1-1\nPin-Priority: 1001\n" in text
    there = dataclasses.replace(box, installed=dict.fromkeys(four, "1.18.1-1"))
    assert driver_set.toolkit_plan(there, "1.18.1", "nvidia").done
    refused = driver_set.toolkit_plan(dataclasses.replace(box, available={four[0]: ("1.17.7-1",)}), "1.18.1", "mirror")
    assert len(refused.problems) == 2 + 4 and "offered as: 1.17.7-1" in refused.problems[2]
    on_el = driver_set.toolkit_plan(dataclasses.replace(box, distribution="rhel", release="10.0"), "1.18.1", "nvidia")
    assert on_el.repository and on_el.repository.url.endswith("/stable/rpm/aarch64/")
    assert on_el.versionlock[0] == "nvidia-container-toolkit-1.18.1-1.*" and not on_el.pins


def test_the_page_says_the_same() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/driver-packages.md").read_text()
    rows = {tuple(row.split("|")[1].split()): row for row in page.splitlines() if row.startswith("|")}
    for key, release in driver_packages.RELEASES.items():
        row, fingerprint = rows[key], driver_packages.KEYS[release.key].fingerprint
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[2].startswith(release.path) and (fingerprint or "refused") in cells[2]
        assert cells[3] == ("yes" if release.distribution else "no")
        assert cells[4].startswith("yes") == (release.distribution == "ubuntu")
