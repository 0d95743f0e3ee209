"""Where the driver refuses peer access between all boards for their model, no remedy of any check asks for an ACS
option, for setpci, or for a play that brings them: redirect costs peer traffic alone, and there is none. A
specification is judged all the same, and its findings say what the driver says."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations, product

import pytest
from tests.unit.checks.test_cases import CASES, case_of, findings_of
from tests.unit.facts import trees
from tests.unit.facts.trees import PCI, frozen, full

from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.model.fact import known
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.nvidia.peer_access import Access, peers
from tunecheck.spec.frozen import Accelerators, Acs, Driver, Frozen

_LAYOUTS = {"one switch": trees.switch, "three switches": lambda ctl: trees.switches(2, 2, 2, ctl=ctl),
            "root ports": trees.direct}
_ALL = "pci=disable_acs_redir=pci:0:0"
_LINES = (("", None), ("amd_iommu=off iommu=off", None), (_ALL, ""), (f"iommu=off {_ALL}", None), ("iommu=pt", None))
_SPECS: dict[str, Frozen | None] = {
    "none": None, "off": frozen(iommu="pt"), "leave": frozen(acs=Acs(peer_redirect="leave")),
    "setpci": frozen(acs=Acs(peer_redirect="off", mechanism="setpci")), "iommu off": frozen(iommu="off"),
    "no unit": frozen(acs=Acs(peer_redirect="off", at_boot_unit=False)),
    "patched": frozen(driver=Driver(flavour="patched-p2p"))}
_LOG = ("[    0.000000] Linux version 6.12.1\n"
        "[    0.200000] ACPI: IVRS 0x000000008A208000 000040 (v02 AMD    AMD      00000001 AMD  00000001)\n")
_ASKS = re.compile(r"disable_acs_redir|config_acs|ECAP_ACS|ACS option|at_boot_unit")
_JUDGED = ("acs-redirect", "acs-persistence", "iommu-trap", "kernel-lockdown")


def refused(snapshot: Snapshot, letter: str = "GNS") -> Snapshot:
    """The same, with the driver's tables that refuse every pair."""
    bdfs = [device.bdf for device in snapshot.topology.devices]
    return replace(snapshot, p2p=known({(a, b, way): known(letter, "x") for a, b in permutations(bdfs, 2)
                                        for way in ("read", "write")}, "nvidia-smi topo -p2p"))


def _asks(found: Finding) -> str:
    """What in a finding asks for what only peer traffic would gain from."""
    fix = found.remedy
    # The first only tells how the next boot differs ("if it is wanted"), the second asks for redirect to be on.
    if (found.id == "cmdline-pending" or found.code == "guests-not-kept-apart" or found.outcome not in ("fail", "warn")
            or fix is None):
        return ""
    asked = _ASKS.search(f"{fix.text} {found.expected if found.id != 'acs-redirect' else ''}")
    play = fix.needs_reboot and fix.play is not None and "acs" in fix.ansible_tags
    return asked[0] if asked else "--tags acs, and a reboot" if play else ""


def _case(layout: str, ctl: int, line: tuple[str, str | None], spec: Frozen | None, lockdown: str = "none",
          ids: str = "2b85") -> Case:
    if spec is not None:
        spec = replace(spec, spec=replace(spec.spec, accelerators=Accelerators(pci_ids=(f"10de:{ids}",))))
    machine = full(_LAYOUTS[layout](ctl), *line, log=_LOG)
    for bdf in machine.lists[PCI]:
        if machine.reads[f"{PCI}/{bdf}/device"].strip() == b"0x2bb1":
            machine.file(f"{PCI}/{bdf}/device", f"0x{ids}\n")
    machine.errors.pop("read /sys/kernel/security/lockdown", None)
    machine.file("/sys/kernel/security/lockdown", f"[{lockdown}]\n")
    return Case(refused(gather(machine.host(), spec.spec if spec else None, True)), spec)


@pytest.mark.parametrize(("layout", "spec"), list(product(_LAYOUTS, _SPECS)))
@pytest.mark.parametrize("redirect", [True, False])
def test_no_fix_asks_for_an_acs_option(layout: str, spec: str, redirect: bool) -> None:
    for line, lockdown, ids in product(_LINES, ("none", "integrity"), ("2b85", "2bb5")):
        case = _case(layout, 0x1D if redirect else 0x11, line, _SPECS[spec], lockdown, ids)
        assert peers(case).whole is Access.REFUSED
        found = judge(case, "preflight")
        assert {each.id: told for each in found if (told := _asks(each))} == {}, (line, lockdown, ids)
        for each in found:
            if each.id in _JUDGED and each.outcome in ("fail", "warn"):
                assert "the driver refuses peer access between these boards (GNS)" in each.text, each.message
        if redirect and spec not in ("none", "leave"):
            assert "fail" in [each.outcome for each in found if each.id == "acs-redirect"], "the spec is judged"


@pytest.mark.parametrize("redirect", [True, False])
def test_the_fix_of_a_specification_ends_what_it_is_given_for(redirect: bool) -> None:
    case = _case("one switch", 0x1D if redirect else 0x11, ("", None), _SPECS["off"])
    fixes = {each.remedy.text for each in judge(case, "preflight")
             if each.id in _JUDGED and each.outcome in ("fail", "warn") and each.remedy}
    (fix,) = fixes
    assert 'set box_spec.acs.peer_redirect: "leave"' in fix
    assert case.frozen is not None
    spec = replace(case.spec, acs=replace(case.spec.acs, peer_redirect="leave"))
    after = Case(case.snapshot, replace(case.frozen, spec=spec))
    assert [each.id for each in judge(after, "preflight") if each.id in _JUDGED and each.outcome == "fail"] == []


def test_no_check_does_in_its_own_cases() -> None:
    seen, wrong = set[str](), dict[str, str]()
    for path in CASES:
        _, case, verb = case_of(path)
        if len(case.snapshot.topology.devices) < 2:
            continue
        before = {each.id for each in findings_of(path) if _asks(each)}
        gns = replace(case, snapshot=refused(case.snapshot))
        if peers(gns).whole is not Access.REFUSED:
            continue
        seen |= before
        wrong.update({f"{path.stem}: {each.id}": told for each in judge(gns, verb) if (told := _asks(each))})
    assert wrong == {}
    assert {"acs-redirect", "acs-persistence", "iommu-trap", "kernel-lockdown", "p2p-duplex", "cpu-lost"} <= seen


@pytest.mark.parametrize("letter", ["CNS", "NS", "TNS", "DR"])
def test_what_may_be_mended_comes_first(letter: str) -> None:
    """Without a specification; with one its redirect is cleared by the reboot that mends the other."""
    for ctl in (0x1D, 0x11):
        case = _case("one switch", ctl, ("amd_iommu=off iommu=off", None), None, ids="2bb5")
        case = replace(case, snapshot=refused(case.snapshot, letter))
        found = [each for each in judge(case, "preflight") if each.id in _JUDGED and each.outcome in ("fail", "warn")]
        assert found and {each.remedy.text.partition(":")[0] for each in found if each.remedy} == {
            "first what p2p-capability says"}
