"""The tree from lspci is the tree that sysfs had, and a text that lost something never shows a different machine."""

from __future__ import annotations

import re

import pytest
from tests.unit.imports.samples import FIXTURES, lab

from tunecheck.facts.pci import devices as pci
from tunecheck.facts.pci.topology import topology
from tunecheck.host.imported.machine import ImportedHost
from tunecheck.host.imported.sysfs import synthesise
from tunecheck.host.imported.texts import Texts
from tunecheck.model.absence import Absence
from tunecheck.parsers.pci.acs import acs

LAYOUTS = ("switch1", "numa2", "phb", "acs-iommu")
_LINE = re.compile(r"^/sys/bus/pci/devices/(\S+) -> (\S+) class=0x(\S+) vendor=0x(\S+) device=0x(\S+) numa=(\S+) "
                   r"iommu_group=(\S*) speed=((?:.*?(?:PCIe|Unknown))?)/(.*?) width=(.*?)/(.*?) driver=(.*)$")


def host(*lspci: str) -> ImportedHost:
    texts = Texts(lspci=list(lspci))
    assert synthesise(texts) is None
    return ImportedHost(texts, {}, [])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_answers_are_those_of_sysfs(layout: str) -> None:
    door = host(lab(layout))
    lines = [_LINE.match(line) for line in (FIXTURES / layout / f"{layout}-nv.sysfs").read_text().splitlines()]
    for found in [line for line in lines if line]:
        bdf, path, kind, vendor, name, numa, group, speed, top_speed, width, top_width, driver = found.groups()
        device = pci.device(door, bdf)
        assert door.realpath(f"{pci.DEVICES}/{bdf}") == path
        assert (device.ids, device.class_code) == (f"{vendor}:{name}", kind[:4])
        assert device.driver.value == (driver or None)
        assert [device.numa_node.value] == [int(numa)] or not device.numa_node.known
        link = device.link
        assert [link.speed.value, link.max_speed.value] == [speed or None, top_speed or None]
        assert [link.width.value, link.max_width.value] == [int(width) if width else None,
                                                            int(top_width) if top_width else None]
        if group:
            assert door.realpath(f"{pci.DEVICES}/{bdf}/iommu_group") == f"/sys/kernel/iommu_groups/{group}"
    assert door.list(pci.DEVICES) == [line.group(1) for line in lines if line]


