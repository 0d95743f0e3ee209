"""An inventory that ``tunecheck init`` has written from a box asks for nothing that the tool advises against on it: no
finding then wants another value in the inventory, and none becomes a failure for a value that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import pytest
import yaml
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.cli.test_init import BOXES, FIXTURE, guest, seen
from tests.unit.facts import trees
from tests.unit.imports.samples import samples

from tunecheck.app.draft import Draft, drafted
from tunecheck.app.draft_files import Login, files
from tunecheck.app.read_host import look
from tunecheck.facts.pci.devices import Device
from tunecheck.facts.snapshot import Snapshot
from tunecheck.model.fact import known
from tunecheck.model.finding import Finding, Place
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.nvidia.peer_access import NO_PEERS, peers
from tunecheck.rules.remedies.iommu_remedies import switched_off
from tunecheck.rules.remedies.redirect_gain import DRIVER_NOT_TOLD, REDIRECTS_NOTHING, no_gain
from tunecheck.spec import build

_GEFORCE, _PRO = "10de:2b85", "10de:2bb5"
#: Both ways are offered, and which one is meant no evidence tells.
_CHOICES = (("iommu-mode", "iommu-off"),)
_INVENTORY = re.compile(r"\b(?:set|state|correct)\b[^;]*\b(?:box_spec\.|in the inventory)")
_SUBJECTS = ("acs-", "iommu-", "p2p-", "nccl-", "topo-relation", "kernel-lockdown", "cmdline-conflict", "driver-bound-")
_UNDECLARED = "patch-not-declared"
_OF_PEERS = ("p2p-capability", "nccl-transport", "nccl-environment")


def _letters(snapshot: Snapshot, word: Callable[[Device, Device], str]) -> Snapshot:
    """What the driver says of each ordered pair."""
    pairs = permutations(snapshot.topology.devices, 2)
    return replace(snapshot, p2p=known({(a.bdf, b.bdf, way): known(word(a, b), "nvml") for a, b in pairs
                                        for way in ("read", "write")}, "nvml"))


def _boards(snapshot: Snapshot, *ids: str) -> Snapshot:
    """These boards in place of its own, the last one for all that follow."""
    devices = tuple(replace(each, ids=ids[min(number, len(ids) - 1)])
                    for number, each in enumerate(snapshot.topology.devices))
    accelerators = replace(snapshot.topology.accelerators, value=devices)
    return replace(snapshot, topology=replace(snapshot.topology, accelerators=accelerators, names=tuple(
        each.ids for each in devices)))


def _held(snapshot: Snapshot) -> Snapshot:
    devices = tuple(replace(each, driver=known("vfio-pci", "x")) for each in snapshot.topology.devices)
    accelerators = replace(snapshot.topology.accelerators, value=devices)
    return replace(snapshot, topology=replace(snapshot.topology, accelerators=accelerators))


def _of_model(a: Device, b: Device) -> str:
    return "GNS" if _GEFORCE in (a.ids, b.ids) else "OK"


#: name -> what is made of a box.
VARIANTS: dict[str, Callable[[Snapshot], Snapshot]] = {
    "as it is": lambda box: box,
    **{f"all pairs {word}": lambda box, word=word: _letters(box, lambda a, b: word)     # type: ignore[misc]
       for word in ("OK", "GNS", "CNS", "DR")},
    "GeForce": lambda box: _boards(box, _GEFORCE),
    "GeForce under NVIDIA's own driver": lambda box: _letters(_boards(box, _GEFORCE), _of_model),
    "GeForce under a patched driver": lambda box: _letters(_boards(box, _GEFORCE), lambda a, b: "OK"),
    "mixed boards": lambda box: _letters(_boards(box, _GEFORCE, _PRO), _of_model),
    "mixed boards without tables": lambda box: _boards(box, _GEFORCE, _PRO),
    "GeForce for virtual machines": lambda box: _held(_boards(box, _GEFORCE)),
}


def _resolved(draft: Draft) -> dict[str, Any]:
    """The drafted box_spec with its marks resolved as they suggest, for a box from which no card is missing."""
    spec = {key: dict(value) if isinstance(value, dict) else value for key, value in draft.spec.items()}
    if "accelerators.groups" in draft.change:
        groups = spec["accelerators"].pop("groups")
        spec["accelerators"]["relation"] = groups["across"]
        spec["profile"] = re.sub(r"-switch(es)?$", "-direct", spec["profile"])
    return spec


def _wrong(snapshot: Snapshot, verb: str) -> Iterator[Finding]:
    """Yield each finding with the drafted specification that breaks the promise."""
    draft, case = drafted(snapshot), Case(snapshot)
    if draft.spec["profile"] is None:
        return
    bare = {(each.id, each.subject): each for each in judge(case, verb)}
    judged = judge(Case(snapshot, build(draft.name, _resolved(draft))), verb)
    # The driver allows a part and refuses a part: whether a patch is wanted nobody knows.
    half_patched = any(each.id == "p2p-capability" and each.outcome in ("fail", "warn") and each.code != _UNDECLARED
                       for each in judged)
    for found in judged:
        if found.outcome not in ("fail", "warn") or (found.id, found.code) in _CHOICES or (
                half_patched and found.code == _UNDECLARED):
            continue
        fix, before = found.remedy, bare.get((found.id, found.subject))
        changes = fix is not None and (fix.place is Place.INVENTORY or _INVENTORY.search(fix.text))
        warned = found.outcome == "fail" and before is not None and before.outcome == "warn"
        if changes or (warned and before is not None and _against(case, before)):
            yield found


def _against(case: Case, before: Finding) -> bool:
    """Whether the tool says of this warning, without a specification, that nothing is to be gained."""
    if before.code in (REDIRECTS_NOTHING, DRIVER_NOT_TOLD):
        return no_gain(case) is not None        # else other pairs of the box need it
    known_peers = peers(case)
    return before.id in _OF_PEERS and known_peers.whole in NO_PEERS and known_peers.final(known_peers.pairs)


@cache
def _evidence() -> list[tuple[str, str, Snapshot]]:
    """The boxes of the cases that judge peer traffic and what decides about it, and trees of every shape."""
    found = [(path.stem, case_of(path)[1:]) for path in CASES if path.stem.startswith(_SUBJECTS)]
    boxes = [(name, "topo" if box.snapshot.host is None else verb, box.snapshot) for name, (box, verb) in found
             if box.snapshot.topology.devices]
    return [*boxes, *((name, "topo", box()) for name, (box, *_) in BOXES.items()),
            ("a guest", "topo", guest(trees.below_one_switch(4)))]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_draft_asks_for_nothing_that_the_tool_advises_against(variant: str) -> None:
    wrong, count = [], 0
    for name, verb, box in _evidence():
        if variant == "GeForce for virtual machines" and box.host and switched_off(Case(box)):
            continue        # vfio-pci hands nothing to them without an IOMMU
        snapshot = VARIANTS[variant](box)
        count += 1
        wrong += [f"{name}: {each.message}" for each in _wrong(snapshot, verb)]
    assert count > 100 and wrong == []


@pytest.mark.parametrize("part", ["h200/run1", "host", "topo/*"])
def test_nor_does_one_of_other_peoples_texts(part: str) -> None:
    root = part.removesuffix("/*")
    for path in sorted(samples(root).iterdir()) if part.endswith("/*") else [samples(root)]:
        assert [each.message for each in _wrong(look("preflight", None, str(path))[1], "preflight")] == [], path.name


def test_nor_does_one_of_a_recording() -> None:
    assert [each.message for each in _wrong(look("preflight", None, str(FIXTURE))[1], "preflight")] == []


@pytest.mark.parametrize(("make", "value", "marked", "says"), [
    (VARIANTS["GeForce under NVIDIA's own driver"], "leave", False, "(GNS): clearing redirect would gain nothing"),
    (VARIANTS["all pairs GNS"], "leave", False, "(GNS): clearing redirect would gain nothing"),
    (VARIANTS["all pairs CNS"], "leave", False, '(CNS): clearing redirect would gain nothing; "off" once p2p-capabil'),
    (VARIANTS["GeForce"], "leave", True, 'keep "leave", unless a patched driver is loaded'),
    (VARIANTS["GeForce under a patched driver"], None, False, ""),
    (VARIANTS["mixed boards"], None, False, ""), (VARIANTS["all pairs OK"], None, False, ""),
    (VARIANTS["as it is"], None, False, ""), (VARIANTS["GeForce for virtual machines"], None, False, ""),
])
def test_the_line_says_why(make: Callable[[Snapshot], Snapshot], value: str | None, marked: bool, says: str) -> None:
    text = files(drafted(make(seen(trees.below_one_switch(4)))), Login())["group_vars/inference.yml"]
    assert yaml.safe_load(text)["box_spec"].get("acs", {}).get("peer_redirect") == value
    lines = [line for line in text.splitlines() if "peer_redirect:" in line]
    assert [("# CHANGE: " in line, says in line) for line in lines] == [(marked, True)] * bool(value)


def test_a_patched_driver_is_declared() -> None:
    text = files(drafted(VARIANTS["GeForce under a patched driver"](seen(trees.direct()))),
                 Login())["group_vars/inference.yml"]
    spec = yaml.safe_load(text)["box_spec"]
    assert spec["driver"] == {"flavour": "patched-p2p"} and build("box1", spec).spec.acs.peer_redirect == "off"
    assert "source: nvidia" not in text, "which would install NVIDIA's own over it"


def test_one_board_has_no_peers() -> None:
    assert "acs" not in drafted(_boards(seen(trees.below_one_switch(1)), _GEFORCE)).spec
