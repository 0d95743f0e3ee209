"""No remedy asks for a word of the kernel command line that is in effect there already with this value, unless the next
boot is known to lose it: the reboot would change nothing. What it replaces, it names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.rules.test_loader_edit import _booted_by

from tunecheck.facts.kernel.boot import Loader
from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding, Remedy
from tunecheck.parsers.kernel.cmdline import acts, missing, tokenize, words
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Acs, Frozen, Kernel

ALL = "pci=disable_acs_redir=pci:0:0"
_NARROW = "pci=disable_acs_redir=0000:02:03.0"
_LINES = (ALL, f"iommu=pt {ALL}", f"iommu=off amd_iommu=off {ALL}", f"iommu=pt iommu=off {ALL}",
          f"{_NARROW} {ALL}", f"{ALL} {_NARROW}", "pci=noacs,disable_acs_redir=0000:02:03.0", "iommu=pt", "pci=realloc",
          "init_on_alloc=0", "pci=realloc,disable_acs_redir=pci:0:0 init_on_alloc=0 iommu=pt",
          "pci=config_acs=xx111xx@pci:0:0", "")
_LOG = ("[    0.000000] Linux version 6.12.1\n[    0.100000] mem auto-init: stack:off, heap alloc:on, heap free:off\n"
        "[    0.200000] ACPI: IVRS 0x000000008A208000 000040 (v02 AMD    AMD      00000001 AMD  00000001)\n"
        "[    1.000000] pci 0000:03:00.0: BAR 1 [mem size 0x2000000000 64bit pref]: failed to assign\n")
_SPECS = (None, frozen(), frozen(iommu="pt"), frozen(iommu="pt", kernel=Kernel(cmdline=("init_on_alloc=0",))),
          frozen(acs=Acs(peer_redirect="off", at_boot_unit=False)))


def _case(line: str, spec: Frozen | None, generated: str | None = None) -> Case:
    machine = full(switch(), line, generated, log=_LOG)
    for bdf in ("0000:03:00.0", "0000:04:00.0"):
        folder = f"/sys/bus/pci/devices/{bdf}/iommu_group"
        machine.errors.pop(f"realpath {folder}", None)
        machine.realpaths[folder] = "/sys/kernel/iommu_groups/1"
    machine.file("/sys/kernel/iommu_groups/1/type", "DMA-FQ\n")
    return _by_grubby(Case(gather(machine.host(), spec.spec if spec else None, True), spec))


def _by_grubby(case: Case) -> Case:
    """The same box, whose boot loader is edited with grubby: its options are the words that are put and taken."""
    return _booted_by(case, Loader.GRUBBY)


def _asked(remedy: Remedy) -> Iterator[str]:
    """The words that the remedy puts on the command line."""
    for command in remedy.commands:
        for word in command.argv:
            if word.startswith("--args="):
                yield from words(tokenize(word.removeprefix("--args=")))


def _again(case: Case, finding: Finding) -> list[str]:
    """The words that it asks for and that are in effect, now and as far as is known at the next boot."""
    running, generated = case.host.kernel.cmdline.value or (), case.host.boot.generated.value
    asked = list(_asked(finding.remedy)) if finding.remedy else []
    away = [word for command in finding.remedy.commands for each in command.argv if each.startswith("--remove-args=")
            for word in words(tokenize(each.removeprefix("--remove-args=")))] if finding.remedy else []
    return [word for word in asked if word not in away and acts(word, running)
            and (generated is None or not missing([word], generated))]


@pytest.mark.parametrize(("line", "spec"), list(product(_LINES, range(len(_SPECS)))))
def test_no_remedy_asks_for_what_runs(line: str, spec: int) -> None:
    case = _case(line, _SPECS[spec])
    for finding in judge(case, "preflight"):
        assert _again(case, finding) == [], f"{finding.id}: {finding.remedy and finding.remedy.text}"


def test_none_does_in_the_cases_of_the_checks() -> None:
    for path in CASES:
        _, case, verb = case_of(path)
        if case.snapshot.host is None:
            continue
        case = _by_grubby(case)
        for finding in judge(case, verb):
            assert _again(case, finding) == [], f"{path.stem}: {finding.id}"


@pytest.mark.parametrize("spec", range(len(_SPECS)))
def test_a_word_that_runs_and_did_not_act_is_told_and_no_reboot_is_promised(spec: int) -> None:
    found = [each for each in judge(_case(f"iommu=pt {ALL}", _SPECS[spec]), "preflight")
             if each.id == "acs-redirect" and each.outcome == "fail"]
    assert found
    for each in found:
        assert each.remedy and not each.remedy.needs_reboot and "then reboot" not in each.remedy.text
        assert f"{ALL} is on the running command line and did not act" in each.remedy.text
        assert "sudo dmesg" in [command.shown for command in each.remedy.commands]


def test_a_word_that_the_next_boot_loses_is_asked_for() -> None:
    found = [each for each in judge(_case(ALL, None, "quiet"), "preflight") if each.id == "acs-redirect"]
    assert any(each.remedy and ALL in _asked(each.remedy) for each in found)


@pytest.mark.parametrize(("line", "old", "new"), [
    (_NARROW, _NARROW, ALL), (f"{ALL} {_NARROW}", _NARROW, ALL),
    ("pci=config_acs=xx111xx@pci:0:0", "pci=config_acs=xx111xx@pci:0:0", ALL),
    ("pci=noacs,disable_acs_redir=0000:02:03.0", "pci=noacs,disable_acs_redir=0000:02:03.0",
     "pci=noacs,disable_acs_redir=pci:0:0")])
@pytest.mark.parametrize("spec", range(len(_SPECS)))
def test_an_older_option_is_named_as_replaced(line: str, old: str, new: str, spec: int) -> None:
    (found, *_) = [each for each in judge(_case(line, _SPECS[spec]), "preflight")
                   if each.id == "acs-redirect" and each.outcome == "fail"]
    assert found.remedy and f"in place of {old}" in found.remedy.text and new in found.remedy.text
    grubby = [word for command in found.remedy.commands for word in command.argv if word.startswith("--remove-args")]
    assert set(grubby) == {f"--remove-args={old}"}, "by hand, and before the play"
    if _SPECS[spec] is not None:
        assert old in found.remedy.play_text, "no play takes away what somebody else wrote"


def test_of_several_acs_options_the_last_one_counts() -> None:
    """Linux drivers/pci/pci.c pci_setup(): disable_acs_redir_param = str + 18."""
    def persists(line: str) -> str:
        case = Case(gather(full(switch(0x11), line).host(), None, True))
        return next(each.code for each in judge(case, "preflight") if each.id == "acs-persistence")

    assert persists(f"{_NARROW} {ALL}") == "ok" and persists(f"{ALL} {_NARROW}") == "lost-at-reset"
    assert persists(f"{ALL} {_NARROW} {ALL}") == "ok"
