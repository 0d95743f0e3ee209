"""Packages, registry words, environments, task lists: real forms, and anything at all."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunecheck.parsers.containers import environment
from tunecheck.parsers.kernel import tasks
from tunecheck.parsers.nvidia import nccl_env, nvidia_params, registry_dwords
from tunecheck.parsers.nvidia.nccl_names import NCCL_NAMES
from tunecheck.parsers.packages import packages

ANY = st.one_of(st.text(max_size=400), st.binary(max_size=400).map(lambda data: data.decode("utf-8", "replace")))
_RUNS = settings(max_examples=300, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(("name", "version", "driver"), [
    ("libnvidia-compute-595", "595.71.05-0ubuntu0.24.04.1", "595.71.05"),
    ("nvidia-driver", "3:595.71.05-1.el9", "595.71.05"), ("libcuda1", "550.163.01-2", "550.163.01"),
    ("libnvidia-common-595", "595.71.05-0ubuntu1", "595.71.05"), ("cuda-drivers", "595.71.05-1", "595.71.05"),
    ("nvidia-fabricmanager", "580.159.04-1", "580.159.04"), ("nvidia-open", "595.71.05-1", "595.71.05"),
    ("nvidia-container-toolkit", "1.18.0-1", None), ("libnvidia-container1", "1.18.0-1", None),
    ("nvidia-prime", "0.8.17.2", None), ("nvidia-settings", "510.47.03-0ubuntu1", None),
    ("linux-modules-nvidia-595-open-6.8.0-60-generic", "6.8.0-60.63", None), ("nvidia-kernel-common", "20240109", None),
    ("libcudart.so.13", "", None), ("nvidia-driver-pinning-595.71.05", "595.71.05", None)])
def test_which_packages_carry_the_drivers_version(name: str, version: str, driver: str | None) -> None:
    assert packages.Package(name, version, False).driver == driver


def test_removed_packages_that_left_their_settings_do_not_count() -> None:
    text = "a\t1\thold\tinstalled\nb\t1\tdeinstall\tconfig-files\nlibcuda.so.13\t\tunknown\tnot-installed\nrubbish\n"
    assert packages.dpkg(text) == (packages.Package("a", "1", True),)


@pytest.mark.parametrize(("entry", "yes"), [
    ("nvidia-driver-3:595.71.05-1.el9.*", True), ("nvidia-driver-595.71.05-1.el9.x86_64", True), ("nvidia-*", True),
    ('name = "nvidia-driver"', True), ("3:nvidia-driver-595.71.05-1.el9.*", False), ("!nvidia-driver", False),
    ("nvidia-driver-cuda-3:595.71.05-1.el9.*", False), ("", False), ("*" * 60, False)])
def test_entries_of_versionlock(entry: str, yes: bool) -> None:
    assert packages.locked(entry, "nvidia-driver") is yes


def test_apt_settings_and_pins() -> None:
    text = ('// APT::Periodic::Unattended-Upgrade "0";\nAPT::Periodic::Unattended-Upgrade "1";\n'
            'Unattended-Upgrade::Package-Blacklist {\n  "nvidia-";\n  // "linux-";\n};\n')
    assert packages.apt_settings(text) == (True, ["nvidia-"])
    assert packages.apt_settings("") == (None, [])
    pins = packages.apt_pins("Package: *\nPin: release a=x\nPin-Priority: 900\n\nPackage: *nvidia*\n"
                             "Pin: version 595.*\nPin-Priority: 1001\n\nPackage: *nvidia*\nPin: origin x\n"
                             "Pin-Priority: -1\n")
    assert pins == [("*nvidia*", "version 595.*", 1001)]


def test_registry_words() -> None:
    assert registry_dwords.words('"A=1; B = 0x2 ;C;=3;;"') == [("A", "1"), ("B", "0x2")]
    assert [word.remedy for word in registry_dwords.problems("NVreg_EnableResizableBar=1;ForceP2P=x")] == [
        "options nvidia NVreg_EnableResizableBar=1", "give ForceP2P a number"]


@pytest.mark.parametrize(("text", "sure"), [
    # rm_parse_option_string and registry.c of 595.45.04: table entries by strcmp, keys without case.
    ("ForceP2P=0x211;RMForceStaticBar1=1;EnableResizableBar=1;GrdmaPciTopoCheckOverride=1;RmProfilingAdminOnly=0;", []),
    ("forcep2p=0x211;RMFORCEP2PTYPE=1", []),
    ("ForceP2P=0x11", [False]), ("PowerMizerEnable=0x1", [False]),
    ("enableresizablebar=1", [True]), ("RestrictProfilingToAdminUsers=0", [True]), ("ExcludeAllGpus=1", [True]),
    ("ForceP2P=0x211,RMForceP2PType=1", [True]), ("ForceP2P=0x211 RMForceP2PType=1", [True]),
    ("ForceP2P:0x211", [True]),
    ("ForceP2P", [True]), ("ForceP2P=1,", [True]), ("RMForceP2PType=4", [True]), ("ForceP2P=0x3", [True]),
    ("RMPcieP2PType=-1", [True]), ("RMBar1ApertureSizeMB=0x100000000", [True]), ("RMForcP2PType=1", [True]),
])
def test_what_a_registry_word_does(text: str, sure: list[bool]) -> None:
    assert [each.sure for each in registry_dwords.problems(text)] == sure


def test_words_before_a_board_are_skipped() -> None:
    found = registry_dwords.problems_per_device("ForceP2P=0x211;pci=0000:01:00.0;RMForceStaticBar1=1")
    assert [each.word for each in found] == ["ForceP2P=0x211"]


@pytest.mark.parametrize(("text", "number"), [("0x1F", 31), ("017", 15), ("-1", -1), ("+2", 2), ("0", 0), ("08", None),
                                              ("0b1", None), ("1_0", None), ("", None), ("0x", None), (" 1", None)])
def test_numbers_as_the_kernel_reads_them(text: str, number: int | None) -> None:
    assert nvidia_params.c_number(text) == number


@pytest.mark.parametrize(("value", "good"), [("SYS", True), ("PXB", True), ("4", True), ("NODE", False), ("sys", False),
                                             ("DIS", False), ("", False)])
def test_levels_that_nccl_knows(value: str, good: bool) -> None:
    assert [problem.name for problem in nccl_env.problems({"NCCL_P2P_LEVEL": value}, frozenset(), 1, 2)] == (
        [] if good else ["NCCL_P2P_LEVEL"])


def test_two_kinds_of_boards_need_an_order() -> None:
    found = list(nccl_env.problems({"NCCL_IB_DISABLE": "1"}, frozenset(), 2, 2))
    assert [problem.remedy for problem in found] == ["set CUDA_DEVICE_ORDER=PCI_BUS_ID"]
    assert not list(nccl_env.problems({"CUDA_VISIBLE_DEVICES": "GPU-1111"}, frozenset(), 1, 2))
    assert not list(nccl_env.problems({"CUDA_VISIBLE_DEVICES": "0,1"}, frozenset(), 1, 2))


def test_every_name_of_nccl_is_a_name() -> None:
    assert all(name == name.upper() and not name.startswith("NCCL_") for name in NCCL_NAMES) and len(NCCL_NAMES) > 200


def test_only_what_is_asked_for_is_kept_of_an_environment() -> None:
    text = ("/etc/systemd/system/a.service:3:NCCL_X=1\n/etc/systemd/system/a.service:3:HF_TOKEN=secret\n"
            "/etc/systemd/system/a.service:4:#\n/etc/systemd/system/a.service:4:NCCL_Y=1\n"
            "/etc/systemd/system/a.service:5:EnvironmentFile=-/etc/default/a\n"
            "/etc/systemd/system/a.service:6:EnvironmentFile=/proc/1/environ\n"
            "/etc/systemd/system/a.service:7:--env-file /srv/../proc/x\n")
    assert {path: each.values for path, each in environment.variables(text).items()} == {
        "/etc/systemd/system/a.service": {"NCCL_X": "1"}}
    assert environment.files_named(text) == ["/etc/default/a"]


def test_a_name_with_brackets_and_spaces_in_ps() -> None:
    stuck, dead, init = tasks.parse_ps("  1 0 1 S systemd\n 7 2 7 D jbd2/vda1-8\n 9 1 10 D a) D (b \n"
                                       " 11 1 11 Z sh\nX\n")
    assert stuck == [tasks.Task(7, 7, "jbd2/vda1-8", True), tasks.Task(9, 10, "a) D (b", False)]
    assert [task.pid for task in dead] == [11] and init


def test_a_hundred_thousand_tasks() -> None:
    lines = "".join(f"{pid} 1 {pid} {'D' if pid % 1000 == 0 else 'S'} worker\n" for pid in range(1, 100_001))
    assert len(tasks.parse_ps(lines)[0]) == 100


@_RUNS
@given(ANY)
def test_anything_at_all(text: str) -> None:
    for parse in (packages.dpkg, lambda listing: packages.rpm(listing, text), packages.apt_settings):
        with suppress(ValueError):      # too many, or no name: a refusal with its reason
            parse(text)
    packages.apt_pins(text)
    packages.settings(text)
    packages.locked(text, "nvidia-driver")
    list(registry_dwords.problems(text))
    list(registry_dwords.problems(f"ForceP2P={text}"))
    list(registry_dwords.problems_per_device(f"{text};ForceP2P=1"))
    nvidia_params.c_number(text)
    environment.variables(f"/etc/environment:1:NCCL_{text}")
    environment.variables(f"/proc/1/environ:NCCL_{text}", "\0")
    environment.files_named(f"/a:1:EnvironmentFile={text}")
    list(nccl_env.problems({"NCCL_P2P_LEVEL": text, f"NCCL_{text}": text, "CUDA_VISIBLE_DEVICES": text,
                            "PYTORCH_CUDA_ALLOC_CONF": text}, frozenset(), 2, 8))
    tasks.parse_ps(text)
    tasks.in_driver(text)
    tasks.kill_pending(f"SigPnd:\t{text}")


@_RUNS
@given(st.lists(st.sampled_from(["{", "}", '"', "Unattended-Upgrade::Package-Blacklist", "\n\n", "Package:", "Pin:",
                                 "//", "-", "1", ":", "*", "#"]), max_size=200).map("".join))
def test_pieces_of_the_real_thing(text: str) -> None:
    packages.apt_settings(text)
    packages.apt_pins(text)
    packages.locked(text, "nvidia-driver")


def test_long_runs_cost_no_time_worth_naming() -> None:
    """Nothing here may grow faster than its input: a test that hangs says which."""
    for piece in ("-1", "nvidia-", "Package: ", '"', "Unattended-Upgrade::Package-Blacklist {", "#", "1.", "/a",
                  ";A=1"):
        text = piece * (200_000 // len(piece))
        packages.apt_settings(text)
        packages.apt_pins(text)
        packages.locked(text, "nvidia-driver")
        packages.driver_version(text)
        list(registry_dwords.problems(text))
        environment.files_named(f"/x:1:{text}")
        environment.variables(f"/x:1:{text}")
        tasks.parse_ps(text)
        tasks.in_driver(text)


@pytest.mark.parametrize(("pattern", "blacklisted"), [
    ("nvidia-", True), ("nvidia-utils-595", True), ("nvidia-utils-595$", True), ("nvidia-utils$", False),
    ("^nvidia", True), ("nvidia-.*", True), ("nvidia-*", True), ("libnvidia", False), ("", True), ("(n+)+v", False),
    (r"nvidia\-utils", False), ("." * 300, False)])
def test_what_unattended_upgrades_spare(pattern: str, blacklisted: bool) -> None:
    assert packages.blacklisted(pattern, "nvidia-utils-595") is blacklisted
