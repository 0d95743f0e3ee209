"""The tables of an import that has no PCI tree, what relations and letters mean, and what an import
shows, in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ..facts.posted import Channel
from ..facts.snapshot import Snapshot
from ..rules.context import Case
from ..rules.nvidia.posted_gpus import counted_names, given_names, gpu_count, maybe_more
from ..rules.pcie.p2p_letters import LETTER_WORDS, letter_meaning
from ..rules.pcie.relation_advice import costs
from ..util.text import and_more
from .tree import in_place_of_tree, square

__all__ = ["legend", "meanings", "posted_lines", "refused", "seen"]

Drawn = Callable[[int, Mapping[tuple[int, int], str], int], list[str]]


def posted_lines(case: Case, width: int, square: Drawn = square, short: bool = False) -> list[str]:
    """Return the lines of these tables: the matrix of nvidia-smi where the tree does not give it, and every table of
    `nvidia-smi topo -p2p`, each with its source; then NCCL's ring and the GPUs of `nvidia-smi -L`. ``square`` draws a
    table; ``short``: what its words mean is left out where the tree tells the ways as well."""
    snapshot = case.snapshot
    posted, lines = snapshot.posted, list[str]()
    table = posted.table.value
    if table is not None and (in_place_of_tree(snapshot) or snapshot.topo_text.value is None):
        lines += [f"{table.source}:", *square(len(table.labels), table.relations, width), ""]
        lines += [*(f"GPU{number} {bdf}" for number, bdf in enumerate(table.labels) if bdf)]
        lines += [""] if any(table.labels) else []
        lines += [*legend(case, table.relations.values()), ""] if not short or in_place_of_tree(snapshot) else [""]
    for letter, words in posted.letters.items():
        count = len({a for a, _ in words})
        source = f"nvidia-smi topo -p2p{'' if letter == '?' else ' ' + letter}"
        lines += [f"{source}: {LETTER_WORDS[letter]}", *square(count, words, width), ""]
        lines += [*meanings(words.values(), letter), ""]
    if posted.names and not snapshot.topology.devices:
        lines += [*(f"GPU{number} {name}" for number, name in posted.names), ""]
    if posted.modules is not None:
        found = [name for name in posted.modules.modules if name.startswith(("nvidia", "nouveau", "nova"))]
        named = f"{', '.join(found)} loaded" if found else "no module of a GPU driver is in the text"
        lines += [f"lsmod: {named}", ""]
    if posted.module:
        flavour = "open" if "MIT" in posted.module.get("license", "") else "proprietary"
        built = posted.module.get("vermagic", "").split(" ")[0]
        lines += [f"modinfo: {posted.module.get('filename', 'nvidia')} is version {posted.module.get('version', '?')}, "
                  f"{flavour}" + (f", built for kernel {built}" if built else "") + "; it is the file on disk, which "
                  "need not be the loaded module (cat /proc/driver/nvidia/version)", ""]
    for log in posted.nccl:
        lines += [f"NCCL {log.version or '?'}: {log.ranks or '?'} rank{'' if log.ranks == 1 else 's'}"
                  + (f" on {log.nodes} node{'s' * (log.nodes > 1)}" if log.nodes else "")
                  + (f", ring {' '.join(map(str, log.ring))}" if log.ring else "")]
        lines += [*(f"  {ways}" for ways in _ways(log.channels)), ""]
    return lines


def _ways(channels: Iterable[Channel]) -> list[str]:
    """Return one line for each transport, with the pairs of ranks that use it: ``via P2P/CUMEM: 0->1, 1->0``."""
    groups: dict[str, list[str]] = {}
    for channel in channels:
        groups.setdefault(f"{channel.way}{channel.how}", []).append(
            f"{channel.a}->{channel.b}")
    return [f"via {way}: {', '.join(dict.fromkeys(pairs[:16]))}" + and_more(len(pairs) - 16)
            for way, pairs in groups.items()]


def legend(case: Case, words: Iterable[str]) -> list[str]:
    """Return one line for each relation that occurs: what it means and costs on these boards."""
    cost = costs(case)
    there = list(dict.fromkeys("NV" if word.startswith("NV") else word for word in words))
    return [f"{'NV#' if word == 'NV' else word or '?'} = {cost[word]}" for word in cost if word in there]


def meanings(letters: Iterable[str], table: str) -> list[str]:
    """Return one line for each letter that occurs in this table of LETTER_WORDS: what it means."""
    return [f"{word} = {letter_meaning(word, table)}" for word in dict.fromkeys(letters)]


def seen(case: Case) -> str:
    """Return what the texts of an import show: ``8 x NVIDIA H100 80GB HBM3, NV18 between every pair, driver 580.65``.
    "" where they show no GPU."""
    count, names = gpu_count(case), given_names(case.snapshot)
    if not count:
        return ""
    table, host = case.snapshot.posted.table.value, case.snapshot.host
    part = maybe_more(case) or (table is not None and table.cut) or count in case.snapshot.posted.least.values()
    least = "at least " if part else ""
    # Names of fewer or more boards than there are would count them, too.
    gpus = counted_names(names) if len(names) == count else f"{count} GPU{'s' * (count > 1)}"
    version = host.driver.version.value if host is not None else None
    joined = _joined(case.snapshot, count)
    parts = [f"{least}{gpus}", *([joined] if joined else []), *refused(case.snapshot)]
    return ", ".join([*parts, *([f"driver {version}"] if version else [])])


def refused(snapshot: Snapshot) -> list[str]:
    """Return what tables of `nvidia-smi topo -p2p` refuse of plain peer access, one text a table: ``12 of 56 ordered
    pairs are CNS for reads``. Of atomics, NVLink and the property "p" it needs none."""
    texts = []
    for letter in ("r", "w", "?"):
        words = Counter(snapshot.posted.letters.get(letter, {}).values())
        kinds = [(word, count) for word, count in words.items() if word != "OK"]
        every = len(words) == 1
        told = [f"every pair is {word}" if every else f"{count} of {words.total()} ordered pairs are {word}"
                for word, count in kinds]
        where = " (of what, the text does not say)" if letter == "?" else \
            f" for {LETTER_WORDS[letter]}"
        texts += [f"{' and '.join(told)}{where}"] if told else []
    return texts


def _joined(snapshot: Snapshot, count: int) -> str:
    """Return how the GPUs are joined, where that is known of every pair: ``NV18 between every pair``."""
    table = snapshot.posted.table.value
    words = [pair.relation.value or "" for pair in snapshot.topology.pairs]
    if in_place_of_tree(snapshot) and table is not None and not table.cut:
        words = list(table.relations.values())
    kinds = [word for word in dict.fromkeys(words) if word.strip("?")]
    if count < 2 or not kinds or not all(word.strip("?") for word in words):
        return ""
    return f"{kinds[0]} between every pair" if len(kinds) == 1 else f"{', '.join(kinds)} between pairs"
