"""What nvidia-smi's tables show where the PCI tree is not known: GPUs have numbers there and no addresses.

The table is the driver's word about the relations, and shows neither links nor ACS. So what it says can fail a
declaration; it never makes a pass, as half of a machine's evidence must not look better than all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...facts.posted import Table
from ...model.fact import Absence
from ...model.finding import Finding, Place, Remedy
from ...parsers.pci.topology import RELATIONS, within
from ...util.text import some
from ..codes import NO_PAIR, NOT_DECLARED, TREE_UNREAD, VIRTUAL_PORTS
from ..context import Case
from ..nvidia.nvlinks import faults
from ..nvidia.posted_gpus import counted_names, given_names, gpu_count, nvlink_words
from .p2p_letters import (
    ANY_TABLE,
    LETTER_WORDS,
    NO_SWITCH_HELPS,
    after_the_model,
    code_of,
    explained,
    outcome_of,
    peers_refused,
    refused_by_name,
    tell_which,
)

__all__ = ["absent_table", "by_word", "costs", "letters", "relations", "unasked", "undeclared"]

#: What each relation means for peer traffic.
_WAYS = {
    "PIX": "below one PCIe switch. If ACS redirect is off, which this table does not show, the traffic does not reach "
           "the CPU",
    "PXB": "through several PCIe switches. If ACS redirect is off, which this table does not show, the traffic does "
           "not reach the CPU",
    "PHB": "through the CPU's host bridge",
    "NODE": "through the CPU, between host bridges of one NUMA node",
    "SYS": "through both CPUs and the link between the sockets, which all such pairs share: the slowest way",
    "NV": "joined by that many NVLinks: PCIe does not carry their traffic",
    "": "not told: between two host bridges, of which NUMA nodes the text says nothing (NODE or SYS), or below none",
}
_BELOW_CPU = " (41 to 53 GB/s at Gen5 x16, a load takes 1.4 us)"
#: What it costs: two boards at Gen5 x16, one way, and a load of 128 B from a peer (local-inference-lab/rtx6kpro
#: hardware/, 2026-05-17).
_FIGURES = {"PIX": " (52 to 57 GB/s at Gen5 x16, a load takes 0.7 us)", "PXB": " (speed as PIX; a load takes 0.7 us)",
            "PHB": _BELOW_CPU, "NODE": _BELOW_CPU}
#: What NCCL does there (src/graph/paths.cc of NCCL).
_NCCL_COPIES = "NCCL copies through host memory (SHM) there unless NCCL_P2P_LEVEL=SYS is set"
_NCCL_ON_AMD = f"{_NCCL_COPIES}; only on AMD CPUs with two GPUs it uses P2P by itself"
_BY_NCCL = {"PHB": _NCCL_ON_AMD, "NODE": _NCCL_ON_AMD, "SYS": _NCCL_COPIES}
_BY_DRIVER = "NVIDIA's own driver refuses peer-to-peer on these boards: CUDA and NCCL copy through host memory (SHM)"
_SHOWN = 6
_BY_CPU = ("PHB", "NODE", "SYS")
_AGAIN = Remedy.typed("on the box run `nvidia-smi topo -m`, and give all that it prints, as it is: a table that was "
                      "cut, or copied out of a web page or a chat and has lost its tabs, cannot be read")


def costs(case: Case) -> dict[str, str]:
    """Return what each relation means and costs on these boards, the closest first, "" where it is not told."""
    if _refused(case):
        # No place is any closer to them, and no setting of NCCL: what other boards would have there is not theirs.
        return {word: way + (f". {_BY_DRIVER}" if word in _BY_CPU else "") for word, way in _WAYS.items()}
    return {word: way + _FIGURES.get(word, "") + (f". {_BY_NCCL[word]}" if word in _BY_NCCL else "")
            for word, way in _WAYS.items()}


def _refused(case: Case) -> bool | None:
    """Whether NVIDIA's own driver refuses peer-to-peer between these boards; None where their model is not known."""
    return peers_refused(case, given_names(case.snapshot), gpu_count(case))


def absent_table(case: Case) -> bool:
    """Whether no text has a table of relations. A table that cannot be read counts as one."""
    fact = case.snapshot.posted.table
    return fact.value is None and fact.absence is Absence.NOT_IN_IMPORT


def _names(pairs: list[tuple[int, int]]) -> str:
    """Return pairs of GPUs as text: ``GPU0-GPU1, GPU0-GPU2 and 3 more``."""
    return some([f"GPU{a}-GPU{b}" for a, b in pairs], _SHOWN)


