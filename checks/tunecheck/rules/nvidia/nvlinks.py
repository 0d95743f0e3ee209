"""NVLinks that are not up, by what nvidia-smi and NVML show of them: the tables of relations and of peer access by
NVLink, and the links of each board. Where two of them contradict each other, both are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...parsers.pci.topology import RELATIONS
from ...spec.boards import Board, board, board_named
from ...util.at_first_use import dataclass, regex
from ...util.text import some
from ..context import Case
from .nvlink_answers import Answer, active, answers
from .posted_gpus import given_names

__all__ = ["Fault", "always_switched", "faults"]

#: Boards that stand on NVSwitches, or on a base board that joins each with each other, by the driver's names for them.
_SWITCHED = regex(r"\bG?B[23]00\b|\bH(?:100 80GB HBM3|100 96GB HBM3|100 64GB HBM3|200|20|800)\b(?!.*(?:NVL|PCIe))"
                  r"|\bA[18]00-SXM")
#: No bridge joins more than two boards by so many links.
_BY_SWITCH = 12
#: Pairs are odd where they are at most one in so many: where the links may be a mesh's, and where they are a switch's.
_FEW, _FEW_SWITCHED = 4, 2
#: Four boards without a switch share their links among three neighbours.
_MESH = 4
#: Of these links the inactive ones are named one by one.
_STATUS = "nvidia-smi nvlink -s"
#: What each board has since Hopper; eight of them are joined by switches only.
_ALL, _WHOLE_BOX = 18, 8
_SINCE_HOPPER = regex(r"\bG?B[23]00\b|\bH\d{2,3}\b")


@dataclass(frozen=True)
class Fault:
    """NVLinks that are not up. ``code`` is the finding's, ``subject`` the GPUs."""

    code: str
    subject: str
    text: str
    observed: str
    expected: str
    source: str


def always_switched(name: object) -> bool:
    """Return whether a board of this name always has NVLinks to its neighbours."""
    return isinstance(name, str) and _SWITCHED.search(name) is not None


def faults(case: Case) -> Iterator[Fault]:
    """Yield what the texts show of links that are down."""
    labels, words, names, source = _table(case)
    inactive = {gpu for gpu, links in case.snapshot.posted.links.items() if not all(links.values())}
    if len(labels) > 1 and words:
        up = active(case)
        apart = _disagreeing(words, up, inactive)
        yield from _of_table(labels, words, names, source, inactive.union(*apart))
        if apart:
            yield _disagree(apart, up, source)
    told = answers(case, words, source)
    gpus = 1 + max((max(pair) for pair in told), default=-1)
    yield from _of_answers(told, set(_switched(gpus, words, names or given_names(case.snapshot))))
    for gpu, links in case.snapshot.posted.links.items():
        down = [str(number) for number, up in links.items() if not up]
        if down:
            yield Fault("links-down", f"GPU{gpu}", f"GPU{gpu}: {len(down)} of {len(links)} NVLinks are inactive: "
                        f"{some(down, 8)}", f"{len(down)} inactive", "every NVLink up", "nvidia-smi nvlink -s")
    if counted := case.snapshot.posted.link_errors:
        yield Fault("links-count-errors", "NVLinks", "NVLinks count errors since the driver was loaded: "
                    f"{some(counted, 4)}; what is sent once more costs bandwidth", f"{len(counted)} counters",
                    "every counter 0", "nvidia-smi nvlink -e")


def _table(case: Case) -> tuple[Sequence[str], Mapping[tuple[int, int], str], list[str], str]:
    """Return the GPUs, the word between each two, their names (fewer where they are not told), and who says it."""
    devices, told = case.snapshot.topology.devices, case.snapshot.topo_text.value
    nvml = case.snapshot.nvml.value
    if devices and told is not None:
        place = {device.bdf: number for number, device in enumerate(devices)}
        words = {(place[a], place[b]): word for (a, b), word in told.relations.items()
                 if a in place and b in place and place[a] < place[b]}
        names = []
        for device in devices:
            gpu, known = nvml.gpu(device.bdf) if nvml else None, board(device.ids)
            linked = known is not None and known.p2p == "nvlink"
            names.append(str(gpu.values.get("name", "")) if gpu else known.name if known and linked else "")
        return [f"GPU{number} {device.bdf}" for number, device in enumerate(devices)], words, names, \
            "nvidia-smi topo -m"
    table = case.snapshot.posted.table.value
    if table is None or table.source.startswith("lspci"):
        return (), {}, [], ""
    return [f"GPU{number}" for number in range(len(table.labels))], table.relations, given_names(case.snapshot), \
        table.source


