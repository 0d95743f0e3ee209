"""topo-relation: the accelerators are as close as declared, every pair or group by group."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from ...facts.pci.topology import Pair
from ...facts.peer_paths import paths
from ...model.fact import Absence
from ...model.finding import Finding, Place, Remedy
from ...parsers.pci.topology import RELATIONS, within
from ...spec.boards import board
from ..check import TOPO, Check, Family, Heading
from ..codes import MAYBE_ACCELERATOR, NO_PAIR
from ..context import Case
from ..nvidia.posted_gpus import given_names
from .smi_table import absent_table, relations, unasked, undeclared

CHECK = Check(
    "topo-relation", "every pair of accelerators is as close as declared",
    Heading.ACCELERATORS, 30, Family.PCIE, TOPO, judges=("pcie.relation", "pcie.relation_told"),
    built_so=True,
)
_ID = CHECK.id
CODES = {
    "farther-than-declared": "A pair of accelerators is farther apart than the specification declares.",
    "through-cpu": "The way between two accelerators goes through the CPU.",
    "across-sockets": "The way between two accelerators crosses the CPU sockets.",
    "relation-unknown": "How close a pair is cannot be read.",
    "tree-not-given": "By the driver's table no pair is farther apart than declared; the PCI tree itself is not given.",
    "nvlink-lost": "GPUs that are always joined by NVLink are not; `fabric-state` says more.",
    "nvlink-not-in-tree": "No specification asks for a relation, and the boards have NVLinks: the PCI tree does not "
                          "show which way their traffic goes.",
    "table-unread": "The driver's table of relations cannot be used.",
    "groups-unknown": "Which accelerators form a group is not known, because the relation of a pair is not.",
    "other-groups": "The accelerators form other groups than the specification declares.",
}
_MOVE = Remedy("move the boards below one switch, or state the relation this machine really has in "
               "box_spec.accelerators.relation", place=Place.MACHINE)
_REGROUP = Remedy("move the boards to the slots of their switch or socket (the board manual shows which), or state the "
                  "groups this machine really has in box_spec.accelerators.groups", place=Place.MACHINE)


def judge(case: Case) -> Iterator[Finding]:
    wanted, groups = case.spec.accelerators.relation, case.spec.accelerators.groups
    pairs = case.snapshot.topology.pairs
    maybe = case.snapshot.topology.unidentified
    if maybe and case.snapshot.topology.devices and (wanted is not None or groups.inside is not None):
        names = ", ".join(each.bdf for each in maybe)
        yield Finding(_ID, MAYBE_ACCELERATOR, names, "unknown", "effective",
                      f"whether {names} is an accelerator, and how close to the "
                      f"others, is not known: {maybe[0].why}", "?", wanted or groups.inside or "")
        if not pairs:
            return
    devices, table = case.snapshot.topology.devices, case.snapshot.posted.table.value
    blind = table is not None and len(table.labels) > 1 and not any(pair.relation.known for pair in pairs)
    if blind or (not devices and not absent_table(case)):
        # A list of devices that shows no relation takes nothing away from the driver's table.
        yield from relations(case, _ID)
    elif not devices and len(given_names(case.snapshot)) > 1 and case.snapshot.posted.anything:
        yield Finding(_ID, "relation-unknown", "pairs", "unknown", "effective", "how close the "
                      f"{len(given_names(case.snapshot))} GPUs are is not known; add: nvidia-smi topo -m",
                      absence=Absence.NOT_IN_IMPORT)
    elif not pairs and len(devices) < 2 and not case.snapshot.topology.certain and len(given_names(case.snapshot)) != 1:
        found = case.snapshot.topology.accelerators
        yield Finding(_ID, "relation-unknown", "pairs", "unknown", "effective", "how many accelerators there are, and "
                      f"how close they are to each other, is not known: {case.snapshot.topology.doubt or found.why()}",
                      evidence=(found.source,), absence=found.absence or Absence.NOT_IN_IMPORT)
    # One accelerator where groups are declared is a group that is too small, not nothing to judge.
    elif not pairs and not (groups.inside and case.snapshot.topology.devices):
        yield Finding(_ID, NO_PAIR, "pairs", "skip", "effective", "fewer than two accelerators: no pair to judge")
    elif groups.inside is not None:
        yield from _grouped(case, groups.inside)
    elif wanted is None:
        far = list(undeclared(case, _ID, _words(case), len(case.snapshot.topology.devices), "", "/sys/bus/pci/devices"))
        yield from far
        if not far:
            code, why = unasked(case, nvlink=any(_has_nvlinks(each.ids) for each in devices))
            seen = ", ".join(f"{pair.label} {pair.relation.value or '?'}" for pair in pairs)
            yield Finding(_ID, code, "pairs", "skip", "effective", f"{why}; found {seen}", seen)
    else:
        expected = f"{wanted} or closer ({' < '.join(RELATIONS)})"
        good = yield from _each(pairs, wanted, expected, _MOVE)
        if good:
            words = sorted({pair.relation.value for pair in pairs if pair.relation.value}, key=RELATIONS.index)
            yield Finding(_ID, "ok", "pairs", "pass", "effective",
                          f"{good} of {len(pairs)} pairs are {wanted} or closer",
                          ", ".join(words), expected, ("/sys/bus/pci/devices",))


def _words(case: Case) -> dict[str, list[tuple[int, int]]]:
    """Return the pairs of each relation, under "" those of which the tree does not tell how their traffic goes. That of
    a virtual machine is made up, and boards that have NVLinks go by them, which no PCI tree shows."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for path in paths(case.snapshot):
        ends = [case.snapshot.topology.devices[number] for number in (path.pair.a, path.pair.b)]
        linked = any(_has_nvlinks(end.ids) for end in ends)
        word = "NV" if path.latency_class == "nvlink" else "" if linked or case.guest else path.pair.relation.value
        pairs.setdefault(word or "", []).append((path.pair.a, path.pair.b))
    return pairs


