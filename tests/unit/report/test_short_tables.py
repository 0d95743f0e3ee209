"""The tree, the matrix and the paths where they have to fit on one screen."""

from __future__ import annotations

import pytest
from tests.unit.facts import trees
from tests.unit.facts.trees import PCI, Machine, full
from tests.unit.report.boxes import switches
from tests.unit.report.large_boxes import all_different, cascade, each_its_own

from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.report.paths import short_path_lines
from tunecheck.report.short_tables import short_square
from tunecheck.report.short_tree import numbers_text, short_tree_lines
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_MODEL = "8 x RTX PRO 6000 Blackwell Workstation"


def _snapshot(machine: Machine) -> Snapshot:
    return gather(full(machine).host(), None, False)


def _slow(machine: Machine) -> Machine:
    for bdf in machine.lists[PCI]:
        machine.file(f"{PCI}/{bdf}/current_link_speed", "2.5 GT/s PCIe\n")
    return machine


@pytest.mark.parametrize(("machine", "drawn"), [
    (each_its_own(), [_MODEL, "GPU0-GPU7 0000:01:00.0 to 0000:78:00.0: x16 Gen5, 1 port above, below 8 host bridges, "
                              "pci0000:00 to pci0000:70"]),
    (each_its_own(ctl=0x1D), [_MODEL, "GPU0-GPU7 0000:01:00.0 to 0000:78:00.0: x16 Gen5, 1 port above: ACS 0x001d "
                                      "redirects, below 8 host bridges, pci0000:00 to pci0000:70"]),
    (cascade(), [
        _MODEL, "pci0000:00 > 0000:00:01.0 > 0000:01:00.0 x16 Gen5",
        "├─ 0000:02:00.0 > 0000:10:00.0 x16 Gen5",
        "│  └─ GPU0-GPU1 0000:12:00.0, 0000:13:00.0: x16 Gen5, 1 port above",
        "└─ 0000:02:01.0 > 0000:18:00.0 x16 Gen5",
        "   └─ GPU2-GPU3 0000:1a:00.0, 0000:1b:00.0: x16 Gen5, 1 port above",
        "pci0000:80 > 0000:80:01.0 > 0000:81:00.0 x16 Gen5",
        "├─ 0000:82:00.0 > 0000:90:00.0 x16 Gen5",
        "│  └─ GPU4-GPU5 0000:92:00.0, 0000:93:00.0: x16 Gen5, 1 port above",
        "└─ 0000:82:01.0 > 0000:98:00.0 x16 Gen5",
        "   └─ GPU6-GPU7 0000:9a:00.0, 0000:9b:00.0: x16 Gen5, 1 port above"]),
    (switches(4, redirecting=(0,), narrow=(3,)), [
        "4 x RTX PRO 6000 Blackwell Workstation", "pci0000:00 > 0000:00:01.1 > 0000:01:00.0 x16 Gen5",
        "├─ GPU0 0000:03:00.0: x16 Gen5, 1 port above: 0000:02:00.0 ACS 0x001d redirects",
        "└─ GPU1 0000:04:00.0: x16 Gen5, 1 port above",
        "pci0000:20 > 0000:20:01.1 > 0000:21:00.0 x16 Gen5",
        "├─ GPU2 0000:23:00.0: x16 Gen5, 1 port above",
        "└─ GPU3 0000:24:00.0: x8 of x16 Gen5, 1 port above: 0000:22:01.0 x16 Gen5"]),
    (_slow(trees.below_one_switch(4, 0x1D)), [
        "4 x RTX PRO 6000 Blackwell Workstation",
        "pci0000:00 > 0000:00:04.0 (ACS 0x001d redirects) > 0000:01:00.0 x16 Gen1 of Gen5",
        "└─ GPU0-GPU3 0000:03:00.0 to 0000:06:00.0: x16 Gen1 of Gen5, 1 port above: ACS 0x001d redirects",
        "Gen1 of Gen5: idle links slow down; link-speed judges those of GPUs at work"]),
    (Machine(), ["no accelerator found"]),
])
def test_what_is_the_same_stands_once_and_what_is_not_has_a_line(machine: Machine, drawn: list[str]) -> None:
    assert short_tree_lines(_snapshot(machine).topology, True) == drawn