def _of_table(labels: Sequence[str], words: Mapping[tuple[int, int], str], names: list[str],
              source: str, told: set[int]) -> Iterator[Fault]:
    """Yield what the table shows. ``told``: GPUs of which `nvidia-smi nvlink -s` says which links are down, or that
    these are more than the table has."""
    count = _counts(words)
    switched = _switched(len(labels), words, names)
    if not switched and not any(count.values()):
        return      # a box without NVLink, which is most of them
    each = {gpu: [links for pair, links in count.items() if gpu in pair] for gpu in range(len(labels))}
    lost = [gpu for gpu in switched if not any(each[gpu])]
    apart = [pair for pair, links in count.items() if not links and set(pair) <= set(switched)
             and not set(pair) & set(lost)]
    if lost and len(switched) > 1:
        who = some([labels[gpu] for gpu in lost], 8)
        yield Fault("nvlink-lost", ", ".join(f"GPU{gpu}" for gpu in lost), f"no NVLink to any other GPU in "
                    f"{source}, though boards like these are joined by NVLink: {who}", "no NVLink",
                    "NVLink to every other GPU", source)
    if apart:
        pairs = some([f"GPU{a}-GPU{b}" for a, b in apart], 6)
        yield Fault("nvlink-lost", pairs, f"not joined by NVLink in {source}, though boards like these are: {pairs}",
                    "no NVLink", "NVLink between every pair", source)
    rest = {gpu: max((links for pair, links in count.items() if gpu in pair and not set(pair) & set(lost)), default=0)
            for gpu in each if gpu not in lost}
    pairs_left = {pair: links for pair, links in count.items() if not set(pair) & set(lost)}
    # A switch gives each pair as many links as both have. Meshes without one, with 1 or 2 links a pair, do not fit.
    if not pairs_left or any(not links or links != min(rest[a], rest[b]) for (a, b), links in pairs_left.items()):
        yield from _odd(pairs_left, source)
        return
    most = max(rest.values())
    if len(switched) >= _WHOLE_BOX and len(names) == len(labels) and all(_SINCE_HOPPER.search(name) for name in names):
        most = max(most, _ALL)
    whole = _of_board(names, len(labels))
    if whole and whole.nvlinks and not (len(labels) <= _MESH and set(rest.values()) == {whole.nvlinks // (_MESH - 1)}):
        most = max(most, whole.nvlinks)
    if len(labels) == 2 and max(rest.values(), default=most) < most:
        # Either may be the one that has lost links: a pair has as many as both have.
        if not told:
            yield Fault("fewer-links", "GPU0-GPU1", f"{max(rest.values())} NVLinks between {labels[0]} and {labels[1]} "
                        f"in {source}, not {most} as boards like these have", f"NV{max(rest.values())}", f"NV{most}",
                        source)
        return
    fewer: dict[int, list[int]] = {}
    for gpu, links in rest.items():
        if links < most:
            fewer.setdefault(links, []).append(gpu)
    for links, all_gpus in fewer.items():
        gpus = [gpu for gpu in all_gpus if gpu not in told]
        if not gpus:
            continue
        yield Fault("fewer-links", ", ".join(f"GPU{gpu}" for gpu in gpus),
                    f"{links} NVLinks in {source}, not {most} as "
                    f"{'the others have' if most in rest.values() else 'boards like these have'}: "
                    f"{some([labels[gpu] for gpu in gpus], 8)}", f"NV{links}",
                    f"NV{most}", source)


def _counts(words: Mapping[tuple[int, int], str]) -> dict[tuple[int, int], int]:
    return {pair: int(word[2:]) if word[:2] == "NV" and word[2:].isdigit() else 0 for pair, word in words.items()}


def _switched(gpus: int, words: Mapping[tuple[int, int], str], names: Sequence[str]) -> list[int]:
    """Return the GPUs that are always joined by NVLink: by their names, or by more links than bridges have."""
    if any(sum(links >= _BY_SWITCH for pair, links in _counts(words).items() if gpu in pair) > 1
           for gpu in range(gpus)):
        return list(range(gpus))
    if len(names) == gpus:
        return [gpu for gpu in range(gpus) if always_switched(names[gpu])]
    return list(range(gpus)) if names and all(map(always_switched, names)) else []


def _of_answers(told: Mapping[tuple[int, int], list[Answer]], switched: set[int]) -> Iterator[Fault]:
    """Yield what sources beside the table of relations show: boards that are always joined are not, or one source says
    that two boards are joined by NVLink and another that they are not."""
    lost: dict[Answer, list[tuple[int, int]]] = {}
    apart: dict[tuple[Answer, Answer, bool], list[tuple[int, int]]] = {}
    for pair, every in told.items():
        yes, no = (next((each for each in every if each.joined is joined), None) for joined in (True, False))
        always = set(pair) <= switched
        if yes and no:
            apart.setdefault((yes, no, always), []).append(pair)
        elif no and always and no.word not in RELATIONS and no.source != _STATUS:
            lost.setdefault(no, []).append(pair)
    for no, pairs in lost.items():
        shown = some([f"GPU{a}-GPU{b}" for a, b in pairs], 6)
        yield Fault("nvlink-lost", shown, f"not joined by NVLink: {no.source} says {no.word}, though boards like these "
                    f"always are: {shown}", no.word, "NVLink between every pair", no.source)
    for (yes, no, always), pairs in apart.items():
        shown = some([f"GPU{a}-GPU{b}" for a, b in pairs], 6)
        like = ", and boards like these always are" if always else ""
        yield Fault("nvlink-refused" if always else "nvlink-disputed", shown,
                    f"whether boards are joined by NVLink has two answers: {yes.source} says that they are "
                    f"({yes.word}), {no.source} that they are not ({no.word}){like}: {shown}",
                    f"{yes.word} and {no.word}", "one answer", no.source)


def _of_board(names: Sequence[str], gpus: int) -> Board | None:
    """Return the board that all GPUs are, by the driver's name for it or by this package's. None where they differ, or
    it is not known."""
    known = {board_named(name) for name in names}
    return known.pop() if len(names) == gpus and len(known) == 1 else None


def _disagreeing(words: Mapping[tuple[int, int], str], up: Mapping[int, tuple[str, int]], inactive: set[int]
                 ) -> dict[tuple[int, int], int]:
    """Return the pairs that have fewer links in the table than are up on both, or more than are up on one, and how
    many. So many links as a switch or a bridge gives leave none of them over for other boards. Of the GPUs in
    ``inactive`` it is told which links are down."""
    found = {}
    for pair, links in _counts(words).items():
        least = min(up[gpu][1] if gpu in up else 0 for gpu in pair)
        if links and least and (_BY_SWITCH <= links < least or (links > least and not inactive & set(pair))):
            found[pair] = links
    return found


def _disagree(apart: Mapping[tuple[int, int], int], up: Mapping[int, tuple[str, int]], source: str) -> Fault:
    (a, b), links = next(iter(apart.items()))
    (who, least), = sorted((up[gpu] for gpu in (a, b)), key=lambda each: each[1])[:1]
    more = f" (and {len(apart) - 1} more pairs likewise)" if len(apart) > 1 else ""
    where = "on both" if up[a][1] == up[b][1] else "on one of them"
    where = "on both" if links < least else where
    return Fault("links-disagree", some([f"GPU{a}-GPU{b}" for a, b in apart], 6), f"{source} says NV{links} between "
                 f"GPU{a} and GPU{b}, and {who} shows {least} links up {where}{more}: the two are "
                 "not of one moment, or not of one machine", f"NV{links}", f"NV{least}", source)


def _odd(count: Mapping[tuple[int, int], int], source: str) -> Iterator[Fault]:
    """Yield the pairs that have fewer links than nearly all others. Whatever the board, that is no design: a mesh has
    pairs without a link, or about as many of one kind as of the other."""
    if not count or not all(count.values()):
        return
    usual, times = Counter(count.values()).most_common(1)[0]
    odd = [pair for pair, links in count.items() if links < usual]
    few = _FEW_SWITCHED if usual >= _BY_SWITCH else _FEW
    if times + len(odd) < len(count) or len(odd) * few > len(count):
        return
    pairs = some([f"GPU{a}-GPU{b} (NV{count[a, b]})" for a, b in odd], 6)
    yield Fault("odd-pair", some([f"GPU{a}-GPU{b}" for a, b in odd], 6), f"fewer NVLinks in {source} than NV"
                f"{usual} of the {times} other pairs: {pairs}", some(sorted({f"NV{count[pair]}" for pair in odd}), 4),
                f"NV{usual}", source)
