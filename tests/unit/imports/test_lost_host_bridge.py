"""An lspci whose first lines are gone (the terminal forgot them): it is judged from its root ports down."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.samples import box, metal
from tests.unit.imports.test_import import folder

from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def _case(path: Path, text: str) -> Case:
    path.mkdir()
    return Case(gather(load_import(folder(path, text)), None, True))


def _without(text: str) -> str:
    """Without the devices of no port that stand before the first root port."""
    return text[text.index("[0604]") - len("00:00.0 PCI bridge "):]


def _relations(snapshot: Snapshot) -> list[tuple[str, str | None]]:
    return [(pair.label, pair.relation.value) for pair in snapshot.topology.pairs]


@pytest.mark.parametrize("layout", ["acs-iommu", "switch1"])
def test_the_ports_that_are_seen_are_judged(layout: str, tmp_path: Path) -> None:
    whole, rest = _case(tmp_path / "a", metal(box(layout))), _case(tmp_path / "b", _without(metal(box(layout))))
    assert rest.snapshot.topology.doubt and not whole.snapshot.topology.doubt
    assert _relations(rest.snapshot) == _relations(whole.snapshot) and len(_relations(rest.snapshot)) > 0
    ports = [[(each.subject, each.code, each.outcome) for each in judge(case, "preflight") if each.id == "acs-redirect"
              and each.subject.startswith("0000:")] for case in (rest, whole)]
    assert ports[0] == ports[1] != []
    (count,) = (each for each in judge(rest, "preflight") if each.id == "accelerator-count")
    assert count.outcome == "unknown"


def test_without_the_root_port_nothing_is_known_above_it(tmp_path: Path) -> None:
    text = metal(box("switch1"))
    ports = [part for part in text.split("\n\n") if "[0600]" not in part.split("\n")[0] and "Root Port" not in part]
    case = _case(tmp_path / "a", "\n\n".join(ports))
    assert {value for _, value in _relations(case.snapshot)} == {None}
