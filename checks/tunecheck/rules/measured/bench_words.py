"""What the parts of bench-figures share: names of tables, pairs as text, and where to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...facts.peer_paths import PairPath, paths
from ...parsers.nvidia.bench_grids import Bench
from ...util.at_first_use import dataclass
from ...util.text import some
from ..context import Case

__all__ = ["KINDS", "Pair", "Places", "pairs_text", "span"]

KINDS = (("one way", "both ways"), ("write", "both write"), ("read", "both read"))

Pair = tuple[int, int]


@dataclass(frozen=True)
class Places:
    """Where the GPUs of a benchmark are: ``number`` maps their numbers there to those of the PCI tree, ``ways`` the
    numbers of the tree to the way between two of them."""

    number: Mapping[int, int]
    ways: Mapping[frozenset[int], PairPath]

    @classmethod
    def of(cls, case: Case, bench: Bench) -> Places:
        known = {device.bdf: index for index, device in enumerate(case.snapshot.topology.devices)}
        number = {gpu: known[bdf] for gpu, (bdf, _) in bench.devices.items() if bdf in known}
        return cls(number, {frozenset((path.pair.a, path.pair.b)): path for path in paths(case.snapshot)})

    def way(self, pair: Pair) -> PairPath | None:
        """Return the way between two GPUs of the benchmark; None where the tree does not tell it."""
        here = [self.number.get(gpu) for gpu in pair]
        return self.ways.get(frozenset(gpu for gpu in here if gpu is not None)) if None not in here else None

    def direct(self, pairs: Iterable[Pair]) -> bool:
        """Whether the tree shows the way of all these pairs, and that no port on it redirects."""
        found = [self.way(pair) for pair in pairs]
        return bool(found) and all(path is not None and path.two_way is not None and not path.redirectors
                                   for path in found)


def span(figures: Mapping[Pair, float]) -> str:
    """Return figures as text: "52.2", "52.2 to 52.4"."""
    if not figures:
        return "?"
    low, high = min(figures.values()), max(figures.values())
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"


def pairs_text(pairs: Iterable[Pair]) -> str:
    """Return pairs as text, without their directions: "GPU0-GPU1, GPU0-GPU2 and 3 more"."""
    return some(list(dict.fromkeys(f"GPU{min(pair)}-GPU{max(pair)}" for pair in pairs)), 4)
