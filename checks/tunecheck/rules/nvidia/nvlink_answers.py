"""Whether two boards are joined by NVLink, as each source answers it: the table of `nvidia-smi topo -m`, that of
`nvidia-smi topo -p2p n`, the links of `nvidia-smi nvlink -s`, and NVML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...facts.nvidia.p2p import LETTERS
from ...parsers.pci.topology import RELATIONS
from ...util.at_first_use import dataclass
from ..context import Case

__all__ = ["Answer", "active", "answers"]

#: The driver does not know whether (U), or was told by a registry word to refuse (DR), which says nothing of links.
_NOT = ("NS", "CNS", "GNS", "TNS")
_NONE_UP = "no link up"


@dataclass(frozen=True)
class Answer:
    """What ``source`` says of two boards in its own ``word``; ``joined`` by NVLink or not."""

    source: str
    word: str
    joined: bool


def answers(case: Case, words: Mapping[tuple[int, int], str], source: str) -> dict[tuple[int, int], list[Answer]]:
    """Return what each source says of each pair of GPUs, by their numbers. ``words`` is the table of relations that
    ``source`` has."""
    found: dict[tuple[int, int], list[Answer]] = {}
    gpus = 1 + max((max(pair) for pair in words), default=-1)
    for pair, word in words.items():
        if word.startswith("NV") or word in RELATIONS:
            found.setdefault(pair, []).append(Answer(source, word, word.startswith("NV")))
    table = case.snapshot.posted.letters.get("n", {})
    if not gpus or gpus == 1 + max((max(pair) for pair in table), default=-1):
        split = _split(case)
        for (a, b), word in table.items():
            if a < b and not split & {a, b}:
                found.setdefault((a, b), []).extend(_by_letters("nvidia-smi topo -p2p n", word, table.get((b, a), "")))
    for pair, each in _by_nvml(case):
        found.setdefault(pair, []).append(each)
    idle = {gpu for gpu, links in case.snapshot.posted.links.items() if links and not any(links.values())}
    for pair in found:
        if idle & set(pair):
            found[pair].append(Answer("nvidia-smi nvlink -s", _NONE_UP, False))
    return found


def active(case: Case) -> dict[int, tuple[str, int]]:
    """Return how many NVLinks of each GPU are up, with who says it, by the GPU's number."""
    posted = {gpu: ("nvidia-smi nvlink -s", sum(links.values())) for gpu, links in case.snapshot.posted.links.items()}
    nvml, devices = case.snapshot.nvml.value, case.snapshot.topology.devices
    told = {}
    for number, device in enumerate(devices if nvml is not None else ()):
        gpu = nvml.gpu(device.bdf) if nvml is not None else None
        count = gpu.values.get("nvlinks_active") if gpu is not None else None
        if isinstance(count, int):
            told[number] = ("NVML", count)
    return {**told, **posted}


def _by_letters(source: str, *words: str) -> Iterator[Answer]:
    """Yield the answer of a table's two cells of one pair; none where they do not tell."""
    refused = next((word for word in words if word in _NOT), None)
    if refused is not None or set(words) == {"OK"}:
        yield Answer(source, refused or "OK", refused is None)


def _by_nvml(case: Case) -> Iterator[tuple[tuple[int, int], Answer]]:
    nvml = case.snapshot.nvml.value
    place = {device.bdf: number for number, device in enumerate(case.snapshot.topology.devices)}
    split, up = _split(case), active(case)
    for (a, b), values in nvml.pairs.items() if nvml is not None else ():
        pair, code = (place.get(a, -1), place.get(b, -1)), values.get("p2p_nvlink")
        if not 0 <= pair[0] < pair[1]:
            continue
        if any(up.get(gpu) == ("NVML", 0) for gpu in pair):
            yield pair, Answer("NVML", _NONE_UP, False)
        elif isinstance(code, int) and 0 <= code < len(LETTERS) and not split & set(pair):
            yield from ((pair, each) for each in _by_letters("NVML", LETTERS[code], LETTERS[code]))


def _split(case: Case) -> set[int]:
    """Return the GPUs that MIG has cut into instances, which never reach another's memory, by NVLink or else."""
    nvml = case.snapshot.nvml.value
    order = [device.bdf for device in case.snapshot.topology.devices] or [
        gpu.bdf for gpu in (nvml.gpus if nvml is not None else ())]
    return {order.index(gpu.bdf) for gpu in (nvml.gpus if nvml is not None else ())
            if gpu.values.get("mig_mode") == "enabled" and gpu.bdf in order}
