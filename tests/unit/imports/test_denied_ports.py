"""lspci without root says of no port what kind it is. Where the accelerators meet below two ports of the text, how they
are joined is known without the host bridge; else it is not, and what was not read is no profile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.imports.samples import box, metal

from tunecheck.app.draft import drafted
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def _denied(layout: str) -> list[str]:
    """The devices of a box as lspci shows them without root, the host bridges left out."""
    text = metal(box(layout))
    shown = [re.sub(r"(?m)^\tCapabilities: .*\n(?:\t\t.*\n)*", "", each) for each in re.split(r"\n\n+", text.strip())]
    return [re.sub(r"(?m)^(\tKernel driver|\Z)", r"\tCapabilities: <access denied>\n\1", each + "\n", count=1)
            for each in shown if "[0600]" not in each.partition("\n")[0]]


def _read(path: Path, devices: list[str]) -> Snapshot:
    path.write_text("\n".join(devices) + "\n")
    return gather(load_import(str(path)), None, True)


def test_accelerators_below_one_switch_have_their_place_without_root(tmp_path: Path) -> None:
    whole = gather(load_import(str(_whole(tmp_path))), None, True)
    found = _read(tmp_path / "a", _denied("switch1"))
    assert [pair.relation.value for pair in found.topology.pairs] == \
        [pair.relation.value for pair in whole.topology.pairs] == ["PIX"]
    told = "\n".join(each.text for each in judge(Case(found), "preflight"))
    assert "no PCIe switch above" not in told and "no port of the path" not in told
    assert found.topology.doubt


def _whole(tmp_path: Path) -> Path:
    (tmp_path / "whole").write_text(metal(box("switch1")))
    return tmp_path / "whole"


@pytest.mark.parametrize("layout", ["switch1", "phb", "acs-iommu"])
def test_no_deleted_port_joins_them_otherwise_or_passes_more(layout: str, tmp_path: Path) -> None:
    devices = _denied(layout)
    kept = _read(tmp_path / "a", devices)
    relations = {pair.relation.value for pair in kept.topology.pairs}
    passed = {each.id for each in judge(Case(kept), "preflight") if each.outcome == "pass"}
    for number in range(len(devices)):
        left = _read(tmp_path / "a", devices[:number] + devices[number + 1:])
        assert {pair.relation.value for pair in left.topology.pairs} <= {*relations, None}
        assert {each.id for each in judge(Case(left), "preflight") if each.outcome == "pass"} <= passed


def test_on_root_ports_of_which_nothing_says_so_they_have_no_place_and_no_profile(tmp_path: Path) -> None:
    found = _read(tmp_path / "a", _denied("phb"))
    assert {pair.relation.value for pair in found.topology.pairs} == {None}


@pytest.mark.parametrize(("name", "guessed"), [("-switch", False), ("-direct", True)])
def test_a_profile_whose_shape_was_not_read_is_marked(name: str, guessed: bool, tmp_path: Path) -> None:
    devices = [re.sub(r"\[10de:2330\]", "[10de:2bb5]", each) for each in _denied("switch1")]
    made = drafted(_read(tmp_path / "a", devices if not guessed else devices[-2:]))
    assert made.spec["profile"] == f"rtx-pro-6000{name}"
    assert ("profile" in made.change) is guessed
