"""The command line as tokens and words."""

from __future__ import annotations

import pytest

from tunecheck.parsers.kernel import cmdline


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("a b=c", ["a", "b=c"]),
        ("  a\t b \n", ["a", "b"]),
        ('dyndbg="file foo.c +p" quiet', ['dyndbg="file foo.c +p"', "quiet"]),
        ('"x=1 2" y', ['"x=1 2"', "y"]),
        ("", []),
    ],
)
def test_tokenize_splits_as_the_kernel_does(line: str, tokens: list[str]) -> None:
    assert cmdline.tokenize(line) == tokens


def test_words_break_only_pci() -> None:
    assert cmdline.words(["console=ttyS0,115200", "pci=noacs,realloc", "pci=noacs"]) == [
        "console=ttyS0,115200", "pci=noacs", "pci=realloc"]


def test_merge_joins_pci_words_where_the_first_stood() -> None:
    merged = cmdline.merge(["iommu=pt", "pci=noacs", "quiet", "pci=disable_acs_redir=00:01.0;00:02.0"])
    assert merged == ["iommu=pt", "pci=noacs,disable_acs_redir=00:01.0;00:02.0", "quiet"]
    assert cmdline.merge(merged) == merged


def test_missing_and_present_judge_words_not_tokens() -> None:
    running = ["pci=realloc,noacs", "iommu=pt"]
    assert cmdline.missing(["pci=noacs", "pcie_aspm=off"], running) == ["pcie_aspm=off"]
    assert cmdline.present(["pci=noacs,nomsi", "iommu=pt"], running) == ["pci=noacs", "iommu=pt"]
    assert cmdline.count("pci=noacs", [*running, "pci=noacs"]) == 2


def test_trial_marker_round_trip() -> None:
    assert cmdline.trial_id(["ro", cmdline.trial_token("abc")]) == "abc"
    assert cmdline.trial_id(["ro", "tunecheck.trial="]) is None
