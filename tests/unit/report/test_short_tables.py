"""The tree, the matrix and the paths where they have to fit on one screen."""

from __future__ import annotations

import re

import pytest
from tests.unit.facts.trees import PCI, Machine
from tests.unit.report.boxes import switches
from tests.unit.report.drawn import drawn, snapshot
from tests.unit.report.large_boxes import all_different
from tests.unit.told import told

from tunecheck.facts.snapshot import gather
from tunecheck.report.short_tables import short_square
from tunecheck.report.short_tree import numbers_text, short_tree_lines
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_MODEL = "8 6000"


@pytest.mark.parametrize(("name", "tells"), [
    ("eight ways", [_MODEL, "GPU0-GPU7 0000:01:00.0 0000:78:00.0 x16 Gen5 1 8 pci0000:00 pci0000:70"]),
    ("eight ways that redirect", [
        _MODEL, "GPU0-GPU7 0000:01:00.0 0000:78:00.0 x16 Gen5 1 ACS 0x001d 8 pci0000:00 pci0000:70"]),
    ("cascade", [
        _MODEL, "pci0000:00 > 0000:00:01.0 > 0000:01:00.0 x16 Gen5",
        "├─ 0000:02:00.0 > 0000:10:00.0 x16 Gen5",
        "│ └─ GPU0-GPU1 0000:12:00.0 0000:13:00.0 x16 Gen5 1",
        "└─ 0000:02:01.0 > 0000:18:00.0 x16 Gen5",
        "└─ GPU2-GPU3 0000:1a:00.0 0000:1b:00.0 x16 Gen5 1",
        "pci0000:80 > 0000:80:01.0 > 0000:81:00.0 x16 Gen5",
        "├─ 0000:82:00.0 > 0000:90:00.0 x16 Gen5",
        "│ └─ GPU4-GPU5 0000:92:00.0 0000:93:00.0 x16 Gen5 1",
        "└─ 0000:82:01.0 > 0000:98:00.0 x16 Gen5",
        "└─ GPU6-GPU7 0000:9a:00.0 0000:9b:00.0 x16 Gen5 1"]),
    ("two switches, one GPU narrow", [
        "4 6000", "pci0000:00 > 0000:00:01.1 > 0000:01:00.0 x16 Gen5",
        "├─ GPU0 0000:03:00.0 x16 Gen5 1 0000:02:00.0 ACS 0x001d",
        "└─ GPU1 0000:04:00.0 x16 Gen5 1",
        "pci0000:20 > 0000:20:01.1 > 0000:21:00.0 x16 Gen5",
        "├─ GPU2 0000:23:00.0 x16 Gen5 1",
        "└─ GPU3 0000:24:00.0 x8 x16 Gen5 1 0000:22:01.0 x16 Gen5"]),
    ("idle links", [
        "4 6000",
        "pci0000:00 > 0000:00:04.0 ACS 0x001d > 0000:01:00.0 x16 Gen1 Gen5",
        "└─ GPU0-GPU3 0000:03:00.0 0000:06:00.0 x16 Gen1 Gen5 1 ACS 0x001d",
        "Gen1"]),
    ("no GPU", [""]),
])
def test_what_is_the_same_stands_once_and_what_is_not_has_a_line(name: str, tells: list[str]) -> None:
    assert [told(line) for line in drawn()[f"tree/{name}"]] == tells


def test_every_gpu_is_in_the_tree_once() -> None:
    lines = short_tree_lines(snapshot(all_different()).topology, False)
    assert [sum(f"GPU{number} " in line for line in lines) for number in range(8)] == [1] * 8


def test_other_models_are_other_lines() -> None:
    machine = switches(4).file(f"{PCI}/0000:03:00.0/device", "0x2bb5\n")
    lines = short_tree_lines(snapshot(machine).topology, True)
    assert lines[0].startswith("pci0000:00 > ") and lines[1].startswith("├─ GPU0 0000:03:00.0: ")
    assert "2 x RTX PRO 6000 Blackwell Workstation, x16 Gen5" in lines[-1]


def test_paths_are_counted_and_none_is_lost() -> None:
    assert [told(line) for line in drawn()["paths/eight GPUs"]] == [
        "SYS 16 6 x16 Gen5 57.6", "NODE 8 6 x16 Gen5 57.6", "PIX 4 2 x16 Gen5 57.6 115.2"]
    found = drawn()["paths/all different"]
    assert told(found[-1]) == "13 9" and "-v" in found[-1] and len(found) == 5
    assert sum(int(told(line).split()[1]) for line in found[:-1]) + 13 == 28
    assert [told(line) for line in drawn()["paths/redirected"]] == ["PIX 6 2 x16 Gen5 ACS 57.6"]
    assert "if no port redirects" in drawn()["paths/ACS not known"][0]


def test_a_matrix_of_one_word_is_a_sentence() -> None:
    assert [told(line) for line in drawn()["matrix/eight GPUs alike"]] == ["28 8 PIX"]
    assert [told(line) for line in drawn()["matrix/two GPUs"]] == ["1 2 PIX"]
    (directions,) = drawn()["matrix/two GPUs, each direction"]
    assert told(directions) == "1 2" and directions.endswith(", both directions: OK")
    pairs = {(a, b): "PIX" for a in range(8) for b in range(a)}
    both = {each: "OK" for pair in pairs for each in (pair, pair[::-1])}
    assert [told(line) for line in short_square(8, both, 80)] == [told("28 8 OK")]
    assert short_square(8, {**both, (1, 0): "NS"}, 30)[0].startswith("56 directions of 8 GPUs: 1 NS, 55 OK")
    assert len(short_square(8, {**both, (9, 0): "OK"}, 200)) > 1, "one has no way back: no sentence for all"
    assert len(short_square(8, {**pairs, (1, 0): "SYS"}, 80)) == 9
    assert [told(line) for line in drawn()["matrix/eight GPUs on a narrow terminal"]] == ["28 8 27 PIX 1 SYS"]


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
    assert re.search(r"GPU0-GPU3 f000:00:00\.0 \w+ f000:03:00\.0", text) and len(text.splitlines()) <= 60
