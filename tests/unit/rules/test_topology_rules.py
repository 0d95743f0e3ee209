"""Checks of the tree: accelerators, relations, links, ACS. Outcome, layer and code."""

from __future__ import annotations

import json

import pytest
from tests.unit.facts.trees import GPU, PCI, Machine, bound, config, direct, flat, frozen, full, switch
from tests.unit.report.all_reports import reports
from tests.unit.rules.judging import judged, outcomes

from tunecheck.facts.snapshot import gather
from tunecheck.model.absence import Absence
from tunecheck.model.finding import AS_ROOT
from tunecheck.rules.context import Case
from tunecheck.rules.index import CHECKS
from tunecheck.spec.frozen import Accelerators, Acs


def test_every_rule_judges_under_its_own_id() -> None:
    case = Case(gather(full(switch()).host(), frozen().spec, True), frozen())
    for check in CHECKS:
        assert {finding.id for finding in check.judge(case)} == (set() if check.of_posts else {check.id})


@pytest.mark.parametrize(("count", "outcome"), [(2, "pass"), (None, "pass"), (3, "fail"), (1, "fail")])
def test_accelerator_count(count: int | None, outcome: str) -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,), count=count))
    assert outcomes(judged(bound(switch()), "accelerator-count", spec, "topo")) == [outcome]


def test_an_accelerator_that_fell_off_the_bus_fails() -> None:
    machine = bound(switch()).file(f"{PCI}/0000:04:00.0/config", b"\xff" * 4096)
    lost = judged(machine, "accelerator-count", frozen(), "topo")[1]
    assert (lost.outcome, lost.code, lost.subject) == ("fail", "does-not-answer", "0000:04:00.0")


@pytest.mark.parametrize(("machine", "relation", "outcome"), [
    (switch(), "PIX", "pass"), (switch(), "SYS", "pass"), (direct(), "PIX", "fail"), (direct(), None, "skip"),
    (flat(), "PIX", "unknown"), (flat(), None, "skip"), (Machine(), "PIX", "skip")])
def test_topo_relation(machine: Machine, relation: str | None, outcome: str) -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,), relation=relation))
    assert outcomes(judged(machine, "topo-relation", spec, "topo")) == [outcome]


def test_link_width_names_the_narrow_hop_and_not_the_idle_speed() -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,), link_width=16))
    assert outcomes(judged(switch(), "link-width", spec, "topo")) == ["pass", "pass"]
    narrow = switch().file(f"{PCI}/0000:02:00.0/current_link_width", "8\n")
    narrow.file(f"{PCI}/0000:03:00.0/current_link_speed", "2.5 GT/s PCIe\n")
    first, second = judged(narrow, "link-width", spec, "topo")
    assert (first.code, second.code) == ("narrower-than-declared", "ok") and "0000:02:00.0 x8" in first.observed
    dark = switch().file(f"{PCI}/0000:04:00.0/current_link_width", "255\n")
    assert outcomes(judged(dark, "link-width", spec, "topo")) == ["pass", "unknown"]


def test_acs_redirect_says_port_register_pair_and_fix() -> None:
    findings = judged(switch(), "acs-redirect", frozen(), "topo")
    assert [(finding.subject, finding.code) for finding in findings] == [
        ("0000:02:00.0", "redirects"), ("0000:02:01.0", "redirects")]
    assert all("0x001d" in finding.observed for finding in findings)
    assert {finding.layer for finding in findings} == {"behaviour"}


def test_acs_redirect_for_direct_attach_names_the_root_ports_even_where_the_spec_leaves_acs_alone() -> None:
    spec = frozen(acs=Acs(peer_redirect="leave"))
    findings = judged(direct(), "acs-redirect", spec, "topo")
    assert [(finding.subject, finding.outcome) for finding in findings] == [
        ("0000:00:04.0", "fail"), ("0000:00:05.0", "fail")]
    # A trial boot of other parameters cannot prove, and must not be undone for, what the spec leaves alone.
    assert outcomes(judged(full(direct()), "acs-redirect", spec, "host", trial=True)) == ["skip"]


@pytest.mark.parametrize(("ctl", "outcome"), [(0x0000, "pass"), (0x0011, "pass"), (None, "pass"), (0x0020, "fail")])
def test_acs_redirect_judges_three_bits(ctl: int | None, outcome: str) -> None:
    assert set(outcomes(judged(switch(ctl), "acs-redirect", frozen(), "topo"))) == {outcome}


def test_acs_without_root_is_unknown() -> None:
    machine = switch(0)
    for port in ("0000:02:00.0", "0000:02:01.0"):
        machine.file(f"{PCI}/{port}/config", config(0, size=64))
    findings = judged(machine, "acs-redirect", frozen(), "topo")
    assert outcomes(findings) == ["unknown", "unknown"] and findings[0].remedy == AS_ROOT
    assert findings[0].absence is Absence.NO_PERMISSION


def test_acs_of_a_hidden_tree_is_unknown_where_the_spec_asks() -> None:
    assert outcomes(judged(flat(), "acs-redirect", frozen(), "topo")) == ["unknown"]
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,)), acs=Acs(peer_redirect="off"))
    assert outcomes(judged(flat(), "acs-redirect", spec, "topo")) == ["unknown"]
    spec = frozen(accelerators=Accelerators(pci_ids=(GPU,)), acs=Acs())
    assert outcomes(judged(flat(), "acs-redirect", spec, "topo")) == ["skip"]
    assert outcomes(judged(Machine(), "acs-redirect", frozen(), "topo")) == ["skip"]


def test_the_receipt_explains_what_the_register_was() -> None:
    receipt = {"schema": "tunecheck/receipt/1", "state": "committed",
               "before": {"taken": "2026-01-02T03:04:05Z", "acs": {"0000:02:00.0": "0x001d", "0000:02:01.0": "\x1b"}}}
    machine = switch(0).file("/var/lib/tunecheck/receipt.json", json.dumps(receipt))
    first, second = judged(machine, "acs-redirect", frozen(), "topo")
    assert "0x001d before provisioning (receipt 2026-01-02T03:04:05Z)" in first.evidence
    assert len(second.evidence) == 1




def test_what_the_switch_and_the_relation_say_of_one_layout_name_each_other() -> None:
    """Both follow from boards below several root ports: whoever mends one has mended both."""
    seen = 0
    for report in reports():
        found = {each.id: each for each in report.findings if each.outcome in ("fail", "warn")}
        if {"topo-relation", "switch-chip"} <= found.keys():
            seen += 1
            assert "topo-relation" in found["switch-chip"].message.partition(": ")[2], report.name
    assert seen > 3
