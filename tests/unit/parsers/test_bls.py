"""Entries and /etc/kernel/cmdline, edited word by word: nothing else moves, and what is taken away leaves no trace."""

from __future__ import annotations

import pytest

from tunecheck.parsers.kernel import bls

OURS = ["pci=noacs", "iommu=pt"]


@pytest.mark.parametrize(("text", "key", "with_ours"), [
    ("options    ro  quiet\nlinux /l\n", "options", "options    ro  quiet pci=noacs iommu=pt\nlinux /l\n"),
    ("options ro\noptions quiet \nlinux /l", "options", "options ro\noptions quiet  pci=noacs iommu=pt\nlinux /l"),
    ("title x\nlinux /l\n", "options", "title x\nlinux /l\noptions pci=noacs iommu=pt\n"),
    ("ro iommu=pt\n", "", "ro iommu=pt pci=noacs iommu=pt\n"),
    ("# pci=noacs is ours\nro quiet", "", "# pci=noacs is ours\nro quiet pci=noacs iommu=pt"),
    ("ro\nquiet\n\n# end\n", "", "ro\nquiet pci=noacs iommu=pt\n\n# end\n"),
])
def test_added_and_taken_away(text: str, key: str, with_ours: str) -> None:
    assert bls.edited(text, [], OURS, key) == with_ours
    assert bls.edited(with_ours, OURS, [], key) == text
    assert bls.edited(with_ours, OURS, OURS, key) == with_ours


@pytest.mark.parametrize(("line", "without"), [
    ("ro pci=noacs,nommconf", "ro pci=noacs,nommconf"), ("pci=noacs ro", " ro"), ("ro xpci=noacs", "ro xpci=noacs"),
    ("ro pci=noacs systemd.machine_id=1", "ro systemd.machine_id=1"), ("pci=noacs ro pci=noacs", "pci=noacs ro"),
])
def test_only_the_whole_word_goes_the_last_one_first(line: str, without: str) -> None:
    assert bls.edited(line + "\n", ["pci=noacs"], []) == without + "\n"


def test_comments_are_no_words() -> None:
    assert bls.line("# a\n  ro  quiet\n\n\tiommu=pt\n#b\n") == "ro  quiet iommu=pt"
