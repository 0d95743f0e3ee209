"""NVLinks that are not up, by what nvidia-smi shows of them: its table of relations, and `nvidia-smi nvlink -s`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...spec.boards import Board, board, board_named
from ...util.at_first_use import dataclass, regex
from ...util.text import some
from ..context import Case
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
    up = {gpu: sum(links.values()) for gpu, links in case.snapshot.posted.links.items()}
    if len(labels) > 1 and words:
        apart = _disagreeing(words, up)
        inactive = {gpu for gpu, links in case.snapshot.posted.links.items() if not all(links.values())}
        yield from _of_table(labels, words, names, source, inactive.union(*apart))
        if apart:
            yield _disagree(apart, up, source)
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
    count = {pair: int(word[2:]) if word[:2] == "NV" and word[2:].isdigit() else 0 for pair, word in words.items()}
    switched = [gpu for gpu in range(len(labels)) if len(names) == len(labels) and always_switched(names[gpu])]
    if len(names) != len(labels) and names and all(map(always_switched, names)):
        switched = list(range(len(labels)))
    if not switched and not any(count.values()):
        return      # a box without NVLink, which is most of them
    each = {gpu: [links for pair, links in count.items() if gpu in pair] for gpu in range(len(labels))}
    if any(sum(links >= _BY_SWITCH for links in row) > 1 for row in each.values()):
        switched = list(each)
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


def _of_board(names: Sequence[str], gpus: int) -> Board | None:
    """Return the board that all GPUs are, by the driver's name for it or by this package's. None where they differ, or
    it is not known."""
    known = {board_named(name) for name in names}
    return known.pop() if len(names) == gpus and len(known) == 1 else None


def _disagreeing(words: Mapping[tuple[int, int], str], up: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Return the pairs that have fewer links in the table than are up on both, and how many. So many links lead through
    switches or a bridge, which leave none of them over for other boards."""
    return {pair: int(word[2:]) for pair, word in words.items() if word[:2] == "NV" and word[2:].isdigit()
            and _BY_SWITCH <= int(word[2:]) < min(up.get(gpu, 0) for gpu in pair)}


def _disagree(apart: Mapping[tuple[int, int], int], up: Mapping[int, int], source: str) -> Fault:
    (a, b), links = next(iter(apart.items()))
    least = min(up[a], up[b])
    more = f" (and {len(apart) - 1} more pairs likewise)" if len(apart) > 1 else ""
    return Fault("links-disagree", some([f"GPU{a}-GPU{b}" for a, b in apart], 6), f"{source} says NV{links} between "
                 f"GPU{a} and GPU{b}, and nvidia-smi nvlink -s shows {least} links up on both{more}: the two texts are "
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