def _has_nvlinks(ids: str) -> bool:
    known = board(ids)
    return known is not None and known.p2p == "nvlink"


def _each(pairs: tuple[Pair, ...], wanted: str, expected: str, move: Remedy) -> Generator[Finding, None, int]:
    """Yield findings about the pairs that are worse than ``wanted`` or unknown; return how many are fine."""
    good = 0
    for pair in pairs:
        word = pair.relation.value
        if word is None:
            yield Finding(_ID, "relation-unknown", pair.label, "unknown", "effective",
                          f"the relation of {pair.label} is unknown: "
                          f"{pair.relation.reason}", "?", expected, (pair.relation.source,))
        elif not within(word, wanted):
            yield Finding(_ID, "farther-than-declared", pair.label, "fail", "effective",
                          f"{pair.label} is {word}", word, expected,
                          (pair.relation.source,), move)
        else:
            good += 1
    return good


def _grouped(case: Case, inside: str) -> Iterator[Finding]:
    topology, want = case.snapshot.topology, case.spec.accelerators
    across, size = want.groups.across, want.groups.size
    number = want.count // size if want.count and size else None
    expected = (f"{number} groups of {size}" if number else f"groups of {size}" if size else "groups of 2 or more") + (
        f", {inside} or closer inside" + (f", {across} or closer across" if across else ""))
    # Worse than across is wrong wherever the groups are, so a hidden pair elsewhere does not take it back.
    yield from _each(topology.pairs, across or RELATIONS[-1], expected, _REGROUP)
    groups = topology.groups(inside)
    if groups is None:
        yield Finding(_ID, "groups-unknown", "groups", "unknown", "effective",
                      "which accelerators form a group is unknown: the relation "
                      "of some pair is", "?", expected, ("/sys/bus/pci/devices",))
        return
    shown = "; ".join(", ".join(f"GPU{one}" for one in group) for group in groups)
    sizes = ", ".join(str(len(group)) for group in groups)
    wrong = [group for group in groups if (len(group) != size if size else len(group) < 2)]
    layout = f"{len(groups)} groups of {sizes} accelerators ({shown})" if len(groups) > 1 else \
        f"one group of {sizes} accelerator{'s' if len(groups[0]) > 1 else ''} ({shown})"
    if wrong or (number is not None and len(groups) != number):
        yield Finding(_ID, "other-groups", "groups", "fail", "effective",
                      f"found {layout}", sizes, expected, ("/sys/bus/pci/devices",),
                      _REGROUP)
    else:
        yield Finding(_ID, "ok", "groups", "pass", "effective", f"{layout}, {inside} or closer inside"
                      + (f", {across} or closer across" if across else ""), sizes, expected,
                      ("/sys/bus/pci/devices",))
