"""Where no specification asks for a relation, the PCI tree and the driver's table of one machine get one verdict, for
one reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.checks.machines import build
from tests.unit.facts import trees

from tunecheck.facts.posted import Table
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.model.fact import known
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_BARE = gather(trees.Machine().host(), None, False)


def _by_table(snapshot: Snapshot) -> Snapshot:
    relations = {(pair.a, pair.b): pair.relation.value or "" for pair in snapshot.topology.pairs}
    table = Table(("",) * len(snapshot.topology.devices), relations, "nvidia-smi topo -m")
    return replace(_BARE, posted=replace(_BARE.posted, table=known(table, "x")), guest=snapshot.guest)


def _judged(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(each.outcome, each.code) for each in judge(Case(snapshot), "topo") if each.id == "topo-relation"]


@pytest.mark.parametrize("guest", ["", "KVM"])
@pytest.mark.parametrize("machine", ["switch", "cascaded", "direct", "numa", "pairs", "quads", "strays"])
def test_tree_and_table_get_one_verdict(machine: str, guest: str) -> None:
    seen = replace(gather(build({"machine": machine}), None, False), guest=known(guest, "dmi"))
    far = {pair.relation.value for pair in seen.topology.pairs} & {"PHB", "NODE", "SYS"}
    found = _judged(seen)
    assert found == _judged(_by_table(seen))
    assert any(outcome == "warn" for outcome, _ in found) == (bool(far) and not guest)
    assert found == [("skip", "virtual-ports")] if guest else all(code != "virtual-ports" for _, code in found)
    if not far and not guest:
        assert found == [("skip", "not-declared")]
