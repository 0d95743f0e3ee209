"""What each relation of two GPUs means and costs, and which GPUs to choose, as far as the driver lets them reach each
other (peer_access): no place and no setting brings boards closer that it keeps apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...model.finding import Remedy
from ..context import Case
from ..nvidia.peer_access import COPIES, FIND_OUT, NO_PEERS, OWN_REFUSES, Access, Pair, Peers, peers
from .p2p_letters import after_the_model

__all__ = ["ALLOWED_BOARDS", "BY_CPU", "advice", "cost", "costs", "pairs_by_word", "without_peers"]

BY_CPU = ("PHB", "NODE", "SYS")
ALLOWED_BOARDS = "boards that the driver lets reach each other"
#: Where two GPUs are.
_PLACES = {
    "PIX": "below one PCIe switch",
    "PXB": "through several PCIe switches",
    "PHB": "through the CPU's host bridge",
    "NODE": "through the CPU, between host bridges of one NUMA node",
    "SYS": "through both CPUs and the link between the sockets, which all such pairs share: the slowest way",
    "NV": "joined by that many NVLinks: PCIe does not carry their traffic",
    "": "not told: between two host bridges, of which NUMA nodes the text says nothing (NODE or SYS), or below none",
}
_BELOW_SWITCH = "If ACS redirect is off, which this table does not show, the traffic does not reach the CPU"
_BELOW_CPU = " (41 to 53 GB/s at Gen5 x16, a load takes 1.4 us)"
#: What it costs: two boards at Gen5 x16, one way, and a load of 128 B from a peer (local-inference-lab/rtx6kpro
#: hardware/, 2026-05-17).
_FIGURES = {"PIX": " (52 to 57 GB/s at Gen5 x16, a load takes 0.7 us)", "PXB": " (speed as PIX; a load takes 0.7 us)",
            "PHB": _BELOW_CPU, "NODE": _BELOW_CPU}
#: What NCCL does there (src/graph/paths.cc of NCCL).
_NCCL_COPIES = "NCCL copies through host memory (SHM) there unless NCCL_P2P_LEVEL=SYS is set"
_NCCL_ON_AMD = f"{_NCCL_COPIES}; only on AMD CPUs with two GPUs it uses P2P by itself"
_BY_NCCL = {"PHB": _NCCL_ON_AMD, "NODE": _NCCL_ON_AMD, "SYS": _NCCL_COPIES}
_NO_PLACE = "neither a switch, a slot nor NCCL_P2P_LEVEL gives these boards peer access"
_NO_SETTING = "no variable of NCCL and no option of an engine gives these boards peer access"
_PLAN = "plan with copies through host memory, or with boards that support it"
#: The driver refuses them, and something else than the model is the reason.
_DRIVER_FIRST = Remedy("first what p2p-capability says: as long as the driver refuses peer access between these "
                       "boards, no closer place and no NCCL_P2P_LEVEL gives it to them")


def pairs_by_word(case: Case) -> dict[str, list[Pair]]:
    """Return the pairs of each relation, by the PCI tree, else by the driver's table."""
    told = [((pair.a, pair.b), pair.relation.value) for pair in case.snapshot.topology.pairs]
    table = case.snapshot.posted.table.value
    if table is not None and not any(word for _, word in told):
        told = [*table.relations.items()]
    found: dict[str, list[Pair]] = {}
    for pair, word in told:
        found.setdefault("NV" if word and word.startswith("NV") else word or "", []).append(pair)
    return found


def costs(case: Case) -> dict[str, str]:
    """Return what each relation means and costs on these boards, the closest first, "" where it is not told."""
    known, there = peers(case), pairs_by_word(case)
    return {word: cost(known, word, there.get(word) or known.pairs) for word in _PLACES}


