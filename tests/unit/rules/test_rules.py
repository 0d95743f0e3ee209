"""Every check on small fake machines: outcome, layer and the words that an operator needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.facts.trees import (
    GPU,
    PCI,
    Machine,
    config,
    direct,
    flat,
    frozen,
    full,
    switch,
)
from tunecheck.facts.snapshot import gather
from tunecheck.host import Completed
from tunecheck.rules import RULES, Case, Finding, judge, worst
from tunecheck.spec.frozen import Accelerators, Acs, Cpu, Driver, Frozen, Kernel

NOACS = "[    0.000000] Linux version 6.12.1\n[    0.000000] PCI: Unknown option `noacs'\n"


def _judge(machine: Machine, check: str, spec: Frozen | None = None, verb: str = "preflight",
           trial: bool = False) -> list[Finding]:
    snapshot = gather(machine.host(), spec.spec if spec else None, verb != "topo")
    return [finding for finding in judge(Case(snapshot, spec, trial), verb) if finding.id == check]


def _outcomes(findings: list[Finding]) -> list[str]:
    return [finding.outcome for finding in findings]


def test_every_rule_judges_under_its_own_id() -> None:
    case = Case(gather(full(switch()).host(), frozen().spec, True), frozen())
    for rule in RULES:
        assert {finding.id for finding in rule.judge(case)} == {rule.id}


@pytest.mark.parametrize(("count", "outcome"), [(2, "pass"), (None, "pass"), (3, "fail"), (1, "fail")])
def test_accelerator_count(count: int | None, outcome: str) -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,), count=count))
    assert _outcomes(_judge(switch(), "accelerator-count", spec, "topo")) == [outcome]


def test_an_accelerator_that_fell_off_the_bus_fails() -> None:
    machine = switch().file(f"{PCI}/0000:04:00.0/config", b"\xff" * 4096)
    lost = _judge(machine, "accelerator-count", frozen(), "topo")[1]
    assert (lost.outcome, lost.subject) == ("fail", "0000:04:00.0")
    assert "fell off the bus" in lost.message


@pytest.mark.parametrize(("machine", "relation", "outcome"), [
    (switch(), "PIX", "pass"), (switch(), "SYS", "pass"), (direct(), "PIX", "fail"), (direct(), None, "skip"),
    (flat(), "PIX", "unknown"), (flat(), None, "skip"), (Machine(), "PIX", "skip")])
def test_topo_relation(machine: Machine, relation: str | None, outcome: str) -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,), relation=relation))
    assert _outcomes(_judge(machine, "topo-relation", spec, "topo")) == [outcome]


def test_link_width_names_the_narrow_hop_and_not_the_idle_speed() -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,), link_width=16))
    assert _outcomes(_judge(switch(), "link-width", spec, "topo")) == ["pass", "pass"]
    narrow = switch().file(f"{PCI}/0000:02:00.0/current_link_width", "8\n")
    narrow.file(f"{PCI}/0000:03:00.0/current_link_speed", "2.5 GT/s PCIe\n")
    first, second = _judge(narrow, "link-width", spec, "topo")
    assert (first.outcome, second.outcome) == ("fail", "pass")
    assert "0000:02:00.0 x8" in first.message
    dark = switch().file(f"{PCI}/0000:04:00.0/current_link_width", "255\n")
    assert _outcomes(_judge(dark, "link-width", spec, "topo")) == ["pass", "unknown"]


def test_acs_redirect_says_port_register_pair_and_fix() -> None:
    findings = _judge(switch(), "acs-redirect", frozen(), "topo")
    assert [finding.message for finding in findings] == [
        f"acs-redirect: {port} ACSCtl=0x001d redirects peer traffic on the path GPU0-GPU1; expected ReqRedir- "
        "CmpltRedir- EgressCtrl-; run: ansible-playbook site.yml --tags acs -l box1"
        for port in ("0000:02:00.0", "0000:02:01.0")]
    assert {finding.layer for finding in findings} == {"behaviour"}


def test_acs_redirect_for_direct_attach_names_the_root_ports_even_where_the_spec_leaves_acs_alone() -> None:
    spec = frozen(acs=Acs(peer_redirect="leave"))
    findings = _judge(direct(), "acs-redirect", spec, "topo")
    assert [(finding.subject, finding.outcome) for finding in findings] == [
        ("0000:00:04.0", "fail"), ("0000:00:05.0", "fail")]
    assert 'box_spec.acs.peer_redirect: "off"' in findings[0].message
    # A trial boot of other parameters cannot prove, and must not be undone for, what the spec leaves alone.
    assert _outcomes(_judge(full(direct()), "acs-redirect", spec, "host", trial=True)) == ["skip"]


@pytest.mark.parametrize(("ctl", "outcome"), [(0x0000, "pass"), (0x0011, "pass"), (None, "pass"), (0x0020, "fail")])
def test_acs_redirect_judges_three_bits(ctl: int | None, outcome: str) -> None:
    assert set(_outcomes(_judge(switch(ctl), "acs-redirect", frozen(), "topo"))) == {outcome}


def test_acs_without_root_is_unknown() -> None:
    machine = switch(0)
    for port in ("0000:02:00.0", "0000:02:01.0"):
        machine.file(f"{PCI}/{port}/config", config(0, size=64))
    findings = _judge(machine, "acs-redirect", frozen(), "topo")
    assert _outcomes(findings) == ["unknown", "unknown"]
    assert "no permission" in findings[0].message
    assert findings[0].message.endswith("run as root")


def test_acs_of_a_hidden_tree_follows_whether_a_relation_is_required() -> None:
    assert _outcomes(_judge(flat(), "acs-redirect", frozen(), "topo")) == ["unknown"]
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,)))
    assert _outcomes(_judge(flat(), "acs-redirect", spec, "topo")) == ["skip"]
    assert _outcomes(_judge(Machine(), "acs-redirect", frozen(), "topo")) == ["skip"]


def test_the_receipt_explains_what_the_register_was() -> None:
    receipt = {"schema": "tunecheck/receipt/1", "state": "committed",
               "before": {"taken": "2026-01-02T03:04:05Z", "acs": {"0000:02:00.0": "0x001d", "0000:02:01.0": "\x1b"}}}
    machine = switch(0).file("/var/lib/tunecheck/receipt.json", json.dumps(receipt))
    first, second = _judge(machine, "acs-redirect", frozen(), "topo")
    assert "0x001d before provisioning (receipt 2026-01-02T03:04:05Z)" in first.evidence
    assert "it was 0x001d before provisioning" in first.message
    assert len(second.evidence) == 1


_ALL = "pci=disable_acs_redir=pci:0:0"


@pytest.mark.parametrize(("running", "generated", "outcome", "layer"), [
    (_ALL, _ALL, "pass", "generated"), (_ALL, "", "fail", "generated"), ("", _ALL, "warn", "effective"),
    ("pci=noacs", "pci=noacs", "warn", "effective"),
    ("pci=disable_acs_redir=0000:02:00.0", "", "warn", "effective")])
def test_acs_persistence(running: str, generated: str, outcome: str, layer: str) -> None:
    finding, unit = _judge(full(switch(0), running, generated), "acs-persistence", frozen())
    assert (finding.outcome, finding.layer, unit.outcome) == (outcome, layer, "pass")


def test_acs_persistence_wants_the_unit_enabled() -> None:
    machine = full(switch(0), _ALL)
    machine.lists["/etc/systemd/system/multi-user.target.wants"] = []
    assert _outcomes(_judge(machine, "acs-persistence", frozen())) == ["pass", "fail"]
    by_hand = frozen(acs=Acs(peer_redirect="off", mechanism="setpci"))
    assert _outcomes(_judge(machine, "acs-persistence", by_hand)) == ["fail"]
    assert _outcomes(_judge(machine, "acs-persistence", frozen(acs=Acs()))) == ["skip"]


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
    (finding,) = _judge(full(switch(), running, generated, dropin), "cmdline-token", _PT, "host")
    assert (finding.outcome, finding.layer) == (outcome, layer)
    assert words in finding.message


def test_a_file_that_overwrites_ours_is_named() -> None:
    machine = full(switch(), "", "", "iommu=pt")
    machine.lists["/etc/default/grub.d"] = ["99-x.cfg", "zz-tunecheck.cfg", "zzz.cfg", "zzzz.cfg"]
    machine.file("/etc/default/grub.d/zzz.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n')
    machine.file("/etc/default/grub.d/zzzz.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT quiet"\n')
    (finding,) = _judge(machine, "cmdline-token", _PT, "host")
    assert "(/etc/default/grub.d/zzz.cfg overwrites GRUB_CMDLINE_LINUX_DEFAULT after us)" in finding.message


def test_an_unreadable_boot_configuration_is_unknown_and_not_asked_in_a_trial() -> None:
    machine = full(switch(), "iommu=pt")
    del machine.reads["/boot/grub/grub.cfg"]
    machine.gone("read", "/boot/grub/grub.cfg", reason="no permission")
    (finding,) = _judge(machine, "cmdline-token", _PT, "host")
    assert (finding.outcome, finding.layer) == ("unknown", "generated")
    assert _outcomes(_judge(machine, "cmdline-token", _PT, "host", trial=True)) == ["pass"]


def test_words_of_pci_count_one_by_one() -> None:
    spec = frozen(kernel=Kernel(cmdline=("pci=noacs", "pci=realloc")))
    machine = full(switch(), "pci=realloc,nomsi,noacs")
    assert _outcomes(_judge(machine, "cmdline-token", spec, "host")) == ["pass", "pass"]


_ASKED = frozen(kernel=Kernel(cmdline=("pci=noacs", "pcie_aspm=off")))


def test_noacs_is_reported_as_rejected_by_the_kernel() -> None:
    warned, passed = _judge(full(switch(), "pci=noacs pcie_aspm=off", log=NOACS), "cmdline-rejected", _ASKED, "host")
    assert (warned.outcome, passed.outcome) == ("warn", "pass")
    assert "rejected by the kernel (PCI: Unknown option `noacs')" in warned.message
    assert "acs-redirect" in warned.message


@pytest.mark.parametrize("log", [None, "[   99.0] the ring buffer lost its start\n"])
def test_without_the_log_the_parser_table_speaks_and_the_rest_is_unknown(log: str | None) -> None:
    machine = full(switch(), "pci=noacs pcie_aspm=off", log=log)
    warned, rest = _judge(machine, "cmdline-rejected", _ASKED, "host")
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
    (finding,) = _judge(machine, "cmdline-rejected", spec, "host")
    assert finding.outcome == "fail"
    assert token in finding.message


def test_a_foreign_rejected_word_is_a_warning_and_user_space_words_are_nobodys_business() -> None:
    log = NOACS + 'Unknown kernel command line parameters "splash", will be passed to user space.\n'
    findings = _judge(full(switch(), "pci=noacs splash", log=log), "cmdline-rejected", frozen(), "host")
    assert [(finding.subject, finding.outcome) for finding in findings] == [
        ("pci=noacs", "warn"), ("kernel command line", "skip")]


def test_the_journal_helps_where_the_ring_buffer_does_not_reach() -> None:
    machine = full(switch(), "pci=noacs", log="[  99.0] late\n")
    journal = ("journalctl", "-k", "-b", "0", "-q", "--no-pager", "-o", "short-monotonic")
    machine.runs[journal] = Completed(journal, 0, NOACS, "")
    spec = frozen(kernel=Kernel(cmdline=("pci=noacs",)))
    (finding,) = _judge(machine, "cmdline-rejected", spec, "host")
    assert finding.evidence == ("journalctl -k -b 0 -q --no-pager -o short-monotonic",)


@pytest.mark.parametrize(("running", "outcome", "words"), [
    ("iommu=pt", "pass", "nothing"),
    ("iommu=pt iommu=off", "fail", "iommu=off takes back the declared iommu=pt"),
    ("iommu=off iommu=pt", "warn", "stands before"),
    ("iommu=pt intel_iommu=off", "fail", "intel_iommu=off takes back"),
    ("iommu=pt pcie_acs_override=downstream", "warn", "clears no ACS bit"),
])
def test_cmdline_conflict(running: str, outcome: str, words: str) -> None:
    (finding,) = _judge(full(switch(), running), "cmdline-conflict", _PT, "host")
    assert finding.outcome == outcome
    assert words in finding.message


def _grouped(kind: str | None) -> Machine:
    machine = full(switch(), "iommu=pt")
    for number, bdf in enumerate(("0000:03:00.0", "0000:04:00.0") if kind else ()):
        machine.realpaths[f"{PCI}/{bdf}/iommu_group"] = f"/sys/kernel/iommu_groups/{number}"
        machine.file(f"/sys/kernel/iommu_groups/{number}/type", f"{kind}\n")
    return machine


@pytest.mark.parametrize(("wanted", "kind", "outcome"), [
    ("pt", "identity", "pass"), ("pt", "DMA-FQ", "fail"), ("pt", "DMA", "fail"), ("pt", None, "warn"),
    ("off", None, "pass"), ("off", "identity", "fail"), ("translated", "DMA", "pass"), ("translated", None, "fail"),
    ("leave", "DMA-FQ", "warn"), ("leave", "identity", "skip"), ("pt", "weird", "unknown")])
def test_iommu_mode(wanted: str, kind: str | None, outcome: str) -> None:
    assert _outcomes(_judge(_grouped(kind), "iommu-mode", frozen(iommu=wanted), "host")) == [outcome]


def _module(live: str | None, conf: str | None, installed: bool = True) -> Machine:
    machine = full(switch())
    if conf is not None:
        machine.lists["/etc/modprobe.d"] = ["zz-tunecheck.conf"]
        machine.file("/etc/modprobe.d/zz-tunecheck.conf", f"options nvidia-uvm uvm_disable_hmm={conf}\n")
    if installed:
        machine.file("/lib/modules/6.12.1/modules.dep", "updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko.zst\n")
    if live is not None:
        machine.lists["/sys/module/nvidia_uvm"] = ["parameters"]
        machine.file("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", f"{live}\n")
    return machine


@pytest.mark.parametrize(("machine", "outcome", "layer", "words"), [
    (_module("Y", "1"), "pass", "effective", "is Y in the loaded module"),
    (_module("N", "1"), "fail", "effective", "older initramfs"),
    (_module("N", None), "fail", "effective", "is N in the loaded module"),
    (_module("Y", "0"), "fail", "configured", "sets 0 at the next load"),
    (_module("Y", None), "pass", "effective", "is Y"),
    (_module(None, "1"), "skip", "effective", "is not loaded"),
    (_module(None, None), "fail", "configured", "does not set it"),
    (_module(None, "0"), "fail", "configured", "sets uvm_disable_hmm=0"),
    (_module(None, None, installed=False), "skip", "effective", "not installed for this kernel"),
])
def test_module_parameter(machine: Machine, outcome: str, layer: str, words: str) -> None:
    spec = frozen(modules={"nvidia-uvm": {"uvm_disable_hmm": 1}})
    (finding,) = _judge(machine, "module-parameter", spec, "host")
    assert (finding.outcome, finding.layer) == (outcome, layer)
    assert words in finding.message


def test_a_parameter_that_the_loaded_module_lacks_is_unknown() -> None:
    machine = _module("Y", "1").gone("read", "/sys/module/nvidia_uvm/parameters/uvm_disable_hmn")
    spec = frozen(modules={"nvidia-uvm": {"uvm_disable_hmn": 1}})
    (finding,) = _judge(machine, "module-parameter", spec, "host")
    assert finding.outcome == "unknown"
    assert "misspelt" in finding.message


def _cpu(*governors: str, **extra: Any) -> Machine:
    machine = full(switch())
    folder = "/sys/devices/system/cpu/cpufreq"
    machine.lists[folder] = [f"policy{number}" for number in range(len(governors))]
    for number, governor in enumerate(governors):
        machine.file(f"{folder}/policy{number}/scaling_governor", governor)
        machine.file(f"{folder}/policy{number}/scaling_driver", "intel_pstate")
        if "epp" in extra:
            machine.file(f"{folder}/policy{number}/energy_performance_preference", extra["epp"])
        else:
            machine.gone("read", f"{folder}/policy{number}/energy_performance_preference")
    return machine


@pytest.mark.parametrize(("machine", "outcomes"), [
    (_cpu("performance", "performance", epp="performance"), ["pass", "pass"]),
    (_cpu("performance", "powersave", epp="balance_power"), ["fail", "fail"]),
    (_cpu("performance"), ["pass", "skip"]),
    (full(switch()), ["skip"]),
])
def test_cpu_governor(machine: Machine, outcomes: list[str]) -> None:
    spec = frozen(cpu=Cpu(governor="performance", epp="performance"))
    assert _outcomes(_judge(machine, "cpu-governor", spec, "host")) == outcomes


def test_no_cpufreq_is_a_skip_with_that_reason() -> None:
    (finding,) = _judge(full(switch()), "cpu-governor", frozen(cpu=Cpu(governor="performance")), "host")
    assert "no cpufreq policy" in finding.message


@pytest.mark.parametrize(("wanted", "loaded", "outcome"), [
    (None, None, "skip"), ("595.71.05", "595.71.05", "pass"), ("595.71.05", "580.95.05", "fail"),
    ("595.71.05", None, "fail")])
def test_driver_version(wanted: str | None, loaded: str | None, outcome: str) -> None:
    machine = full(switch())
    if loaded:
        machine.file("/sys/module/nvidia/version", f"{loaded}\n")
        machine.file("/proc/driver/nvidia/version",
                     f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {loaded}  Release Build\n")
    (finding,) = _judge(machine, "driver-version", frozen(driver=Driver(version=wanted)), "host")
    assert finding.outcome == outcome
    if loaded:
        assert "flavour open" in finding.evidence


def test_a_trial_judges_only_what_a_boot_can_prove() -> None:
    case = Case(gather(full(switch(0)).host(), _PT.spec, True), _PT, trial=True)
    assert {finding.id for finding in judge(case, "host")} == {
        "accelerator-count", "acs-redirect", "cmdline-token", "cmdline-rejected", "iommu-mode", "module-parameter"}


@pytest.mark.parametrize(("outcomes", "expected"), [
    (["pass", "fail", "unknown"], "fail"), (["pass", "warn", "unknown"], "unknown"), (["skip", "pass", "warn"], "warn"),
    (["skip", "pass"], "pass"), (["skip"], "skip"), ([], "unknown")])
def test_worst(outcomes: list[str], expected: str) -> None:
    assert worst(Finding("x", "x", outcome, "effective", "x") for outcome in outcomes) == expected
