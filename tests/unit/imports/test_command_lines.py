"""Texts of one line, or without a heading, in one paste: each counts, two that differ are refused, equal ones are one;
a line that a window broke is one line."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.unit.imports.test_twice import outcomes
from tests.unit.imports.twice import TWICE
from tests.unit.refusing import refused

from tunecheck.errors import UsageError
from tunecheck.host.imported.command_lines import joined
from tunecheck.host.imported.files import pieces
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage

#: How loaders and machines without one begin them: of each two that differ, of two boots.
LINES = {
    "GRUB": ("BOOT_IMAGE=/vmlinuz-6.17.0-20-generic root=UUID=aa ro quiet amd_iommu=off pci=noacs",
             "BOOT_IMAGE=/vmlinuz-6.17.0-20-generic root=UUID=aa ro quiet iommu=pt pci=realloc=off"),
    "GRUB, another kernel": ("BOOT_IMAGE=/vmlinuz-6.8.0-45-generic root=UUID=aa ro quiet amd_iommu=off pci=noacs",
                             "BOOT_IMAGE=/vmlinuz-6.17.0-20-generic root=UUID=aa ro quiet iommu=pt"),
    "systemd-boot": (r"initrd=\EFI\a\initrd.img-6.8 root=UUID=1 rw amd_iommu=off pci=noacs",
                     r"initrd=\EFI\a\initrd.img-6.17 root=UUID=1 rw iommu=pt pci=realloc=off"),
    "options": ("root=UUID=11111111-2222 ro quiet amd_iommu=off", "root=UUID=11111111-2222 ro quiet iommu=pt"),
    "two loaders": ("BOOT_IMAGE=/vmlinuz-6.12 root=/dev/sda1 ro amd_iommu=off", "root=/dev/sda1 ro quiet iommu=pt"),
    "words": ("console=ttyS0 ro quiet amd_iommu=off init=/sbin/init",
              "console=ttyS0 ro quiet iommu=pt init=/sbin/init"),
    "other words": ("ro quiet console=ttyS0 amd_iommu=off", "console=ttyS0 ro quiet panic=1 iommu=pt"),
}
#: Texts that other lines stand beside, not those that have or are a command line, or are a part of every text.
_BESIDE = [kind for kind in TWICE if kind not in ("/proc/cmdline", "lspci -v")]


def _content(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [line.decode().strip() for line in [load_import(str(path)).read_bytes("/proc/cmdline")]]


@pytest.mark.parametrize("loader", LINES)
@pytest.mark.parametrize("between", ["", "\n", "\n\n\n", "=== after ===\n", "cat /proc/cmdline\n",
                                     "+ cat /proc/cmdline\n"])
def test_two_command_lines_that_differ_are_refused_and_equal_ones_are_one(
        loader: str, between: str, tmp_path: Path) -> None:
    for one, other in itertools.permutations(LINES[loader]):
        (tmp_path / "a").write_text(f"{one}\n{between}{other}\n")
        with refused(Damage.CONTRADICTS, "/proc/cmdline"):
            load_import(str(tmp_path / "a"))
        assert _content(tmp_path / "a", f"{one}\n{between}{one}\n") == [one]


@pytest.mark.parametrize("loader", LINES)
def test_they_count_in_front_of_behind_and_around_every_other_output(loader: str, tmp_path: Path) -> None:
    for kind in _BESIDE:
        one, other = (f"{line}\n" for line in LINES[loader])
        text = TWICE[kind][0]
        for given in (one + other + text, text + one + other, one + text + other):
            (tmp_path / "a").write_text(given)
            with refused(Damage.CONTRADICTS, "/proc/cmdline"):
                load_import(str(tmp_path / "a"))
        for given in (one + text, text + one, one + text + one):
            assert _content(tmp_path / "a", given) == [one.strip()], kind


@pytest.mark.parametrize("width", [60, 72, 80])
def test_two_that_a_window_broke_are_each_one_line(width: int, tmp_path: Path) -> None:
    for loader in LINES:
        if loader == "other words":
            continue
        one, other = (f"{line} pcie_aspm=off nohz_full=1-15 isolcpus=1-15 mitigations=off transparent_hugepage=never"
                      for line in LINES[loader])
        for text in (one, other):
            broken = "\n".join(text[begin:begin + width] for begin in range(0, len(text), width)) + "\n"
            assert joined(broken).strip() == text, loader
        broken = "".join(text[begin:begin + width] + "\n" for text in (one, other)
                         for begin in range(0, len(text), width))
        assert joined(broken).splitlines() == [one, other], loader
        (tmp_path / "a").write_text(broken)
        with refused(Damage.CONTRADICTS, "/proc/cmdline"):
            load_import(str(tmp_path / "a"))
        assert _content(tmp_path / "a", TWICE["topo"][0] + broken[:len(broken) // 2 + 1]) == [one] or \
            len(one) != len(other)


@pytest.mark.parametrize("kind", _BESIDE)
def test_no_output_is_glued_to_a_command_line(kind: str, tmp_path: Path) -> None:
    for text in TWICE[kind]:
        for line in LINES["GRUB"]:
            (tmp_path / "a").write_text(f"{line}\n{text}")
            assert next(pieces(str(tmp_path / "a"))).text.strip() == line


#: Of a log, what stands in front of an earlier time is of another boot; as files they may overlap.
@pytest.mark.parametrize("kind", [kind for kind in TWICE if kind != "kernel log"])
def test_one_paste_is_judged_as_two_files(kind: str, tmp_path: Path) -> None:
    """Two that differ are refused in one paste where they are as files; two that are equal are one."""
    for number, (one, other) in enumerate([*itertools.permutations(TWICE[kind]), TWICE[kind][:1] * 2]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for place, text in enumerate((one, other)):
            (folder / f"{place}-p2p-r.txt").write_text(text)
        (tmp_path / "paste-p2p-r.txt").write_text(one + other)
        assert outcomes(tmp_path / "paste-p2p-r.txt") == outcomes(folder)
    (tmp_path / "paste-p2p-r.txt").write_text(TWICE[kind][0])
    assert outcomes(tmp_path / "paste-p2p-r.txt") == outcomes(folder)


def test_lines_of_no_use_are_counted(tmp_path: Path) -> None:
    line = LINES["GRUB"][0]
    (tmp_path / "a").write_text(f"{TWICE['topo'][0]}{line}\nThanks for reading!\nBye\n")
    assert load_import(str(tmp_path / "a")).summary().endswith("; not used: 2 lines of a")
    (tmp_path / "a").write_text(f"{TWICE['topo'][0]}{line}\n")
    assert "not used" not in load_import(str(tmp_path / "a")).summary()


def test_a_sentence_below_is_none_of_it(tmp_path: Path) -> None:
    for line in LINES["GRUB"]:
        for below in ("6.17.0-20-generic\n", "This is the box that I mean.\n"):
            (tmp_path / "a").write_text(f"{TWICE['topo'][0]}{line}\n{below}")
            try:
                assert load_import(str(tmp_path / "a")).read_bytes("/proc/cmdline").decode().strip() == line
            except UsageError as error:
                raise AssertionError(below) from error
