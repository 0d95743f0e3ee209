"""What all-reduces took, for the page: tables and plots by number of ranks, bus bandwidth, soak."""

from __future__ import annotations

from ...model.measurement import Measured
from ...rules.measured.reduce_figures import crossover, crossover_size, ranks_of, sized, tail
from ...util.at_first_use import dataclass
from ..measured import reduce_rows
from .plot import Plot, Series, plot

__all__ = ["Group", "Reduce", "Soak", "reduce"]

_NAMES = {"own": "own kernel", "nccl": "NCCL", "nccl staged": "NCCL, P2P off"}


@dataclass(frozen=True)
class Group:
    """The all-reduces of one number of ranks. ``rows`` as in the terminal: size, own p50, p99, NCCL p50, p99, own/NCCL,
    NCCL with P2P off."""

    ranks: int
    rows: tuple[tuple[str, ...], ...]
    crossover: str
    crossed: str
    plot: Plot | None
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Soak:
    ranks: int
    steps: str
    seconds: str
    rate: str
    wrong: str


@dataclass(frozen=True)
class Reduce:
    """The part of the page about all-reduces. ``bus``: size and, per group of ``bus_ranks``, GB/s. ``methods``: how it
    was measured, each once."""

    groups: tuple[Group, ...]
    bus_ranks: tuple[int, ...]
    bus: tuple[tuple[str, ...], ...]
    bus_plot: Plot | None
    soaks: tuple[Soak, ...]
    methods: tuple[str, ...]
    nccl: str


def reduce(found: Measured) -> Reduce | None:
    """Return the part of the page about all-reduces; None where no all-reduce was begun."""
    groups = tuple(_group(found, ranks) for ranks in ranks_of(found))
    if not groups:
        return None
    bus = {(each.ranks or 0, each.size or 0): each.value for each in found.find("allreduce", "bus")}
    ranks = tuple(sorted({who for who, _ in bus}))
    sizes = sorted({size for _, size in bus})
    rows = tuple((sized(size), *(f"{bus[who, size]:.1f}" if (who, size) in bus else "-" for who in ranks))
                 for size in sizes)
    series = [Series(f"bus{place % 3}", f"{who} ranks", tuple((size, bus[who, size], bus[who, size]) for size in sizes
                                                             if (who, size) in bus and size > 0))
              for place, who in enumerate(ranks)]
    picture = plot("plot-bus", "Bus bandwidth by size", "GB/s", series, logarithmic=False)
    return Reduce(groups, ranks, rows, picture, tuple(_soaks(found)),
                  tuple(dict.fromkeys(each.method for each in (*found.find("allreduce"), *found.find("soak")))),
                  _nccl(found))


def _group(found: Measured, ranks: int) -> Group:
    crossed = crossover_size(found, ranks)
    series = []
    for what, name in _NAMES.items():
        points = sorted((each.size, *tail(each)) for each in found.find("allreduce", what)
                        if each.ranks == ranks and each.size and each.size > 0)
        # A logarithm needs more than 0, and a band its upper end above.
        sane = tuple(point for point in points if 0 < point[1] <= point[2])
        series.append(Series(what.replace(" ", "-"), name, sane))
    picture = plot(f"plot-{ranks}", f"Latency of an all-reduce of {ranks} ranks by size", "us", series,
                   logarithmic=True, cross=(crossed, f"NCCL is faster from {sized(crossed)}") if crossed else None)
    wrong = tuple(dict.fromkeys(
        f"{each.get('way', '?')}{' of ' + sized(each['size']) if each.get('size') else ''} in rank {each.get('b', '?')}"
        f"{' with NCCL_P2P_DISABLE=1' if each.get('arm') == 'staged' else ''}"
        for each in found.wrong if each.get("trial") == "allreduce" and each.get("ranks") == ranks))
    rows = tuple(tuple(row) for row in reduce_rows(found, ranks))
    return Group(ranks, rows, crossover(found, ranks), sized(crossed) if crossed else "", picture, wrong)


def _soaks(found: Measured) -> list[Soak]:
    soaks = []
    for each in found.find("soak", "steps"):
        seconds = each.more.get("seconds", 0.0)
        wrong = sorted({str(other.get("b", "?")) for other in found.wrong if other.get("way") == "soak sum"
                        and other.get("ranks") == each.ranks})
        said = f"in rank {', '.join(wrong)}" if wrong else "none" if each.verified else "yes, rank not known"
        soaks.append(Soak(each.ranks or 0, f"{each.value:.0f}", f"{seconds:g}",
                          f"{each.value / seconds:.0f}" if seconds else "-", said))
    return soaks


def _nccl(found: Measured) -> str:
    version, path = found.notes.get("nccl version"), found.notes.get("nccl path")
    if isinstance(version, int):
        return f"NCCL {version // 10000}.{version // 100 % 100}.{version % 100} ({path})"
    return f"NCCL was not measured: {found.notes['nccl missing']}" if found.notes.get("nccl missing") else ""
