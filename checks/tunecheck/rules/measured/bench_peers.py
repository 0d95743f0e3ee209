"""Figures of a benchmark that are far below those of the other GPUs in the same table, or below what a GPU's own links
carry: for bench-figures. No path is needed to see that one GPU of four is slow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...model.finding import Finding, Remedy
from ...parsers.nvidia.bench_grids import Bench
from ...util.text import some
from ..context import Case
from .alone_figures import carries, name
from .bench_words import Pair, Places, pairs_text, tells_way
from .short_of import is_below, share_below

__all__ = ["host_copies", "outliers"]

#: Half of the lanes halves a figure. Ways of different lengths differ as much, so pairs of which no way is known have
#: to differ by more.
_LOW, _LOW_UNSURE = 0.6, 0.5
#: Of what the links carry: as for pairs, and lower, as nobody knows from which NUMA node the benchmark ran.
_GOOD, _BAD = 0.78, 0.5
_HOST = {"to the GPU": "host to GPU", "from the GPU": "GPU to host"}
_PAIRS = ("one way", "both ways", "one way off", "both ways off", "write", "read", "both write", "both read")
_LOOK = Remedy.typed("compare link-width, link-speed and link-errors of these GPUs with the others, under load; then: "
                     "`sudo tunecheck p2p`")
_LOOK_HOST = Remedy("see link-width, link-speed, link-errors, numa-nodes; are memory channels of the GPU's node empty?")


def host_copies(check: str, case: Case, bench: Bench, places: Places) -> Iterator[Finding]:
    """Yield findings about GPUs whose copies from or to the host are slower than their links carry."""
    for kind, words in _HOST.items():
        for gpu, value in sorted(_by_gpu(bench, kind).items()):
            number = places.number.get(gpu)
            limit, link = carries(case, number) if number is not None else (None, "")
            if number is not None and limit and is_below(value, _GOOD * limit):
                yield Finding(check, "slow-host-copy", name(case, number), "fail" if value < _BAD * limit else "warn",
                              "behaviour", f"{bench.tool} ({words}): {name(case, number)}: {value:.1f} GB/s, "
                              f"{share_below(value / limit, _GOOD)} of the {limit:.1f} that {link} carries",
                              share_below(value / limit, _GOOD),
                              f"{_GOOD:.0%} or more", (bench.tool,), _LOOK_HOST)


def outliers(check: str, case: Case, bench: Bench, places: Places, told: Collection[Pair],
             slow: Collection[str]) -> Iterator[Finding]:
    """Yield one finding for each set of GPUs, or pairs, that are far below their peers. ``told`` are pairs of which
    another finding says what is wrong, ``slow`` GPUs whose copies with the host another calls slow."""
    found: dict[str, list[tuple[float, str]]] = {}
    with_host = set[str]()      # subjects whose way to the host is slow: that is in the PCI tree alone
    for kind, words in (*_HOST.items(), *((kind, kind) for kind in _PAIRS)):
        for figures, least, single in _groups(case, bench, places, kind, told):
            best = max(figures.values())
            low = {key: value for key, value in figures.items() if value < least * best
                   and not (kind in _HOST and key[1] in places.number and name(case, places.number[key[1]]) in slow)}
            if low:
                worst = min(low.values())
                subject = ", ".join(f"GPU{key[1]}" for key in sorted(low)) if single else _culprits(figures, low)
                with_host |= {subject} if kind in _HOST else set()
                found.setdefault(subject, []).append((worst / best, f"{_worded(kind, words, single)} {worst:.1f} "
                                                                    f"against {best:.1f} GB/s"))
    for subject, rows in found.items():
        share, _ = min(rows)
        wanted = "add: sudo lspci -nnvvv" if subject in with_host else tells_way(case, bench)
        longer = "" if len(places.number) or case.snapshot.posted.table.value or not wanted else \
            f"; where no link is slow, their way is longer: {wanted}"
        yield Finding(check, "below-peers", subject, "warn", "behaviour", f"{bench.tool}: {subject} far below the "
                      f"others of the same table: {some([text for _, text in rows], 4)}{longer}", f"{share:.0%}",
                      "as fast as the others", (bench.tool,), _LOOK)


def _worded(kind: str, words: str, single: bool) -> str:
    if single and kind not in _HOST:
        return "own memory"
    return words.replace(" off", " without P2P")


def _groups(case: Case, bench: Bench, places: Places, kind: str, told: Collection[Pair]
            ) -> Iterator[tuple[Mapping[Pair, float], float, bool]]:
    """Yield figures that should be alike, the share of the best below which one is far below, and whether they are of
    single GPUs."""
    if kind in _HOST:
        alone = {(gpu, gpu): value for gpu, value in _by_gpu(bench, kind).items()}
        if len({bench.devices.get(gpu, ("", ""))[1] for gpu, _ in alone}) == 1:
            yield alone, _LOW, True
        return
    grid = bench.grids.get(kind)
    own = {pair: value for pair, value in grid.figures.items() if pair[0] == pair[1] and value > 0} if grid else {}
    if own and kind in ("one way", "one way off") and \
            len({bench.devices.get(gpu, ("", ""))[1] for gpu, _ in own}) == 1:
        yield own, _LOW, True
    alike: dict[str, dict[Pair, float]] = {}
    for pair, value in bench.grid(kind).items():
        if pair not in told or kind.endswith(" off"):
            alike.setdefault(_class(case, places, pair), {})[pair] = value
    for word, figures in alike.items():
        yield figures, _LOW if word else _LOW_UNSURE, False


def _class(case: Case, places: Places, pair: Pair) -> str:
    """Return what kind of way joins two GPUs, "" where no text tells."""
    path = places.way(pair)
    if path is not None:
        return path.latency_class or str(path.pair.relation.value or "")
    table = case.snapshot.posted.table.value
    return (table.relations.get(pair) or table.relations.get((pair[1], pair[0])) or "") if table else ""


def _culprits(figures: Mapping[Pair, float], low: Mapping[Pair, float]) -> str:
    """Return the GPUs of which every figure is low, where they explain all that is low; else the pairs."""
    gpus = sorted({gpu for pair in low for gpu in pair})
    whole = [gpu for gpu in gpus if all(pair in low for pair in figures if gpu in pair)]
    if whole and len(gpus) > len(whole) and all(set(pair) & set(whole) for pair in low):
        return ", ".join(f"GPU{gpu}" for gpu in whole)
    both = all((pair[1], pair[0]) in low for pair in low)
    return pairs_text(sorted(low)) if both else some([f"GPU{a} to GPU{b}" for a, b in sorted(low)], 4)


def _by_gpu(bench: Bench, kind: str) -> dict[int, float]:
    grid = bench.grids.get(kind)
    figures: dict[int, float] = {}
    for (_, gpu), value in (grid.figures if grid else {}).items():
        figures[gpu] = min(value, figures.get(gpu, value))
    return figures
