"""The tree of the page: how links are called and judged, and where boxes go."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.facts.trees import cascaded, direct, flat, two_bridges
from tests.unit.report.boxes import judged, switches

from tunecheck.report.html.layout import Picture, arrange, outline
from tunecheck.report.html.tree import grow, link_label, link_state


def _link(width: int | None, most: int | None, speed: str | None = None, top: str | None = None) -> dict[str, Any]:
    return {"width": width, "max_width": most, "speed": speed, "max_speed": top}


@pytest.mark.parametrize(("link", "label", "state"), [
    (_link(16, 16, "32.0 GT/s PCIe", "32.0 GT/s PCIe"), "x16 Gen5", "ok"),
    (_link(16, 16, "2.5 GT/s PCIe", "32.0 GT/s PCIe"), "x16 Gen1/5", "ok"),
    (_link(8, 16, "16.0 GT/s PCIe", "64.0 GT/s PCIe"), "x8/16 Gen4/6", "narrow"),
    (_link(0, 16), ..., "narrow"),
    (_link(None, 16, "Unknown"), "x? Gen?", "unknown"),
    (_link(4, None, "nonsense", "8 GT/s"), "x4 Gen?", "unknown"),
])
def test_links(link: dict[str, Any], label: Any, state: str) -> None:
    """Of a dead link the label is words alone."""
    assert link_state(link, False) == state
    assert link_label(link) == label if label is not ... else not re.search(r"\d|x", link_label(link))


def test_only_the_slow_link_is_marked() -> None:
    data = judged(switches(4), "topo")[1].document
    data["findings"].append({"id": "link-speed", "subject": "GPU0 0000:03:00.0", "outcome": "fail", "message": "",
                             "code": "slow-under-load", "observed": "0000:00:01.1-0000:01:00.0 at Gen1 of Gen5"})
    assert {node.id for node in grow(data).values() if node.state == "slow"} == {"0000:01:00.0"}


def test_what_a_finding_names_is_marked_with_the_worse() -> None:
    data = judged(switches(4, redirecting=(0,)), "topo")[1].document
    data["findings"] = [
        {"id": "switch-chip", "subject": "", "outcome": "warn", "message": "switch-chip: 0000:01:00.0, 0000:03:00.0"},
        {"id": "xid", "subject": "GPU0 0000:03:00.0", "outcome": "fail", "message": "xid: Xid 79, fell off the bus"},
        {"id": "smt", "subject": "0000:04:00.0", "outcome": "pass", "message": "smt: 0000:04:00.0"},
        {"id": "smt", "subject": "0000:99:00.0", "outcome": "fail", "message": "smt: of no accelerator"}]
    nodes = grow(data)
    assert {node.id: (node.blame, node.blamed_by) for node in nodes.values() if node.blame} == {
        "0000:03:00.0": ("fail", ["xid"]), "0000:01:00.0": ("warn", ["switch-chip"])}


def test_only_a_port_that_is_surely_on_no_path_is_aside() -> None:
    """Two GPUs of one switch: their traffic turns at the switch. A third one elsewhere makes the root port a way; one
    whose place is not known could."""
    def aside(data: dict[str, Any]) -> set[str]:
        return {node.id for node in grow(data).values() if node.aside}

    data = judged(switches(2).port("0000:00:01.1", "pci0000:00/0000:00:01.1", 0x001D), "topo")[1].document
    assert aside(data) == {"0000:00:01.1", "0000:01:00.0"}
    assert not grow(data)["0000:00:01.1"].mark and grow(data)["0000:00:01.1"].redirects
    data["pairs"][0] |= {"relation": None, "reason": "not derivable"}
    assert aside(data) == set() and grow(data)["0000:00:01.1"].mark == "redirects"
    assert aside(judged(switches(3), "topo")[1].document) == set()


@pytest.mark.parametrize("machine", [switches(8), switches(3), cascaded(), direct(), flat(), two_bridges((0, 1))],
                         ids=["8", "3", "cascaded", "direct", "flat", "two bridges"])
@pytest.mark.parametrize("place", [arrange, outline])
def test_boxes_neither_overlap_nor_leave_the_picture(machine: Any, place: Callable[..., Picture]) -> None:
    nodes = grow(judged(machine, "topo")[1].document)
    picture = place(nodes)
    assert {box.node.id for box in picture.boxes} == set(nodes)
    assert place is arrange or picture.width <= 340
    for one in picture.boxes:
        assert one.x >= 0 and one.x + one.width <= picture.width
        assert one.y >= 0 and one.y + one.height <= picture.height
        for two in picture.boxes:
            assert one is two or one.x + one.width <= two.x or two.x + two.width <= one.x or (
                one.y + one.height <= two.y or two.y + two.height <= one.y), (one.node.id, two.node.id)
    assert {line.node.id for line in picture.lines} == {node.id for node in nodes.values() if node.parent}