def by_word(table: Table) -> dict[str, list[tuple[int, int]]]:
    """Return the pairs of each relation, the closest relation first."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for pair, word in table.relations.items():
        pairs.setdefault(word, []).append(pair)
    order = (*RELATIONS, "")
    return dict(sorted(pairs.items(), key=lambda item: (-1, item[0]) if item[0].startswith("NV") else
                       (order.index(item[0]), "")))


def relations(case: Case, check: str) -> Iterator[Finding]:
    """Yield the findings of topo-relation by the table alone."""
    fact = case.snapshot.posted.table
    table = fact.value
    if table is None:
        yield Finding(check, "table-unread", "pairs", "unknown", "effective",
                      f"the table of relations cannot be used: {fact.why()}",
                      evidence=(fact.source,), remedy=_AGAIN, absence=fact.absence)
        return
    if len(table.labels) < 2 and not table.cut:
        yield Finding(check, NO_PAIR, "pairs", "skip", "effective", f"one GPU in {table.source}: no pair to judge")
        return
    words = by_word(table)
    if case.frozen is None and any(each.code == "nvlink-lost" for each in faults(case)):
        # The way by PCIe that is left is no layout to judge: fabric-state says what is wrong.
        yield Finding(check, "nvlink-lost", "pairs", "skip", "effective", f"in {table.source} GPUs that are always "
                      "joined by NVLink are not (fabric-state)", evidence=(table.source,))
        return
    seen = "; ".join(f"{len(pairs)} {word or '?'}" for word, pairs in words.items())
    wanted = case.spec.accelerators.relation or case.spec.accelerators.groups.across
    if wanted is not None:
        bad = {word: pairs for word, pairs in words.items() if word in RELATIONS and not within(word, wanted)}
        for word, pairs in bad.items():
            yield Finding(check, "farther-than-declared", _names(pairs), "fail", "effective", f"{_names(pairs)} "
                          f"{'is' if len(pairs) == 1 else 'are'} {word} in {table.source}", word,
                          f"{wanted} or closer", (table.source,), Remedy("move the boards below one switch, or state "
                          "the relation this machine really has in box_spec.accelerators.relation",
                          place=Place.MACHINE))
        if not bad:
            yield Finding(check, "tree-not-given", "pairs", "unknown", "effective",
                          f"the PCI tree itself is not given; add: sudo lspci -nnvvv; no pair is farther than "
                          f"{wanted} in {table.source} ({seen})", seen,
                          f"{wanted} or closer", (table.source,))
        return
    if case.spec.accelerators.groups.inside is not None:
        yield Finding(check, "groups-unknown", "groups", "unknown", "effective", f"found in {table.source}: {seen}; "
                      "the PCI tree tells which accelerators form a group, and is not given; add: sudo lspci -nnvvv",
                      seen, "", (table.source,), absence=Absence.NOT_IN_IMPORT)
        return
    far = list(undeclared(case, check, words, len(table.labels), f" in {table.source}", table.source))
    yield from far
    if not far:
        (code, why), outcome = unasked(case), "skip"
        text = f"found in {table.source}: {seen}"
        text = f"{text}; {costs(case)['']}" if "" in words else f"{why}; {text}"
        if "" in words:
            code, outcome = "relation-unknown", "unknown"
        yield Finding(check, code, "pairs", outcome, "effective", text, seen, "", (table.source,))


def undeclared(case: Case, check: str, words: Mapping[str, list[tuple[int, int]]], gpus: int, where: str,
               source: str) -> Iterator[Finding]:
    """Yield findings about pairs that are known to be slow, where no specification says how close the GPUs are meant to
    be. It serves the driver's table and the PCI tree alike. ``words``: the pairs of each relation, by the numbers of
    their GPUs. The tree of a virtual machine is made up, so neither it nor a table made of it tells of a slow way."""
    if case.frozen is not None or case.guest:
        return
    total, cost = sum(map(len, words.values())), costs(case)
    expected = "boards that the driver lets reach each other" if _refused(case) else \
        "PIX, PXB or NVLink between GPUs that work on one model"
    for word, pairs in words.items():
        if word in _BY_CPU:
            every = "every pair is" if len(pairs) == total else f"{len(pairs)} of {total} pairs are"
            code = "across-sockets" if word == "SYS" else "through-cpu"
            yield Finding(check, code, _names(pairs), "warn", "effective",
                          f"{every} {word}{where} ({_names(pairs)}); {word} is {cost[word]}", word,
                          expected, (source,), _advice(case, gpus, words))


def unasked(case: Case, nvlink: bool = False) -> tuple[str, str]:
    """Return the code and the reason of a finding that judges no relation: nobody asked for one, and undeclared() told
    of no slow way. ``nvlink``: the boards have NVLinks, and the tree shows PCIe alone."""
    if case.frozen is not None:
        return NOT_DECLARED, "the spec asks for no relation"
    if case.guest:
        return VIRTUAL_PORTS, ("not judged: this is a virtual machine, and its hypervisor made this PCI tree up; what "
                               "a transfer reaches, sudo tunecheck p2p measures")
    if nvlink:
        return "nvlink-not-in-tree", ("not judged: these boards have NVLinks, and the PCI tree does not show which way "
                                      "their traffic goes (fabric-state)")
    return NOT_DECLARED, "no spec asks for a relation, and no way is known to go through the CPU"


def _advice(case: Case, gpus: int, words: Mapping[str, list[tuple[int, int]]]) -> Remedy:
    """Return advice which GPUs are close: the tensor-parallel ranks of one model belong there. A switch helps only
    boards that the driver lets reach each other."""
    linked = any(word.startswith("NV") for word in words)
    refused = False if linked else _refused(case)
    if refused:
        return NO_SWITCH_HELPS
    advice = _closer(gpus, words)
    return after_the_model(advice) if refused is None else advice


def _closer(gpus: int, words: Mapping[str, list[tuple[int, int]]]) -> Remedy:
    near = {pair for word, pairs in words.items() if word in ("PIX", "PXB") or word.startswith("NV") for pair in pairs}
    groups = _together(gpus, near)
    if groups:
        shown = " | ".join(", ".join(map(str, group)) for group in groups[:8])
        return Remedy.typed(
            "keep a model's tensor-parallel GPUs inside one of these groups: {shown} (CUDA_VISIBLE_DEVICES with "
            "CUDA_DEVICE_ORDER=PCI_BUS_ID), or put the boards below one switch; where a model needs more GPUs than a "
            "group has: set NCCL_P2P_LEVEL=SYS and measure: `tunecheck explain allreduce-bus`", shown=shown)
    return Remedy.typed("measure what the way through the CPU costs here: `sudo tunecheck preflight --full`; a switch, "
                        "or slots below one, brings the boards closer")


def _together(count: int, near: set[tuple[int, int]]) -> list[list[int]]:
    group = {number: [number] for number in range(count)}
    for a, b in sorted(near):
        if group[a] is not group[b]:
            joined = sorted(group[a] + group[b])
            group |= dict.fromkeys(joined, joined)
    return [members for number, members in group.items() if members[0] == number and len(members) > 1]


def letters(case: Case, check: str) -> Iterator[Finding]:
    """Yield the findings of p2p-capability by the tables of `nvidia-smi topo -p2p` alone."""
    # The names decide whether NVIDIA's driver refuses peers by model; without names that is open.
    names = given_names(case.snapshot)
    patchable = refused_by_name(names, gpu_count(case))
    boards = f" ({counted_names(names)})" if names else ""
    more = "only sudo tunecheck p2p can tell" if nvlink_words(case.snapshot) else \
        "the PCI tree is not given, either; add: sudo lspci -nnvvv"
    given = case.snapshot.posted.letters
    for letter, table in given.items():
        source = f"nvidia-smi topo -p2p{'' if letter == '?' else ' ' + letter}"
        by_letter: dict[str, list[tuple[int, int]]] = {}
        for pair, word in sorted(table.items()):
            by_letter.setdefault(word, []).append(pair)
        for word, pairs in by_letter.items():
            kind = LETTER_WORDS[letter]
            shown = some([f"GPU{a}->GPU{b}" for a, b in pairs], 4)
            meaning, fix = explained(case, word, patchable, letter)
            if letter not in "rw?":
                # Atomics, NVLink and the property "p" are no condition of plain peer access.
                yield Finding(check, TREE_UNREAD, shown, "skip", "effective", f"{kind}: {shown}: {word}"
                              + (f" ({meaning})" if meaning and letter != "n" else ""), word, "", (source,))
            elif word == "OK":
                yield Finding(check, "not-proven", shown, "unknown", "effective",
                              f"whether transfers are right and fast is not measured; {more}; the driver says "
                              f"OK for {kind} of {len(pairs)} of {len(table)} ordered pairs{boards}", word, "OK",
                              (source,), tell_which(given) if letter == "?" else None)
            elif letter == "?":
                # NS stands in the tables of atomics, NVLink and the property "p" of boards that copy directly.
                yield Finding(check, "table-not-told", shown, "unknown", "effective",
                              f"a table of nvidia-smi topo -p2p is given without its letter; {word} stands in it at "
                              f"{shown}; it may be about {ANY_TABLE}", word, "OK", (source,), tell_which(given))
            else:
                outcome = outcome_of(case, word, patchable)
                yield Finding(check, code_of(case, word, patchable), shown, outcome, "effective",
                              f"{kind}: {shown}: {word} "
                              f"({meaning or 'the driver does not say'}): CUDA and NCCL copy through host memory "
                              "there", word, "OK", (source,), fix)
