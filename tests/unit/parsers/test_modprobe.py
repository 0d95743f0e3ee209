"""modprobe.d options and how sysfs shows them."""

from __future__ import annotations

import pytest

from tunecheck.parsers.kernel import bls, modprobe


def test_render_and_parse_round_trip() -> None:
    modules: dict[str, dict[str, object]] = {"nvidia-uvm": {"uvm_disable_hmm": 1}, "nvidia": {"NVreg_X": "0x1"}}
    assert modprobe.parse_options(modprobe.render_options(modules)) == {
        "nvidia_uvm": {"uvm_disable_hmm": "1"}, "nvidia": {"NVreg_X": "0x1"}}


def test_parse_follows_modprobe() -> None:
    text = 'options a x=1 \\\n y="2"\n# options a x=3\noptions a-b flag\nblacklist a\noptions a x=4 # late\n'
    assert modprobe.parse_options(text) == {"a": {"x": "4", "y": "2"}, "a_b": {"flag": "1"}}


@pytest.mark.parametrize(
    ("declared", "live", "same"),
    [(1, "Y\n", True), (1, "N", False), ("Y", "Y", True), (0, "N", True), (16, "0x10", True), ("0x10", "16", True),
     (1, "0", False), ("a", "b", False), (1, "", False), (-1, "4294967295", True), ("0660", "432", True),
     ("08", "8", True), ("-1", "1", False)],
)
def test_same_value(declared: object, live: str, same: bool) -> None:
    assert modprobe.same_value(declared, live) is same


@pytest.mark.parametrize(("parameter", "value"), [
    ("NVreg_RestrictProfilingToAdminUsers", "1"), ("NVreg_RegistryDwords", "A=1;B=2"), ("NVreg_RmMsg", ""),
    ("NVreg_ResmanDebugLevel", "4294967295"), ("NVreg_RegistryDword", None), ("NVreg_ExcludeAllGpus", None)])
def test_what_the_driver_shows(parameter: str, value: str | None) -> None:
    listing = ('ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nRegistryDwords: "A=1;B=2"\n'
               'RegistryDwordsPerDevice: ""\nRmMsg: ""\n')
    assert modprobe.nvidia_shows(listing, parameter) == value


def test_bls_entry_gets_another_command_line_and_title() -> None:
    entry = "title Debian\nversion 6.12\nlinux /6.12/linux\noptions root=/dev/vda ro\noptions quiet\n"
    assert bls.options(entry) == "root=/dev/vda ro quiet"
    assert bls.retitle(bls.with_options(entry, "ro x"), "trial") == "title trial\nlinux /6.12/linux\noptions ro x\n"


def test_a_module_of_debians_packages_has_a_file_of_another_name() -> None:
    assert modprobe.file_names("nvidia") == ("nvidia", "nvidia-current-open", "nvidia-current")
    assert modprobe.file_names("nvidia_uvm")[1:] == ("nvidia-current-open-uvm", "nvidia-current-uvm")
    assert modprobe.file_names("nouveau") == ("nouveau",)