def cost(known: Peers, word: str, pairs: Sequence[Pair]) -> str:
    """Return what a relation means and costs between these pairs."""
    place, access = _PLACES[word], known.over(pairs)
    if word in ("", "NV"):
        return place
    if access is Access.REFUSED:
        return f"{place}; {known.refusal(pairs)}: {COPIES}"
    if access is Access.PATCHED_ONLY:
        return f"{place}; {OWN_REFUSES}: {COPIES} there, unless a patched one is loaded"
    # No place is any closer to boards that are refused: what other boards have there is said of those alone.
    more = f". {_BELOW_SWITCH}" if word in ("PIX", "PXB") else ""
    return place + more + _FIGURES.get(word, "") + (f". {_BY_NCCL[word]}" if word in _BY_NCCL else "")


def advice(case: Case, gpus: int, words: Mapping[str, Sequence[Pair]], far: Sequence[Pair]) -> Remedy:
    """Return advice which GPUs are close: the tensor-parallel ranks of one model belong there. A switch helps only
    boards that the driver lets reach each other. ``far``: the pairs that it is about."""
    known = peers(case)
    near = [pair for word, pairs in words.items() if word in ("PIX", "PXB") or word.startswith("NV") for pair in pairs]
    linked = any(word.startswith("NV") for word in words)
    access = known.over(known.pairs)
    if access is Access.PATCHED_ONLY and not linked:
        return Remedy.of(f"{_NO_PLACE}: {OWN_REFUSES} (p2p-capability); {_PLAN}; ", *FIND_OUT.parts)
    if access is Access.REFUSED and not linked:
        if known.final(known.pairs):
            return Remedy(f"{_NO_PLACE}: {known.refusal(known.pairs)}, by their model (p2p-capability); {_PLAN}")
        if near:
            return _DRIVER_FIRST
    closer = _closer(gpus, [pair for pair in near if linked or known.of(*pair) not in NO_PEERS],
                     known.over(far) not in NO_PEERS)
    return after_the_model(closer) if access is Access.MODEL_UNKNOWN and not linked else closer


def without_peers(known: Peers) -> Remedy:
    """Return what to do where the driver refuses all pairs, or NVIDIA's own driver would (peer_access.NO_PEERS)."""
    if known.whole is Access.PATCHED_ONLY:
        return Remedy.of(f"{_NO_SETTING}: {OWN_REFUSES}; {_PLAN}; ", *FIND_OUT.parts)
    if known.final(known.pairs):
        return Remedy(f"{_NO_SETTING}: {known.refusal(known.pairs)}, by their model (p2p-capability); {_PLAN}")
    return Remedy(f"first what p2p-capability says: {_NO_SETTING} as long as {known.refusal(known.pairs)}")


def _closer(gpus: int, near: Iterable[Pair], allowed: bool) -> Remedy:
    """``allowed``: the driver may let far boards reach each other, too."""
    groups = _together(gpus, near)
    if groups:
        shown = " | ".join(", ".join(map(str, group)) for group in groups[:8])
        keep = ("keep a model's tensor-parallel GPUs inside one of these groups: {shown} (CUDA_VISIBLE_DEVICES with "
                "CUDA_DEVICE_ORDER=PCI_BUS_ID), or put the boards below one switch; where a model needs more GPUs than "
                "a group has: ")
        if not allowed:
            return Remedy.typed(keep + "the driver refuses peer access between groups (p2p-capability), so plan with "
                                "copies through host memory there", shown=shown)
        return Remedy.typed(keep + "set NCCL_P2P_LEVEL=SYS for the engine, and measure with it: "
                            "`sudo env NCCL_P2P_LEVEL=SYS tunecheck allreduce`; more: `tunecheck explain "
                            "allreduce-bus`", shown=shown)
    return Remedy.typed("measure what the way through the CPU costs here: `sudo tunecheck preflight --full`; a switch, "
                        "or slots below one, brings the boards closer")


def _together(count: int, near: Iterable[Pair]) -> list[list[int]]:
    group = {number: [number] for number in range(count)}
    for a, b in sorted(near):
        if group[a] is not group[b]:
            joined = sorted(group[a] + group[b])
            group |= dict.fromkeys(joined, joined)
    return [members for number, members in group.items() if members[0] == number and len(members) > 1]
