"""Checks of the kernel command line, and of what it keeps across resets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, case_of, check_of
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.rules.judging import judged, outcomes

from tunecheck.host import Completed
from tunecheck.rules import judge
from tunecheck.rules.boot import cmdline_rejected
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
    assert (unit.outcome, unit.code, unit.subject) == ("skip", "unit-locked-down", "tunecheck-acs.service")
    assert outcomes(judged(machine, "kernel-lockdown", spec)) == [expected]


@pytest.mark.parametrize(("ctl", "running", "outcome", "code"), [
    (0x11, "", "warn", "lost-at-reset"),
    (0x11, _ALL, "pass", "ok"),
    (0x1D, "", "skip", "redirect-on"),
    (0x00, "", "skip", "not-set-by-kernel"),
    (None, "", "skip", "not-set-by-kernel")])
def test_acs_persistence_without_a_spec_looks_where_the_kernel_asked_for_acs(
        ctl: int | None, running: str, outcome: str, code: str) -> None:
    (finding,) = judged(full(switch(ctl), running), "acs-persistence")
    assert (finding.outcome, finding.code) == (outcome, code)


_PT = frozen(iommu="pt")


@pytest.mark.parametrize(("running", "generated", "dropin", "outcome", "layer", "code"), [
    ("iommu=pt", "iommu=pt", "iommu=pt", "pass", "effective", "ok"),
    ("", "iommu=pt", "iommu=pt", "fail", "effective", "reboot-pending"),
    ("iommu=pt", "", "iommu=pt", "fail", "generated", "lost-at-next-boot"),
    ("", "", "iommu=pt", "fail", "generated", "not-generated"),
    ("", "", "", "fail", "configured", "not-set"),
    ("iommu=pt", "iommu=pt", "", "pass", "effective", "ok"),
])
def test_cmdline_token_layers(running: str, generated: str, dropin: str, outcome: str, layer: str, code: str) -> None:
    (finding,) = judged(full(switch(), running, generated, dropin), "cmdline-token", _PT, "host")
    assert (finding.outcome, finding.layer, finding.code) == (outcome, layer, code)


def test_a_file_that_overwrites_ours_is_named() -> None:
    machine = full(switch(), "", "", "iommu=pt")
    machine.lists["/etc/default/grub.d"] = ["99-x.cfg", "zz-tunecheck.cfg", "zzz.cfg", "zzzz.cfg"]
    machine.file("/etc/default/grub.d/zzz.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n')
    machine.file("/etc/default/grub.d/zzzz.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT quiet"\n')
    (finding,) = judged(machine, "cmdline-token", _PT, "host")
    assert "/etc/default/grub.d/zzz.cfg" in finding.text and "zzzz.cfg" not in finding.text


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
    assert (warned.outcome, warned.code, passed.outcome) == ("warn", "rejected-by-every-kernel", "pass")


@pytest.mark.parametrize("log", [None, "[   99.0] the ring buffer lost its start\n"])
def test_without_the_log_the_parser_table_speaks_and_the_rest_is_unknown(log: str | None) -> None:
    machine = full(switch(), "pci=noacs pcie_aspm=off", log=log)
    warned, rest = judged(machine, "cmdline-rejected", _ASKED, "host")
    assert (warned.code, rest.code) == ("rejected-by-every-kernel", "log-incomplete" if log else "log-unread")
    assert warned.evidence == (cmdline_rejected.PARSER,)


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
    assert (finding.outcome, finding.code, finding.subject) == ("fail", "rejected", token)


def test_a_foreign_rejected_word_is_a_warning_and_user_space_words_are_nobodys_business() -> None:
    log = NOACS + 'Unknown kernel command line parameters "splash", will be passed to user space.\n'
    machine = full(switch(), "pci=noacs splash", log=log)
    assert outcomes(judged(machine, "cmdline-rejected", frozen(), "host")) == ["skip"]
    assert [(finding.subject, finding.outcome) for finding in judged(machine, "cmdline-unknown", frozen(), "host")] == [
        ("pci=noacs", "warn")]


def test_a_pass_claims_nothing_of_a_word_that_cmdline_rejected_tells() -> None:
    machine = full(switch(), "pci=noacs pcie_aspm=off", log=NOACS)
    (passed,) = judged(machine, "cmdline-unknown", _ASKED, "host")
    assert (passed.outcome, "pci=noacs" in passed.text) == ("pass", True)


def test_the_journal_helps_where_the_ring_buffer_does_not_reach() -> None:
    machine = full(switch(), "pci=noacs", log="[  99.0] late\n")
    journal = ("journalctl", "-k", "-b", "0", "-q", "--no-pager", "-o", "short-monotonic")
    machine.runs[journal] = Completed(journal, 0, NOACS, "")
    spec = frozen(kernel=Kernel(cmdline=("pci=noacs",)))
    (finding,) = judged(machine, "cmdline-rejected", spec, "host")
    assert finding.evidence == ("journalctl -k -b 0 -q --no-pager -o short-monotonic",)


@pytest.mark.parametrize(("running", "outcome", "code", "observed"), [
    ("iommu=pt", "pass", "ok", ""),
    ("iommu=pt iommu=off", "fail", "overridden", "iommu=off"),
    # "off" is remembered: pt behind it does not undo it (arch/x86/kernel/pci-dma.c, iommu_setup()).
    ("iommu=off iommu=pt", "fail", "overridden", "iommu=off"),
    ("iommu=nopt iommu=pt", "warn", "contradicted", "iommu=nopt"),
    ("iommu=pt iommu.strict=1", "pass", "ok", ""),
    ("iommu=pt intel_iommu=off", "fail", "overridden", "intel_iommu=off"),
])
def test_cmdline_conflict(running: str, outcome: str, code: str, observed: str) -> None:
    (finding,) = judged(full(switch(), running), "cmdline-conflict", _PT, "host")
    assert (finding.outcome, finding.code) == (outcome, code)
    assert observed in finding.observed


@pytest.mark.parametrize(("running", "words", "grubby", "play"), [     # grubby: on a box that has it
    ("iommu=pt iommu=off", "iommu=off", True, False),
    ("iommu=pt iommu=off amd_iommu=off", "iommu=off and amd_iommu=off", True, False),
    ("amd_iommu=off iommu=off quiet", "amd_iommu=off and iommu=off", True, True),
    ("amd_iommu=off iommu=nopt iommu=off", "amd_iommu=off, iommu=nopt and iommu=off", True, True),
    ("iommu=off,pt", "iommu=off", False, True),     # a part of a token, which grubby would not find
])
def test_every_contradiction_has_the_whole_fix_so_that_one_reboot_ends_it(running: str, words: str, grubby: bool,
                                                                          play: bool) -> None:
    machine = full(switch(), running).gone("read", "/etc/kernel/cmdline", "/etc/kernel/proxmox-boot-uuids")
    del machine.reads["/boot/grub/grub.cfg"]
    machine.gone("read", "/boot/grub/grub.cfg").file("/boot/grub2/grubenv", "saved_entry=id-6.12.1\n")
    machine.lists["/boot/loader/entries"] = ["id-6.12.1.conf"]
    machine.file("/boot/loader/entries/id-6.12.1.conf", f"title x\noptions root=/dev/vda3 ro {running}\n")
    found = judged(machine, "cmdline-conflict", _PT, "host")
    (remedy,) = {finding.remedy for finding in found}
    assert remedy is not None and remedy.needs_reboot and f"remove {words} from" in remedy.text
    by_grubby = any("--update-kernel=ALL" in each.argv for each in remedy.commands)
    assert (by_grubby, remedy.play is not None) == (grubby, play)
    assert remedy.text.endswith(", then reboot") != play, "the play reboots the box for both"
    if remedy.play is not None:
        assert remedy.by_play.text == remedy.text and remedy.text.endswith(remedy.play.shown)
    observed = {finding.observed for finding in found}
    assert observed == set(words.replace(" and ", ", ").split(", "))



def test_every_missing_parameter_has_the_fix_of_all_of_them() -> None:
    spec = frozen(iommu="pt", kernel=Kernel(cmdline=("pcie_port_pm=off", "quiet")))
    found = [each for each in judged(full(switch(), "quiet", "quiet"), "cmdline-token", spec, "host")
             if each.outcome == "fail"]
    (remedy,) = {finding.remedy for finding in found}
    assert len(found) == 2 and remedy is not None and remedy.needs_reboot
    # iommu=pt alone would turn ACS redirect on.
    assert remedy.text.startswith("boot with iommu=pt pcie_port_pm=off pci=disable_acs_redir=pci:0:0 (")


@pytest.mark.parametrize(("running", "blamed"), [("quiet", False), ("pcie_ports=compat", True)])
def test_the_port_services_are_off_by_a_word_only_where_it_is_there(running: str, blamed: bool) -> None:
    log = ("[    0.000000] Linux version 6.12.1\n"
           "[    1.5] acpi PNP0A03:00: PCIe port services disabled; not requesting _OSC control\n")
    (finding,) = judged(full(switch(), running, log=log), "aer-ownership")
    assert finding.remedy is not None
    assert ("CONFIG_PCIEPORTBUS" in finding.text, "pcie_ports=compat" in finding.remedy.text,
            "CONFIG_PCIEPORTBUS=y" in finding.remedy.text, "cmdline" in finding.remedy.ansible_tags) == (
        not blamed, blamed, not blamed, blamed)


@pytest.mark.parametrize("path", [path for path in CASES if check_of(path) == "aer-ownership"],
                         ids=lambda path: path.stem)
def test_a_fix_asks_to_look_for_a_word_only_where_the_command_line_was_not_read(path: Path) -> None:
    _, case, verb = case_of(path)
    for finding in judge(case, verb):
        if finding.code == "services-off" and finding.remedy is not None:
            looks = "look for pcie_ports=compat in cat /proc/cmdline" in finding.remedy.text
            assert looks == (not case.host.kernel.cmdline.known)