def test_every_gpu_is_in_the_tree_once() -> None:
    lines = short_tree_lines(_snapshot(all_different()).topology, False)
    assert [sum(f"GPU{number} " in line for line in lines) for number in range(8)] == [1] * 8


def test_other_models_are_other_lines() -> None:
    machine = switches(4).file(f"{PCI}/0000:03:00.0/device", "0x2bb5\n")
    drawn = short_tree_lines(_snapshot(machine).topology, True)
    assert drawn[0].startswith("pci0000:00 > ") and drawn[1].startswith("├─ GPU0 0000:03:00.0: ")
    assert "2 x RTX PRO 6000 Blackwell Workstation, x16 Gen5" in drawn[-1]


def test_paths_are_counted_and_none_is_lost() -> None:
    assert short_path_lines(_snapshot(switches(8))) == [
        "SYS (16 pairs): 6 ports, x16 Gen5: below 57.6 GB/s, as it goes through the CPU",
        "NODE (8 pairs): 6 ports, x16 Gen5: below 57.6 GB/s, as it goes through the CPU",
        "PIX (4 pairs): 2 ports, x16 Gen5: 57.6 GB/s one way, 115.2 both ways"]
    found = short_path_lines(_snapshot(all_different()))
    assert found[-1] == "13 more pairs on 9 other kinds of path (-v shows them)" and len(found) == 5
    (redirected,) = short_path_lines(_snapshot(trees.below_one_switch(4, 0x1D)))
    assert redirected == "PIX (6 pairs): 2 ports, x16 Gen5, ACS redirects: 57.6 GB/s one way, 57.6 both ways" or \
        ", ACS redirects: " in redirected


def test_a_matrix_of_one_word_is_a_sentence() -> None:
    pairs = {(a, b): "PIX" for a in range(8) for b in range(a)}
    assert short_square(8, pairs, 80, mirrored=True) == ["all 28 pairs of 8 GPUs: PIX"]
    assert short_square(2, {(0, 1): "PIX"}, 80, mirrored=True) == ["1 pair of 2 GPUs: PIX"]
    assert short_square(2, {(0, 1): "OK"}, 80) == ["1 way of 2 GPUs: OK"]
    assert len(short_square(8, {**pairs, (1, 0): "SYS"}, 80, mirrored=True)) == 9
    assert short_square(8, {**pairs, (1, 0): "SYS"}, 30, mirrored=True) == [
        "28 pairs of 8 GPUs: 27 PIX, 1 SYS (-v shows each)"]


@pytest.mark.parametrize(("numbers", "text"), [
    ([0], "GPU0"), ([0, 1, 2, 3], "GPU0-GPU3"), ([0, 2, 3], "GPU0, GPU2-GPU3"), ([7, 0], "GPU0, GPU7")])
def test_runs_of_numbers(numbers: list[int], text: str) -> None:
    assert numbers_text(numbers) == text


def test_a_tree_of_any_depth_is_drawn() -> None:
    """A hostile recording may be as deep as it has devices."""
    machine, way = Machine().file("/sys/devices/system/node/online", "0\n"), "pci0000:00"
    for number in range(1500):
        port = f"{number // 256:04x}:{number % 256:02x}:01.0"
        way += f"/{port}"
        machine.port(port, way, 0x11)
    for number in range(4):
        machine.gpu(f"f000:0{number}:00.0", f"{way}/f000:0{number}:00.0", 0)
    case = Case(gather(machine.host(), None, False))
    text = render("topo", case, judge(case, "topo"), Style(80))
    assert "GPU0-GPU3 f000:00:00.0 to f000:03:00.0" in text and len(text.splitlines()) <= 60
