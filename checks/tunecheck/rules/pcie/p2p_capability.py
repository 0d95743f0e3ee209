"""p2p-capability: the driver would let every GPU read and write the memory of every other."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import Finding
from ..check import TOPO, Check, Family, Heading, Needs
from ..context import Case
from ..driver import from_driver
from .p2p_letters import DECLARE, UNDECLARED, explained, needs_patch, outcome_of
from .table_told import letters

CHECK = Check(
    "p2p-capability", "the driver lets every GPU reach every other's memory",
    Heading.ACCELERATORS, 50, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.PAIRS), judges=("p2p.read", "p2p.write"),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    said, topology = case.snapshot.p2p, case.snapshot.topology
    if not topology.devices and case.snapshot.posted.letters:
        yield from letters(case, _ID)
        return
    label = {device.bdf: f"GPU{number}" for number, device in enumerate(topology.devices)}
    if len(label) < 2 or said.value is None:
        reason = said.why() if len(label) > 1 else "fewer than two accelerators"
        if len(label) > 1 and from_driver.nobody_asked(said):
            yield from_driver.without(case, _ID, "pairs", said.source, text=reason)
        else:
            skip = len(label) < 2 or said.absence in (Absence.NOT_ASKED, Absence.NO_BOARDS)
            yield Finding(_ID, "pairs", "skip" if skip else "unknown", "effective", reason, evidence=(said.source,),
                          absence=None if skip else said.absence)
        return
    groups: dict[tuple[str, bool], list[str]] = {}
    for (a, b, way), fact in said.value.items():
        key = (fact.value or fact.reason or "", needs_patch(topology, a, b))
        groups.setdefault(key, []).append(f"{label.get(a, a)}->{label.get(b, b)} {way}")
    for (word, patchable), pairs in groups.items():
        shown = ", ".join(pairs[:4]) + (f", and {len(pairs) - 4} more" if len(pairs) > 4 else "")
        outcome, (meaning, fix) = outcome_of(case, word, patchable), explained(case, word, patchable)
        text = f"{shown}: {word} ({meaning})" if meaning else f"{shown}: the driver does not say ({word})"
        if word == "OK":
            text = f"the driver says OK for {len(pairs)} of {len(said.value)} reads and writes between two GPUs"
            text, fix = (text + UNDECLARED, DECLARE) if outcome == "warn" else (text, None)
        yield Finding(_ID, ", ".join(pairs[:4]), outcome, "effective", text, word, "OK", (said.source,), fix)
