"""Eight boards behind four switches, as their owner posted them: relations from lspci alone, ACS, the whole verdict."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.imports.samples import samples
from tests.unit.imports.test_import import folder, found, run

from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.nvidia.topo_matrix import parse_matrix


def test_a_real_box_of_eight_from_its_lspci_alone(tmp_path: Path) -> None:
    source = samples("host", "asus-esc8000a-lspci_full.log").read_text()
    text = samples("host", "asus-esc8000a-nvidia_topo.log").read_text()
    topology = found(load_import(folder(tmp_path, source))).topology
    told = parse_matrix(text).pairs
    assert len(topology.devices) == 8
    assert {(pair.a, pair.b): pair.relation.value for pair in topology.pairs} == {
        (a, b): word for (a, b), word in told.items() if a < b}
    assert {device.ids for device in topology.devices} == {"10de:2bb5"}
    assert [bridge.acs.value is None or bridge.acs.value.ctl for bridge in topology.bridges.values()] == [
        0x11, True, 0x11, 0x11] * 4
    assert all(bridge.acs.known for bridge in topology.bridges.values())


def test_the_whole_folder_of_that_box() -> None:
    done = run("topo", "--from", str(samples("host")), "--json")
    findings = json.loads(done.stdout)["findings"]
    # Nobody kept topo -p2p; everything else gives a verdict.
    assert done.returncode == 3
    assert {each["id"] for each in findings if each["outcome"] == "unknown"} <= {"p2p-capability", "nvml-answers"}
    (agreement,) = (each for each in findings if each["id"] == "topo-agreement")
    assert (agreement["outcome"], agreement["code"], agreement["message"].count("28")) == ("pass", "ok", 2), "all pairs"
    assert {each["outcome"] for each in findings if each["id"] == "acs-redirect"} == {"pass"}
