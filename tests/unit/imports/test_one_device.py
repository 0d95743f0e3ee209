"""One device of a complete lspci that cannot be read: what it could be is unknown, and nothing gets better."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.facts.trees import PCI, Machine, bound, driver, frozen, full, switch
from tests.unit.imports.samples import box

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding, worst
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Acs, Frozen, Spec

H100 = ("10de:2330",)
SPECS = {"none": None, "count": Spec(accelerators=Accelerators(pci_ids=H100, count=2)),
         "relation": Spec(accelerators=Accelerators(pci_ids=H100, count=2, relation="PIX"),
                          acs=Acs(peer_redirect="off"))}
VGA = ("00:06.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000] (rev 52) "
       "(prog-if 00 [VGA controller])\n\tCapabilities: [40] Power Management version 3\n{driver}\n")


def _found(folder: Path, text: str, spec: Spec | None) -> list[Finding]:
    folder.mkdir(exist_ok=True)
    (folder / "lspci.txt").write_text(text)
    case = Frozen("box1", "x", spec, {}) if spec else None
    return judge(Case(gather(load_import(str(folder)), spec, True), case), "preflight")


def _blocks(text: str) -> list[str]:
    return re.split(r"(?m)^(?=[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] )", text)


def _mutated(block: str) -> Iterator[str]:
    """The same device with something that cannot be read."""
    yield re.sub(r" \[[0-9a-f]{4}:[0-9a-f]{4}\]", "", block, count=1)
    yield re.sub(r"^(\S+ .*? \[[0-9a-f]{4}\]: ).*", r"\1Device", block, count=1)
    yield re.sub(r"^(\S+) .*", r"\1 ?", block, count=1)
    yield re.sub(r"^(\S+) .*", r"\1", block, count=1)
    yield re.sub(r"^\S+", "x3:??", block, count=1)
    yield re.sub(r"(?m)^\s*Bus: .*\n", "", block)


@pytest.mark.parametrize("layout", ["acs-iommu", "switch1", "phb", "numa2"])
@pytest.mark.parametrize("name", ["none", "relation"])
def test_no_verdict_gets_better(layout: str, name: str, tmp_path: Path) -> None:
    blocks = _blocks(box(layout))
    before = _found(tmp_path / "whole", "".join(blocks), SPECS[name])
    order = ["skip", "pass", "warn", "unknown", "fail"]
    for place, block in enumerate(blocks):
        for text in _mutated(block) if block[:1].isalnum() else ():
            if text == block:
                continue
            after = _found(tmp_path / "part", "".join([*blocks[:place], text, *blocks[place + 1:]]), SPECS[name])
            unknown = {each.id for each in after if each.outcome == "unknown"} - {
                each.id for each in before if each.outcome == "unknown"}
            # A fail that is gone left an unknown that is new; else nothing became better.
            better = order.index(worst(after)) < order.index(worst(before))
            assert not better or (unknown and worst(after) == "unknown"), text[:80]
            for each in {each.id for each in before if each.outcome == "fail"}:
                now = worst([one for one in after if one.id == each])
                assert now in ("fail", "unknown") or "accelerator-count" in unknown, (each, text[:80])


@pytest.mark.parametrize("layout", ["acs-iommu", "switch1", "phb", "numa2"])
def test_a_device_beside_the_accelerators_changes_the_count_at_most(layout: str, tmp_path: Path) -> None:
    """Over every device that is no accelerator and on no path: its ids, class and name."""
    blocks = _blocks(box(layout))
    before = {(each.id, each.subject, each.outcome) for each in _found(tmp_path / "whole", "".join(blocks),
                                                                         SPECS["relation"])}
    for place, block in enumerate(blocks):
        if not block.startswith("00:") or "PCI bridge" in block:
            continue
        for text in list(_mutated(block))[:4]:
            after = _found(tmp_path / "part", "".join([*blocks[:place], text, *blocks[place + 1:]]), SPECS["relation"])
            new = {(each.id, each.outcome) for each in after if (each.id, each.subject, each.outcome) not in before}
            assert new <= {("accelerator-count", "unknown"), ("topo-relation", "unknown")}, (text[:80], new)


@pytest.mark.parametrize(("header", "driver_line", "unknown"), [
    ("00:06.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)", "", False),
    ("00:06.0 VGA compatible controller [0300]: Device", "\tKernel driver in use: ast\n", False),
    ("00:06.0 VGA compatible controller [0300]: Device", "", True),
    ("00:06.0 3D controller [0302]: NVIDIA Corporation Device", "", True),
    ("00:06.0 Ethernet controller [0200]: Device", "", False), ("00:06.0", "", True)])
def test_what_is_known_of_it_rules_it_out(header: str, driver_line: str, unknown: bool, tmp_path: Path) -> None:
    whole = box("acs-iommu") + VGA.format(driver="")
    text = whole.replace(VGA.format(driver="").splitlines()[0], header)
    text = text.replace("version 3\n\n", f"version 3\n{driver_line}\n")
    before, after = (_found(tmp_path / name, each, SPECS["count"]) for name, each in (("a", whole), ("b", text)))
    new = [each for each in after if each.outcome == "unknown" and each.id not in {
        other.id for other in before if other.outcome == "unknown"}]
    assert [each.id for each in new] == (["accelerator-count"] if unknown else [])
    if unknown:
        assert (new[0].code, new[0].subject) == ("maybe-accelerator", "0000:00:06.0")
    assert len(after) == len(before)


def _live() -> Machine:
    """Two GPUs, and a management controller's display beside them."""
    machine = driver(full(bound(switch(0))))
    machine.device("0000:06:00.0", "pci0000:00/0000:06:00.0", "1a03:2000", "0300")
    return machine


@pytest.mark.parametrize(("gone", "ids"), [
    (("device",), []), (("vendor",), ["accelerator-count"]), (("vendor", "device"), ["accelerator-count"]),
    (("vendor", "device", "class", "config"), ["accelerator-count"]), (("config",), []), (("class",), [])])
def test_live_as_imported(gone: tuple[str, ...], ids: list[str]) -> None:
    spec = frozen(accelerators=Accelerators(pci_ids=("10de:2bb1", "10de:2000"), count=2))
    machine = _live()
    before = judge(Case(gather(machine.host(), spec.spec, True), spec), "preflight")
    for leaf in gone:
        machine.reads.pop(f"{PCI}/0000:06:00.0/{leaf}")
        machine.gone("read", f"{PCI}/0000:06:00.0/{leaf}", reason="timed out after 5 s")
    after = judge(Case(gather(machine.host(), spec.spec, True), spec), "preflight")
    told = {(each.id, each.outcome) for each in before}
    assert sorted({each.id for each in after if (each.id, each.outcome) not in told}) == ids


def test_too_many_stay_too_many_and_too_few_too_few() -> None:
    for count, outcomes in ((1, ["fail", "unknown"]), (2, ["unknown"]), (3, ["unknown"]), (4, ["fail", "unknown"]),
                            (None, ["pass", "unknown"])):
        machine = _live()
        machine.reads.pop(f"{PCI}/0000:06:00.0/vendor")
        machine.gone("read", f"{PCI}/0000:06:00.0/vendor", reason="timed out after 5 s")
        spec = frozen(accelerators=Accelerators(pci_ids=("10de:2bb1", "10de:2000"), count=count))
        found = [each.outcome for each in judge(Case(gather(machine.host(), spec.spec, True), spec), "preflight")
                 if each.id == "accelerator-count"]
        assert found == outcomes, count