def test_bytes_and_text_give_the_same_registers() -> None:
    text = lab("acs-iommu")
    dump = (FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text()
    both = {}
    for name, door in (("text", host(text)), ("bytes", host(dump)), ("both", host(dump, text))):
        found = topology(door, ())
        both[name] = [(bdf, bridge.ids, bridge.acs.value) for bdf, bridge in found.bridges.items()]
        assert [pair.relation.value for pair in found.pairs] == ["PIX"]
    assert both["text"] == both["both"]
    assert both["text"] == both["bytes"]
    assert [register.ctl for _, _, register in both["text"] if register] == [0x1D, 0x1D, 0x1D]


def test_without_numbers_the_names_that_matter_are_known() -> None:
    text = re.sub(r" \[[0-9a-f]{4}(?::[0-9a-f]{4})?\]", "", lab("switch1"))
    text = text.replace("GH100 [H100 SXM5 80GB]", "GB202GL [RTX PRO 6000 Blackwell Server Edition]")
    assert "[10de" not in text
    found = topology(host(text), ())
    assert [device.ids for device in found.devices] == ["10de:2bb5", "10de:2bb5"]
    assert [pair.relation.value for pair in found.pairs] == ["PIX"]


def test_an_unknown_name_is_not_none_of_the_wanted_ones() -> None:
    text = re.sub(r" \[[0-9a-f]{4}(?::[0-9a-f]{4})?\]", "", lab("switch1"))
    found = topology(host(text), ("10de:2bb1",))
    assert found.accelerators.value == () and len(found.unidentified) == 2
    assert "sudo lspci -nnvvv" in found.unidentified[0].why


def ports(text: str) -> dict[str, str]:
    """Of every port its ACS control register, "none", or the absence's code and the command that would show it."""
    return {bdf: f"{bridge.acs.absence.value}: {str(bridge.acs.reason).rpartition(': ')[2]}" if bridge.acs.absence else
            ("none" if bridge.acs.value is None else f"{bridge.acs.value.ctl:04x}")
            for bdf, bridge in topology(host(text), ()).bridges.items()}


def test_no_root_is_unknown_and_says_what_to_add() -> None:
    text = re.sub(r"(?m)^\tCapabilities: \[.*\n(?:\t\t.*\n)*", "", lab("acs-iommu"))
    text = re.sub(r"(?m)^(\tStatus: Cap\+.*\n)", r"\1\tCapabilities: <access denied>\n", text)
    assert set(ports(text).values()) == {"not-in-import: sudo lspci -nnvvv"}
    assert pci.device(host(text), "0000:03:00.0").link.width.absence is Absence.NOT_IN_IMPORT


def test_fewer_details_are_unknown() -> None:
    less = re.sub(r"\t+ACSC.*\n", "", lab("acs-iommu"))
    assert ports(less)["0000:02:00.0"] == "not-in-import: sudo lspci -nnvvv"
    bare = re.sub(r"(?m)^\tCapabilities: \[\w{3} .*\n(?:\t\t.*\n)*", "", lab("acs-iommu"))
    assert ports(bare)["0000:02:00.0"] == "not-in-import: sudo lspci -xxxx", "a text cannot prove that there is none"


@pytest.mark.parametrize("lost", ["0000:00:04.0", "0000:01:00.0", "0000:02:00.0"])
def test_a_bridge_that_is_missing_makes_no_new_root_port(lost: str) -> None:
    text = "\n\n".join(part for part in lab("acs-iommu").split("\n\n") if not part.startswith(lost[5:]))
    found = topology(host(text), ())
    assert len(found.devices) == 2
    assert found.pairs[0].relation.value in (None,)
    assert found.pairs[0].relation.reason


def test_the_host_bridge_is_above_every_way() -> None:
    text = "\n\n".join(part for part in lab("acs-iommu").split("\n\n") if not part.startswith("00:00.0"))
    without, whole = topology(host(text), ()), topology(host(lab("acs-iommu")), ())
    assert without.pairs == whole.pairs and ports(text) == ports(lab("acs-iommu"))
    assert without.doubt and not whole.doubt


def test_bus_numbers_that_are_not_shown() -> None:
    found = topology(host(re.sub(r"\tBus: primary.*\n", "", lab("numa2"))), ())
    assert {pair.relation.value for pair in found.pairs} == {None}


def test_a_vanished_device_reads_all_ones() -> None:
    text = lab("switch1").replace("[10de:2330] (rev a1)", "[10de:2330] (rev ff)", 1)
    text = text if "(rev ff)" in text else text.replace("[10de:2330]", "[10de:2330] (rev ff)", 1)
    found = topology(host(text), ())
    assert [device.answers.value for device in found.devices] == [False, True]


def test_cutting_anywhere_never_changes_an_answer_only_removes_it() -> None:
    text = lab("acs-iommu")
    whole = topology(host(text), ())
    registers = {bdf: bridge.acs.value for bdf, bridge in whole.bridges.items()}
    widths = {device.bdf: device.link.width.value for device in (*whole.devices, *whole.bridges.values())}
    for end in range(len(text) // 3, len(text), 97):
        found = topology(host(text[:end]), ())
        for pair in found.pairs:
            assert pair.relation.value in (None, "PIX")
        for device in (*found.devices, *found.bridges.values()):
            assert device.link.width.value in (None, widths[device.bdf])
            if device.bdf in registers and device.acs.known:
                assert device.acs.value == registers[device.bdf], end


def test_lost_tabs_change_nothing() -> None:
    text = lab("acs-iommu")
    assert ports(text.replace("\t", "")) == ports(text)
    assert ports(text.replace("\n", "\r\n")) == ports(text)


def test_acs_offsets_are_kept() -> None:
    door = host(lab("acs-iommu"))
    register = acs(door.read_bytes(f"{pci.DEVICES}/0000:02:00.0/config"))
    assert register is not None
    assert f"[{register.offset:x} v1] Access Control Services" in lab("acs-iommu")


def test_a_device_whose_node_is_not_shown_has_that_of_its_bus() -> None:
    """lspci shows no node of a device that reads ff; each device has the node of its bus."""
    text = lab("numa2")
    whole = topology(host(text), ())
    parts = re.split(r"(?m)^(?=[0-9a-f]{4}:[0-9a-f]{2}:|[0-9a-f]{2}:[0-9a-f]{2}\.)", text)
    gpus = {device.bdf for device in whole.devices}
    bare = "".join(re.sub(r"(?m)^\tNUMA node: .*\n", "", part) if any(
        part.startswith((bdf, bdf.removeprefix("0000:"))) for bdf in gpus) else part for part in parts)
    assert bare.count("NUMA node") < text.count("NUMA node")
    found = topology(host(bare), ())
    assert [pair.relation.value for pair in found.pairs] == [pair.relation.value for pair in whole.pairs] != []
    assert {device.numa_node.value for device in found.devices} == {device.numa_node.value for device in whole.devices}
