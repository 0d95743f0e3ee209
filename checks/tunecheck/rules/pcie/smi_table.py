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
from ..nvidia.peer_access import COPIES, NO_PEERS, OWN_REFUSES, Access, peers
from ..nvidia.posted_gpus import counted_names, given_names, nvlink_words
from .p2p_letters import ANY_TABLE, LETTER_WORDS, asks_for_a_place, code_of, explained, outcome_of, tell_which
from .relation_advice import ALLOWED_BOARDS, BY_CPU, advice, cost, costs

__all__ = ["absent_table", "by_word", "letters", "model_alone", "relations", "unasked", "undeclared"]

_SHOWN = 6
_AGAIN = Remedy.typed("on the box run `nvidia-smi topo -m`, and give all that it prints, as it is: a table that was "
                      "cut, or copied out of a web page or a chat and has lost its tabs, cannot be read")


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
    total, known = sum(map(len, words.values())), peers(case)
    for word, pairs in words.items():
        if word in BY_CPU:
            every = "every pair is" if len(pairs) == total else f"{len(pairs)} of {total} pairs are"
            code = "across-sockets" if word == "SYS" else "through-cpu"
            expected = ALLOWED_BOARDS if known.over(pairs) in NO_PEERS else \
                "PIX, PXB or NVLink between GPUs that work on one model"
            yield Finding(check, code, _names(pairs), "warn", "effective",
                          f"{every} {word}{where} ({_names(pairs)}); {word} is {cost(known, word, pairs)}", word,
                          expected, (source,), advice(case, gpus, words, pairs))


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


def letters(case: Case, check: str) -> Iterator[Finding]:
    """Yield the findings of p2p-capability by the tables of `nvidia-smi topo -p2p` alone."""
    # The names decide whether NVIDIA's driver refuses peers by model; without names that is open.
    names = given_names(case.snapshot)
    known = peers(case)
    boards = f" ({counted_names(names)})" if names else ""
    posted = case.snapshot.posted
    # What a benchmark measured is judged by itself; of every pair and every size only the trial tells.
    measured = "what a benchmark here measured is judged by bench-figures; " if (
        posted.benches or posted.tests) else ""
    more = measured + ("sudo tunecheck p2p measures every pair" if nvlink_words(case.snapshot) else
                       "the PCI tree, which would say how fast they can be, is not given; add: sudo lspci -nnvvv")
    given = case.snapshot.posted.letters
    for letter, table in given.items():
        source = f"nvidia-smi topo -p2p{'' if letter == '?' else ' ' + letter}"
        groups: dict[tuple[str, bool | None, bool], list[tuple[int, int]]] = {}
        for pair, word in sorted(table.items()):
            patchable = known.by_model(*pair)
            near = asks_for_a_place(word, patchable) and known.below_switch(*pair)
            groups.setdefault((word, patchable, near), []).append(pair)
        for (word, patchable, near), pairs in groups.items():
            kind = LETTER_WORDS[letter]
            shown = some([f"GPU{a}->GPU{b}" for a, b in pairs], 4)
            meaning, fix = explained(case, word, patchable, letter, near)
            if letter not in "rw?":
                # Atomics, NVLink and the property "p" are no condition of plain peer access.
                yield Finding(check, TREE_UNREAD, shown, "skip", "effective", f"{kind}: {shown}: {word}"
                              + (f" ({meaning})" if meaning and letter != "n" else ""), word, "", (source,))
            elif word == "OK":
                yield Finding(check, "not-proven", shown, "unknown", "effective",
                              f"whether transfers are right and fast is not known: the driver says OK for {kind} of "
                              f"{len(pairs)} of {len(table)} ordered pairs{boards}; {more}", word, "OK",
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
                              f"({meaning or 'the driver does not say'}): {COPIES} there", word, "OK", (source,), fix)


def model_alone(case: Case, check: str, asked: str, absence: Absence | None = Absence.NOT_IN_IMPORT
                ) -> Iterator[Finding]:
    """Yield the finding of p2p-capability where no table is given and NVIDIA's own driver refuses these boards; nothing
    where it does not. ``asked``: why there is no table."""
    known = peers(case)
    if known.pairs and known.whole is Access.PATCHED_ONLY:
        yield Finding(check, "own-driver-refuses", "pairs", "unknown", "effective",
                      f"{OWN_REFUSES}; whether a driver that is patched for it is loaded is not known: {asked}", "?",
                      "OK", ("nvidia-smi topo -p2p",), absence=absence)
