"""Checks of the kernel command line, and of what it keeps across resets."""

from __future__ import annotations

import pytest
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.rules.judging import judged, outcomes

from tunecheck.host import Completed
from tunecheck.spec.frozen import Acs, Kernel

NOACS = "[    0.000000] Linux version 6.12.1\n[    0.000000] PCI: Unknown option `noacs'\n"
_ALL = "pci=disable_acs_redir=pci:0:0"


@pytest.mark.parametrize(("running", "generated", "outcome", "layer"), [
    (_ALL, _ALL, "pass", "generated"), (_ALL, "", "fail", "generated"), ("", _ALL, "warn", "effective"),
    ("pci=noacs", "pci=noacs", "warn", "effective"),
    ("pci=disable_acs_redir=0000:02:00.0", "", "warn", "effective")])
def test_acs_persistence(running: str, generated: str, outcome: str, layer: str) -> None:
    finding, unit = judged(full(switch(0), running, generated), "acs-persistence", frozen())
    assert (finding.outcome, finding.layer, unit.outcome) == (outcome, layer, "pass")


def test_acs_persistence_wants_the_unit_enabled() -> None:
    machine = full(switch(0), _ALL)
    machine.lists["/etc/systemd/system/multi-user.target.wants"] = []
    assert outcomes(judged(machine, "acs-persistence", frozen())) == ["pass", "fail"]
    by_hand = frozen(acs=Acs(peer_redirect="off", mechanism="setpci"))
    assert outcomes(judged(machine, "acs-persistence", by_hand)) == ["fail"]
    assert outcomes(judged(machine, "acs-persistence", frozen(acs=Acs()))) == ["skip"]


@pytest.mark.parametrize(("mechanism", "expected"), [("setpci", "fail"), ("disable_acs_redir", "warn")])
def test_under_lockdown_the_unit_cannot_work(mechanism: str, expected: str) -> None:
    machine = full(switch(0), _ALL).file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
    spec = frozen(acs=Acs(peer_redirect="off", mechanism=mechanism))
    unit = judged(machine, "acs-persistence", spec)[-1]
    assert (unit.outcome, unit.subject) == ("skip", "tunecheck-acs.service")
    assert "judged by kernel-lockdown" in unit.message
    assert outcomes(judged(machine, "kernel-lockdown", spec)) == [expected]


@pytest.mark.parametrize(("ctl", "running", "outcome", "words"), [
    (0x11, "", "warn", "a bridge reset or AER recovery turns it on again; expected"),
    (0x11, _ALL, "pass", "now and at the next boot"),
    (0x1D, "", "skip", "acs-redirect"),
    (0x00, "", "skip", "no spec given"),
    (None, "", "skip", "no spec given")])
def test_acs_persistence_without_a_spec_looks_where_the_kernel_asked_for_acs(
        ctl: int | None, running: str, outcome: str, words: str) -> None:
    (finding,) = judged(full(switch(ctl), running), "acs-persistence")
    assert finding.outcome == outcome
    assert words in finding.message
    assert "the spec" not in finding.message and "box_spec" not in finding.message


_PT = frozen(iommu="pt")


@pytest.mark.parametrize(("running", "generated", "dropin", "outcome", "layer", "words"), [
    ("iommu=pt", "iommu=pt", "iommu=pt", "pass", "effective", "stays at the next boot"),
    ("", "iommu=pt", "iommu=pt", "fail", "effective", "reboot pending"),
    ("iommu=pt", "", "iommu=pt", "fail", "generated", "the next boot loses it"),
    ("", "", "iommu=pt", "fail", "generated", "update-grub has not run or failed"),
    ("", "", "", "fail", "configured", "nor configured"),
    ("iommu=pt", "iommu=pt", "", "pass", "effective", "stays"),
])
def test_cmdline_token_layers(running: str, generated: str, dropin: str, outcome: str, layer: str, words: str) -> None:
    (finding,) = judged(full(switch(), running, generated, dropin), "cmdline-token", _PT, "host")
    assert (finding.outcome, finding.layer) == (outcome, layer)
    assert words in finding.message


