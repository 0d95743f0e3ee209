"""Relations and path ports, one machine per kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.facts.trees import GPU, PCI, Machine, cascaded, direct, flat, switch, two_bridges

from tunecheck.facts.pci.topology import topology
from tunecheck.model.absence import Absence
from tunecheck.parsers.pci.topology import chain, path_bridges


@pytest.mark.parametrize(("machine", "word", "common", "ports"), [
    (switch(), "PIX", "0000:01:00.0", ["0000:02:00.0", "0000:02:01.0"]),
    (cascaded(), "PXB", "0000:01:00.0", ["0000:02:00.0", "0000:02:01.0", "0000:04:00.0", "0000:05:00.0"]),
    (direct(), "PHB", None, ["0000:00:04.0", "0000:00:05.0"]),
    (two_bridges((0, 0)), "NODE", None, ["0000:40:00.0", "0000:80:00.0"]),
    (two_bridges((0, 1)), "SYS", None, ["0000:40:00.0", "0000:80:00.0"]),
    (two_bridges((-1, -1), "0"), "NODE", None, ["0000:40:00.0", "0000:80:00.0"]),
], ids=["switch", "cascaded", "direct", "node", "sys", "one node, firmware silent"])
def test_relations(machine: Machine, word: str, common: str | None, ports: list[str]) -> None:
    found = topology(machine.host(), (GPU,))
    (pair,) = found.pairs
    assert (pair.relation.value, pair.common, found.path_ports()) == (word, common, ports)


@pytest.mark.parametrize("machine", [flat(), two_bridges((-1, -1))], ids=["on the root bus", "no NUMA node"])
def test_what_cannot_be_derived_is_unknown(machine: Machine) -> None:
    (pair,) = topology(machine.host(), (GPU,)).pairs
    assert (pair.relation.value, pair.relation.absence) == (None, Absence.NOT_DERIVABLE)


def test_two_functions_below_one_port_are_pix() -> None:
    port = "pci0000:00/0000:00:04.0"
    machine = (Machine().port("0000:00:04.0", port).gpu("0000:01:00.0", f"{port}/0000:01:00.0")
               .gpu("0000:01:00.1", f"{port}/0000:01:00.1"))
    found = topology(machine.host(), (GPU,))
    assert found.pairs[0].relation.value == "PIX"
    assert found.path_ports() == []


def test_every_unordered_pair_in_address_order() -> None:
    machine = switch()
    up = "pci0000:00/0000:00:04.0/0000:01:00.0"
    machine.port("0000:02:02.0", f"{up}/0000:02:02.0").gpu("0000:0a:00.0", f"{up}/0000:02:02.0/0000:0a:00.0")
    machine.lists["/sys/bus/pci/devices"].reverse()
    found = topology(machine.host(), (GPU,))
    assert [device.bdf for device in found.devices] == ["0000:03:00.0", "0000:04:00.0", "0000:0a:00.0"]
    assert [pair.label for pair in found.pairs] == ["GPU0-GPU1", "GPU0-GPU2", "GPU1-GPU2"]
    assert [pair.label for pair in found.crossing("0000:02:00.0")] == ["GPU0-GPU1", "GPU0-GPU2"]


def test_without_ids_nvidia_display_controllers_count() -> None:
    machine = switch().device("0000:05:00.0", "pci0000:00/0000:05:00.0", "10de:22e8", "0403")
    machine.device("0000:06:00.0", "pci0000:00/0000:06:00.0", "1234:1111", "0300")
    assert [device.bdf for device in topology(machine.host(), ()).devices] == ["0000:03:00.0", "0000:04:00.0"]


def test_a_nested_host_bridge_starts_a_new_tree() -> None:
    found = chain("/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0")
    assert (found.bridge, found.devices) == ("pci10000:e0", ("10000:e0:06.0", "10000:e1:00.0"))


@pytest.mark.parametrize("path", ["", "/sys/devices/virtual/net/lo", "pci0000:00/0000:00:04.0",
                                  "/sys/devices/pci0000:00", "/x/\x1b[31m/0000:00:04.0"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(path))):
        chain(path)


_SAMPLES = Path(__file__).resolve().parents[4] / "shared" / "samples" / "lab"


@pytest.mark.skipif(not _SAMPLES.is_dir(), reason="the shared samples are not on this machine")
@pytest.mark.parametrize(("name", "count", "ports"), [("switch1-nv", 2, 2), ("phb-nv", 4, 2)])
def test_captured_machines(name: str, count: int, ports: int) -> None:
    lines = [line.split() for line in (_SAMPLES / f"{name}.sysfs").read_text().splitlines() if "vendor=0x10de" in line]
    chains = [chain(line[2]) for line in lines]
    assert len(chains) == count
    assert len(path_bridges(chains[0], chains[1])) == ports


def test_a_gpu_of_the_driver_is_in_the_tree_where_the_spec_names_its_id() -> None:
    """The lab's stand-ins are QEMU's functions, and its driver has them: the tree lacks none."""
    machine = switch()
    boards = ["0000:03:00.0", "0000:04:00.0"]
    for bdf in boards:
        machine.file(f"{PCI}/{bdf}/vendor", "0x1234\n").file(f"{PCI}/{bdf}/device", "0x1111\n")
    machine.lists["/proc/driver/nvidia/gpus"] = boards
    host = machine.host()
    assert topology(host, ("1234:1111",)).unlisted == ()
    assert topology(host, ()).unlisted == tuple(boards)
