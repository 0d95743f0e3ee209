"""What the kernel_cmdline module decides, from what the box shows. The real GRUB follows in tests/lab."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

BASE = ["root=/dev/vda", "ro", "console=ttyS0"]
MARK = "tunecheck.trial="


@pytest.fixture()
def kernel_cmdline(load_module: Any) -> ModuleType:
    return load_module("kernel_cmdline")


def situation(module: ModuleType, monkeypatch: pytest.MonkeyPatch, tokens: list[str], *, running: list[str],
              configured: list[str], generated: list[str], retired: list[str] | None = None,
              staged: Any = None) -> Any:
    loader = SimpleNamespace(configured=lambda: configured, generated=lambda: generated,
                             retired=lambda: retired or [], staged=lambda: staged)
    monkeypatch.setattr(module, "read_text", lambda path: " ".join(running))
    return module.Situation(loader, tokens)


def test_a_fresh_box_stages_a_trial(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE)
    assert kernel_cmdline.decide(now, trial=True) == ("staged", "stage")
    assert kernel_cmdline.decide(now, trial=False) == ("pending", "commit")


def test_an_interrupted_run_finds_its_staged_trial(
        kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    first = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE)
    staged = SimpleNamespace(tokens=[*BASE, "pci=noacs", MARK + first.trial_id], armed=True)
    again = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=BASE, configured=[], generated=BASE,
                      staged=staged)
    assert kernel_cmdline.decide(again, trial=True) == ("staged", None)
    staged.armed = False
    assert kernel_cmdline.decide(again, trial=True) == ("staged", "stage")


def test_a_running_trial_waits_for_its_verdict(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=[*BASE, "pci=noacs", MARK + "x"],
                    configured=[], generated=BASE)
    assert kernel_cmdline.decide(now, trial=True) == ("trial", None)


def test_a_committed_box_is_settled(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "pci=noacs"]
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=both, configured=["pci=noacs"], generated=both)
    assert kernel_cmdline.decide(now, trial=True) == ("settled", None)


def test_a_failed_update_grub_heals(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written, grub.cfg is not: memory says done, the generated file says otherwise."""
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=[*BASE, "pci=noacs"],
                    configured=["pci=noacs"], generated=BASE)
    assert kernel_cmdline.decide(now, trial=True) == ("trial", None)
    assert not now.committed


def test_another_entry_was_booted(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=BASE, configured=["pci=noacs"],
                    generated=[*BASE, "pci=noacs"])
    assert kernel_cmdline.decide(now, trial=True) == ("pending", None)


def test_a_dropped_token_needs_a_trial_too(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "pci=noacs,realloc"]
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs"], running=both, configured=["pci=noacs,realloc"],
                    generated=both)
    assert now.dropped == ["pci=realloc"]
    assert kernel_cmdline.decide(now, trial=True) == ("staged", "stage")
    assert now.retired == ["pci=realloc"]


def test_a_dropped_token_that_is_also_somebody_elses_is_not_waited_for(
        kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*BASE, "iommu=pt", "iommu=pt"]
    now = situation(kernel_cmdline, monkeypatch, [], running=both, configured=["iommu=pt"], generated=both)
    assert now.retired == []
    assert kernel_cmdline.decide(now, trial=True) == ("trial", None)


def test_pci_words_from_elsewhere_do_not_matter(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["pci=realloc", *BASE, "pci=noacs,disable_acs_redir=pci:0:0"]
    now = situation(kernel_cmdline, monkeypatch, ["pci=noacs", "pci=disable_acs_redir=pci:0:0"], running=both,
                    configured=["pci=noacs,disable_acs_redir=pci:0:0"], generated=both)
    assert kernel_cmdline.decide(now, trial=True) == ("settled", None)


def test_trial_ids_differ_by_what_is_dropped(kernel_cmdline: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    one = situation(kernel_cmdline, monkeypatch, ["a"], running=BASE, configured=[], generated=BASE)
    two = situation(kernel_cmdline, monkeypatch, ["a"], running=BASE, configured=["b"], generated=BASE)
    assert one.trial_id != two.trial_id