def test_a_file_that_overwrites_ours_is_named() -> None:
    machine = full(switch(), "", "", "iommu=pt")
    machine.lists["/etc/default/grub.d"] = ["99-x.cfg", "zz-tunecheck.cfg", "zzz.cfg", "zzzz.cfg"]
    machine.file("/etc/default/grub.d/zzz.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n')
    machine.file("/etc/default/grub.d/zzzz.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT quiet"\n')
    (finding,) = judged(machine, "cmdline-token", _PT, "host")
    assert "(/etc/default/grub.d/zzz.cfg overwrites GRUB_CMDLINE_LINUX_DEFAULT after us)" in finding.message


def test_an_unreadable_boot_configuration_is_unknown_and_not_asked_in_a_trial() -> None:
    machine = full(switch(), "iommu=pt")
    del machine.reads["/boot/grub/grub.cfg"]
    machine.gone("read", "/boot/grub/grub.cfg", reason="no permission")
    (finding,) = judged(machine, "cmdline-token", _PT, "host")
    assert (finding.outcome, finding.layer) == ("unknown", "generated")
    assert outcomes(judged(machine, "cmdline-token", _PT, "host", trial=True)) == ["pass"]


def test_a_trial_boot_without_the_parameter_fails() -> None:
    (finding,) = judged(full(switch(), "quiet"), "cmdline-token", _PT, "host", trial=True)
    assert (finding.outcome, finding.code) == ("fail", "not-running")


def test_words_of_pci_count_one_by_one() -> None:
    spec = frozen(kernel=Kernel(cmdline=("pci=noacs", "pci=realloc")))
    machine = full(switch(), "pci=realloc,nomsi,noacs")
    assert outcomes(judged(machine, "cmdline-token", spec, "host")) == ["skip", "pass"]


_ASKED = frozen(kernel=Kernel(cmdline=("pci=noacs", "pcie_aspm=off")))


def test_noacs_is_reported_as_rejected_by_the_kernel() -> None:
    warned, passed = judged(full(switch(), "pci=noacs pcie_aspm=off", log=NOACS), "cmdline-rejected", _ASKED, "host")
    assert (warned.outcome, passed.outcome) == ("warn", "pass")
    assert "rejected by the kernel (PCI: Unknown option `noacs')" in warned.message
    assert "acs-redirect" in warned.message


@pytest.mark.parametrize("log", [None, "[   99.0] the ring buffer lost its start\n"])
def test_without_the_log_the_parser_table_speaks_and_the_rest_is_unknown(log: str | None) -> None:
    machine = full(switch(), "pci=noacs pcie_aspm=off", log=log)
    warned, rest = judged(machine, "cmdline-rejected", _ASKED, "host")
    assert (warned.outcome, rest.outcome) == ("warn", "unknown")
    assert "no mainline kernel parses it" in warned.message


@pytest.mark.parametrize(("token", "line"), [
    ("pci=frob", "PCI: Unknown option `frob'"),
    ("frobnicate=1", 'Unknown kernel command line parameters "splash frobnicate=1", will be passed to user space.'),
    ("earlyfrob=9", "Malformed early option 'earlyfrob'"),
    ("intel_iommu=frob", "DMAR: Unknown option - 'frob'"),
    ("amd_iommu=pt", "AMD-Vi: Unknown option - 'pt'"),
])
def test_other_rejections_fail(token: str, line: str) -> None:
    machine = full(switch(), token, log=f"Linux version 6.12.1\n[    0.1] {line}\n")
    spec = frozen(kernel=Kernel(cmdline=(token,)))
    (finding,) = judged(machine, "cmdline-rejected", spec, "host")
    assert finding.outcome == "fail"
    assert token in finding.message


def test_a_foreign_rejected_word_is_a_warning_and_user_space_words_are_nobodys_business() -> None:
    log = NOACS + 'Unknown kernel command line parameters "splash", will be passed to user space.\n'
    machine = full(switch(), "pci=noacs splash", log=log)
    assert outcomes(judged(machine, "cmdline-rejected", frozen(), "host")) == ["skip"]
    assert [(finding.subject, finding.outcome) for finding in judged(machine, "cmdline-unknown", frozen(), "host")] == [
        ("pci=noacs", "warn")]


def test_the_journal_helps_where_the_ring_buffer_does_not_reach() -> None:
    machine = full(switch(), "pci=noacs", log="[  99.0] late\n")
    journal = ("journalctl", "-k", "-b", "0", "-q", "--no-pager", "-o", "short-monotonic")
    machine.runs[journal] = Completed(journal, 0, NOACS, "")
    spec = frozen(kernel=Kernel(cmdline=("pci=noacs",)))
    (finding,) = judged(machine, "cmdline-rejected", spec, "host")
    assert finding.evidence == ("journalctl -k -b 0 -q --no-pager -o short-monotonic",)


@pytest.mark.parametrize(("running", "outcome", "words"), [
    ("iommu=pt", "pass", "nothing"),
    ("iommu=pt iommu=off", "fail", "iommu=off takes back the declared iommu=pt"),
    # "off" is remembered: pt behind it does not undo it (arch/x86/kernel/pci-dma.c, iommu_setup()).
    ("iommu=off iommu=pt", "fail", "iommu=off takes back the declared iommu=pt"),
    ("iommu=nopt iommu=pt", "warn", "iommu=nopt stands beside the declared iommu=pt"),
    ("iommu=pt iommu.strict=1", "pass", "nothing"),
    ("iommu=pt intel_iommu=off", "fail", "intel_iommu=off takes back"),
])
def test_cmdline_conflict(running: str, outcome: str, words: str) -> None:
    (finding,) = judged(full(switch(), running), "cmdline-conflict", _PT, "host")
    assert finding.outcome == outcome
    assert words in finding.message


