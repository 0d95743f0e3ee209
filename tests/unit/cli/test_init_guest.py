"""``tunecheck init`` and the checks judge alike whether a box is a virtual machine, and a draft for one asks for
nothing that only its host can do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.checks.test_cases import CASES, case_of

from tunecheck.app.draft import drafted
from tunecheck.app.draft_files import Login, files
from tunecheck.facts.snapshot import Snapshot
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec import build
from tunecheck.spec.profile_files import load, names

#: What the hypervisor or the real machine decides.
_OF_THE_HOST = ("iommu-mode", "acs-redirect", "acs-persistence", "link-width", "link-speed", "link-aspm",
                "topo-relation", "iommu-trap", "cmdline-token")
_UNKNOWN_BOARD = "10de:2330"


def _snapshots() -> list[tuple[str, Snapshot]]:
    found = [(path.stem, case_of(path)[1].snapshot) for path in CASES if path.stem.startswith((
        "acs-", "iommu-", "topo-", "link-", "accelerator-", "p2p-capability-", "driver-bound-"))]
    return [(name, each) for name, each in found if each.topology.devices]


SNAPSHOTS = _snapshots()


def _with_board(snapshot: Snapshot, ids: str) -> Snapshot:
    devices = tuple(replace(each, ids=ids) for each in snapshot.topology.devices)
    accelerators = replace(snapshot.topology.accelerators, value=devices)
    return replace(snapshot, topology=replace(snapshot.topology, accelerators=accelerators))


@pytest.mark.parametrize("ids", ["", _UNKNOWN_BOARD], ids=["its boards", "boards without a profile"])
@pytest.mark.parametrize(("name", "snapshot"), SNAPSHOTS, ids=[name for name, _ in SNAPSHOTS])
def test_init_and_the_checks_judge_alike_what_a_machine_is(name: str, snapshot: Snapshot, ids: str) -> None:
    seen = _with_board(snapshot, ids) if ids else snapshot
    draft, guest = drafted(seen), Case(seen).guest
    held = any(each.driver.value == "vfio-pci" for each in seen.topology.devices)
    assert (draft.spec["profile"] == "passthrough-guest") == (guest and not held)
    assert (draft.spec["profile"] == "passthrough-host") == held
    told = [line for line in draft.observations if line.startswith("virtual machine: ")]
    assert len(told) == guest and all(Case(seen).hypervisor in line for line in told)
    written = files(draft, Login())["group_vars/inference.yml"]
    assert all(f"#   {line}" in written for line in told)
    if guest and not held:
        assert "profile" not in draft.change
        findings = judge(Case(seen, build("box1", draft.spec)), "topo" if seen.host is None else "preflight")
        assert [each.message for each in findings if each.id in _OF_THE_HOST and each.outcome == "fail"] == []


def test_a_profile_that_is_not_made_for_the_boards_is_marked_and_says_so() -> None:
    made_for = {each for name in names() for each in load(name).values["accelerators"].get("pci_ids", ())}
    assert _UNKNOWN_BOARD not in made_for
    seen = 0
    for _, snapshot in SNAPSHOTS:
        draft = drafted(_with_board(snapshot, _UNKNOWN_BOARD))
        if not draft.spec["profile"].startswith("passthrough"):
            assert f"none is made for {_UNKNOWN_BOARD}" in draft.change["profile"]
            seen += 1
        assert draft.spec["accelerators"]["pci_ids"] == [_UNKNOWN_BOARD]
    assert seen


def test_where_no_board_is_seen_the_profile_is_marked() -> None:
    """Nothing shows that a board is passed through to this virtual machine."""
    guests = 0
    for name, snapshot in SNAPSHOTS:
        seen = replace(snapshot, topology=replace(snapshot.topology, accelerators=replace(
            snapshot.topology.accelerators, value=())))
        draft = drafted(seen)
        guests += Case(seen).guest
        assert (draft.spec["profile"] == "passthrough-guest") == Case(seen).guest, name
        assert ("virtual machine" in draft.change["profile"]) == Case(seen).guest and "profile" in draft.change, name
    assert guests
