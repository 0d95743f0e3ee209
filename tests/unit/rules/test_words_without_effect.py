"""A word that no kernel parses gets one answer from every check: leave it, where profiles set it and it does no harm;
correct it, where a word is near; else remove it."""

from __future__ import annotations

import pytest
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.rules.judging import judged

from tunecheck.parsers.kernel.kernel_params import INEFFECTIVE, PCI_WORDS, VALUES, corrected, unparsed
from tunecheck.rules.remedies.boot_remedies import leave, leave_unset
from tunecheck.spec.frozen import Kernel

_CHECKS = ("cmdline-token", "cmdline-unknown", "cmdline-rejected")


@pytest.mark.parametrize("word", INEFFECTIVE)
@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("declared", [True, False])
def test_a_harmless_word_gets_one_answer(word: str, runs: bool, declared: bool) -> None:
    spec = frozen(kernel=Kernel(cmdline=(word,))) if declared else None
    machine = full(switch(0), word if runs else "")
    found = [each for check in _CHECKS for each in judged(machine, check, spec) if each.subject == word]
    answer = leave(word) if runs else leave_unset(word)
    assert {each.remedy for each in found if each.outcome in ("fail", "warn")} <= {answer, None}
    assert not answer.needs_reboot
    if runs != declared:
        assert answer in [each.remedy for each in found]


@pytest.mark.parametrize(("wrong", "meant"), [
    ("pci=disable_acs_redr=pci:0:0", "pci=disable_acs_redir=pci:0:0"), ("pci=realoc", "pci=realloc"),
    ("pci=iommu=pt", "iommu=pt"), ("disable_acs_redir=pci:0:0", "pci=disable_acs_redir=pci:0:0"),
    ("amd_iomu=on", "amd_iommu=on"), ("pcie_aspn=off", "pcie_aspm=off")])
def test_a_misspelt_word_is_to_be_corrected(wrong: str, meant: str) -> None:
    assert corrected(wrong) == meant
    (found,) = [each for each in judged(full(switch(0), wrong), "cmdline-unknown") if each.outcome == "warn"]
    assert found.remedy and f"correct {wrong} to {meant} in " in found.remedy.text and found.remedy.needs_reboot


@pytest.mark.parametrize("word", ["pcie_acs_override=downstream", "pci=0000:01:00.0", "pci=noacs", "pci=zzzzzzzz",
                                  "pcie_aspm=performance"])
def test_a_word_that_no_word_is_near_is_not_corrected(word: str) -> None:
    assert corrected(word) == ""


def test_what_is_suggested_is_what_the_fix_asks_for() -> None:
    """Every misspelling by one letter that the message answers with "did you mean" has a corrected word."""
    words = [f"pci={each}{'x' * each.endswith('=')}" for each in sorted(PCI_WORDS)] + sorted(VALUES)
    for word in words:
        for at in range(5, len(word.rstrip("=x"))):
            wrong = word[:at] + word[at + 1:]
            told = unparsed(wrong)
            if "did you mean" in told:
                near = told.rpartition("did you mean ")[2].rstrip("?")
                assert corrected(wrong).startswith(near) or (near + "=") in {f"pci={each}" for each in PCI_WORDS}, wrong


def test_a_word_that_is_right_is_not_corrected() -> None:
    assert [word for word in PCI_WORDS if corrected(f"pci={word}{'x' * word.endswith('=')}")] == []
