"""p2p-capability: the driver would let every GPU read and write the memory of every other."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import Finding
from ...util.text import some
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import NO_PAIR, UNREAD
from ..context import Case
from ..nvidia import from_driver
from ..nvidia.peer_access import peers
from .p2p_letters import DECLARE, UNDECLARED, asks_for_a_place, code_of, explained, outcome_of
from .smi_table import letters, model_alone

CHECK = Check(
    "p2p-capability", "the driver lets every GPU reach every other's memory",
    Heading.ACCELERATORS, 50, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.PAIRS), judges=("p2p.read", "p2p.write"),
    judges_of=(("reads", "p2p.read"), ("writes", "p2p.write")),
)
_ID = CHECK.id
_WAYS = ("read", "write")
CODES = {
    "chipset-not-supported": "The driver does not allow peer access on this chipset (CNS).",
    "gpu-not-supported": "The driver does not allow peer access on this GPU model (GNS).",
    "io-hub-not-supported": "The driver does not allow peer access across these I/O hubs (TNS).",
    "disabled-by-regkey": "A registry word of the driver forbids peer access (DR).",
    "pair-not-supported": "Peer access is not supported between these two boards (NS).",
    "status-unknown": "The driver gives a status that is not known, or none.",
    "refused-by-model": "NVIDIA's own driver refuses peer access on this GPU model; a patched module would allow it.",
    "patch-without-effect": "The specification declares a patched driver, and the loaded one refuses peer access.",
    "patch-not-declared": "The driver allows peer access that NVIDIA's own driver refuses; no patch is declared.",
    "own-driver-refuses": "NVIDIA's own driver refuses peer access on this GPU model; whether it is the loaded "
                          "one is not told.",
    "table-not-told": "A table of the driver refuses something, and the text does not say what the table is about.",
    "not-proven": "The driver allows peer access; without the PCI tree nothing says how fast that can be.",
}


def judge(case: Case) -> Iterator[Finding]:
    status, topology = case.snapshot.p2p, case.snapshot.topology
    if not topology.devices and case.snapshot.posted.letters:
        yield from letters(case, _ID)
        return
    if not topology.devices and (alone := list(model_alone(case, _ID, "no table is given; add: nvidia-smi topo -p2p r; "
                                                           "add: nvidia-smi topo -p2p w"))):
        yield from alone
        return
    label = {device.bdf: f"GPU{number}" for number, device in enumerate(topology.devices)}
    if len(label) < 2 or status.value is None:
        reason = status.why() if len(label) > 1 else "fewer than two accelerators"
        if len(label) > 1 and from_driver.not_asked(status):
            yield from_driver.without(case, _ID, "pairs", status.source, text=reason)
        else:
            if alone := list(model_alone(case, _ID, reason, status.absence)) if len(label) > 1 else []:
                yield from alone
                return
            skip = len(label) < 2 or status.absence in (Absence.NOT_ASKED, Absence.NO_BOARDS)
            code = NO_PAIR if len(label) < 2 else UNREAD
            reason = reason if skip else f"what the driver allows is not known: {reason}"
            yield Finding(_ID, code, "pairs", "skip" if skip else "unknown", "effective",
                          reason, evidence=(status.source,),
                          absence=None if skip else status.absence)
        return
    known, number = peers(case), {device.bdf: index for index, device in enumerate(topology.devices)}
    ways = [f"{way}s" for way in _WAYS if any(told == way for _, _, told in status.value)]
    groups: dict[tuple[str, bool | None, bool], list[str]] = {}
    for (a, b, way), fact in status.value.items():
        pair, word = (number.get(a, -1), number.get(b, -1)), fact.value or fact.reason or ""
        patchable = known.by_model(*pair)
        key = (word, patchable, asks_for_a_place(word, patchable) and known.below_switch(*pair))
        groups.setdefault(key, []).append(f"{label.get(a, a)}->{label.get(b, b)} {way}")
    for (word, patchable, near), pairs in groups.items():
        shown = some(pairs, 4, ", ")
        outcome, (meaning, fix) = outcome_of(case, word, patchable), explained(case, word, patchable, near=near)
        text = f"{shown}: {word} ({meaning})" if meaning else f"{shown}: the driver does not say ({word})"
        if word == "OK":
            text = f"the driver says OK for {len(pairs)} of {len(status.value)} {' and '.join(ways)} between two GPUs"
            text, fix = (f"{UNDECLARED}, and {text}", DECLARE) if outcome == "warn" else (text, None)
        yield Finding(_ID, code_of(case, word, patchable), ", ".join(pairs[:4]), outcome, "effective",
                      text, word, "OK", (status.source,), fix)
    for way in _WAYS:
        if f"{way}s" not in ways:
            source = f"nvidia-smi topo -p2p {way[0]}"
            yield Finding(_ID, UNREAD, f"{way}s", "unknown", "effective",
                          f"whether the driver allows {way}s of another GPU's memory is in a table that is not given: "
                          f"{source}", "?", "OK", (source,), absence=Absence.NOT_IN_IMPORT)
