"""topo-relation: every pair of accelerators is as close as declared."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.topology import RELATIONS, within
from .finding import Case, Finding, Remedy

_ID = "topo-relation"
_MOVE = Remedy("move the boards below one switch, or state the relation this machine really has in "
               "box_spec.accelerators.relation")


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.accelerators.relation
    pairs = case.snapshot.topology.pairs
    maybe = case.snapshot.topology.unidentified
    if maybe and case.snapshot.topology.devices and wanted is not None:
        names = ", ".join(each.bdf for each in maybe)
        yield Finding(_ID, names, "unknown", "effective", f"whether {names} is an accelerator, and how close to the "
                      f"others, is not known: {maybe[0].why}", "?", wanted)
        if not pairs:
            return
    if not pairs:
        yield Finding(_ID, "pairs", "skip", "effective", "fewer than two accelerators: no pair to judge")
        return
    if wanted is None:
        asked = "the spec asks for no relation" if case.frozen else "no spec given"
        seen = ", ".join(f"{pair.label} {pair.relation.value or '?'}" for pair in pairs)
        yield Finding(_ID, "pairs", "skip", "effective", f"{asked}; found {seen}", seen)
        return
    expected = f"{wanted} or closer ({' < '.join(RELATIONS)})"
    good = 0
    for pair in pairs:
        word = pair.relation.value
        if word is None:
            yield Finding(_ID, pair.label, "unknown", "effective", f"the relation of {pair.label} is unknown: "
                          f"{pair.relation.reason}", "?", expected, (pair.relation.source,))
        elif not within(word, wanted):
            yield Finding(_ID, pair.label, "fail", "effective", f"{pair.label} is {word}", word, expected,
                          (pair.relation.source,), _MOVE)
        else:
            good += 1
    if good:
        words = sorted({pair.relation.value for pair in pairs if pair.relation.value}, key=RELATIONS.index)
        yield Finding(_ID, "pairs", "pass", "effective", f"{good} of {len(pairs)} pairs are {wanted} or closer",
                      ", ".join(words), expected, ("/sys/bus/pci/devices",))
