"""What a trial measured, for people: the matrix of the pairs, the table of all-reduces. Plain lines, no judgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..facts.pci.topology import Topology
from ..model.measurement import Measured, Measurement
from ..rules.measured.reduce_figures import crossover, ranks_of, single, sized, tail

__all__ = ["allreduce_lines", "p2p_lines", "p2p_ranges", "reduce_rows"]

_Cells = dict[tuple[int, int], float]
_GAP = "    "


def p2p_lines(found: Measured, topology: Topology, width: int = 0) -> list[str]:
    """Return tables of GB/s one way, GB/s both ways and ns of a dependent load, side by side where ``width`` (0: any)
    allows. Rows are sources (readers), columns destinations. The weakest cell of each has a star. Empty without a
    figure."""
    count = len(topology.devices)
    drawn = [_table(title, cells, digits, worst, count, width) for title, cells, digits, worst in _tables(found)]
    if not drawn:
        return []
    lines = _beside(drawn, width)
    return [*lines, *(["* the weakest"] if "*" in "".join(lines) else []), *_p2p_notes(found)]


def p2p_ranges(found: Measured) -> list[str]:
    """Return one line for each table of `p2p_lines`: from the least to the most, and which pair is the weakest."""
    lines = []
    for title, cells, digits, worst in _tables(found):
        values = sorted(cells.values())
        weakest = worst(values)
        least = [pair for pair, value in cells.items() if value == weakest]
        where = ", ".join(f"GPU{a} to GPU{b}" for a, b in least[:2])
        span = _range(values, digits)
        middle = f"{values[len(values) // 2]:.{digits}f}"
        even = values[0] == values[-1]
        lines.append(f"{title}: {span}{'' if even else f', middle {middle}; weakest {where}'} ({len(cells)} ways)")
    return [*lines, *_p2p_notes(found)] if lines else []


def _tables(found: Measured) -> list[tuple[str, _Cells, int, Callable[..., float]]]:
    tables = [("GB/s one way", _cells(found.find("one way", "engine write")), 1, min),
              ("GB/s both ways", _cells(found.find("both ways", "engine write"), mirrored=True), 1, min),
              ("ns per load", _cells(found.find("latency", "pointer chase")), 0, max)]
    return [table for table in tables if table[1]]


def _cells(figures: Sequence[Measurement], mirrored: bool = False) -> _Cells:
    cells = {(each.a, each.b): each.value for each in figures if each.a is not None and each.b is not None}
    return cells | {(b, a): value for (a, b), value in cells.items()} if mirrored else cells


def _table(title: str, cells: _Cells, digits: int, worst: Callable[..., float], count: int, width: int) -> list[str]:
    """Return a matrix as lines, or one line for each pair where ``width`` is too narrow for it."""
    weakest = worst(cells.values())
    uneven = min(cells.values()) != max(cells.values())
    marked = {pair for pair, value in cells.items() if value == weakest and uneven}
    texts = {pair: f"{value:.{digits}f}{'*' if pair in marked else ''}" for pair, value in cells.items()}
    count = max(count, 1 + max(max(pair) for pair in cells))
    names = [f"GPU{number}" for number in range(count)]
    cell = max(len(text.rstrip("*")) for text in (*texts.values(), *names)) + 2
    first = max(len(name) for name in names)
    if width and first + count * cell + 1 > width:
        return [f"{title}:", *(f"GPU{a}->GPU{b} {text}" for (a, b), text in texts.items())]
    rows = [title, " " * first + "".join(name.rjust(cell) for name in names)]
    for row in range(count):
        shown = ["-" if row == column else texts.get((row, column), "?") for column in range(count)]
        rows.append(_aligned(names[row].ljust(first), shown, cell))
    return rows


def _aligned(start: str, texts: Sequence[str], cell: int) -> str:
    """Return a line of numbers, right-aligned without their star, which takes the first place of the gap after them."""
    line = start
    for number, text in enumerate(texts):
        bare = text.rstrip("*")
        starred = number > 0 and texts[number - 1].endswith("*")
        line += bare.rjust(cell - starred) + ("*" if text.endswith("*") else "")
    return line


def _beside(tables: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of the tables, as many tables side by side as fit; an empty line between those that do not."""
    lines: list[str] = []
    for table in tables:
        wide = max(len(line) for line in (*lines, ""))
        together = wide + len(_GAP) + max(len(line) for line in table)
        matrix = not table[0].endswith(":")
        if lines and matrix and len(lines) == len(table) and (not width or together <= width):
            lines = [left.ljust(wide) + _GAP + right for left, right in zip(lines, table, strict=True)]
        elif lines:
            return [*(line.rstrip() for line in lines), "", *_beside(tables[tables.index(table):], width)]
        else:
            lines = list(table)
    return [line.rstrip() for line in lines]


def _p2p_notes(found: Measured) -> list[str]:
    lines = []
    for title, trial, what in (("by SMs, write", "one way", "kernel write"), ("by SMs, read", "one way", "kernel read"),
                               ("without peer access", "control", "engine write")):
        values = sorted(each.value for each in found.find(trial, what))
        if values:
            lines.append(f"{title}: {_range(values)} GB/s one way")
    for each in found.find("flows"):
        lines.append(f"{each.what}: {each.value:.1f} GB/s in sum over {each.more.get('flows', 0):.0f} flows")
    round_trips = sorted(each.value / 1000 for each in found.find("latency", "ping-pong"))
    return [*lines, f"flag there and back: {_range(round_trips, 2)} us"] if round_trips else lines


def _range(values: Sequence[float], digits: int = 1) -> str:
    least, most = f"{values[0]:.{digits}f}", f"{values[-1]:.{digits}f}"
    return least if least == most else f"{least} to {most}"


def allreduce_lines(found: Measured, width: int = 0, last: bool = False) -> list[str]:
    """Return for each group of ranks a table over the sizes: microseconds of the own kernel and of NCCL (p50 and p99),
    their ratio, NCCL without P2P; the crossover; then bus bandwidth, soak and NCCL's version. Empty without a figure.
    ``last``: only the largest group of ranks."""
    lines: list[str] = []
    for ranks in ranks_of(found)[-1:] if last else ranks_of(found):
        rows = reduce_rows(found, ranks)
        if rows:
            lines += [""] if lines else []
            lines += [*_reduce_table(f"{ranks} ranks, us", rows, width), crossover(found, ranks)]
    bus = sorted(found.find("allreduce", "bus"), key=lambda each: (each.ranks or 0, each.size or 0))
    for group in dict.fromkeys(each.ranks for each in bus):
        shown = ", ".join(f"{sized(each.size or 0)} {each.value:.1f}" for each in bus if each.ranks == group)
        lines.append(f"bus bandwidth of {group} ranks in GB/s: {shown}")
    lines += [f"soak of {each.ranks} ranks: {each.value:.0f} steps in {each.more.get('seconds', 0):g} s"
              for each in found.find("soak", "steps")]
    return lines


def reduce_rows(found: Measured, ranks: int) -> list[list[str]]:
    """Return rows of size, own p50 and p99, NCCL p50 and p99 (microseconds), own/NCCL, NCCL with P2P disabled; "-" for
    what was not measured."""
    sizes = sorted({each.size for each in found.find("allreduce") if each.ranks == ranks and each.size
                    and each.what != "bus"})
    rows = []
    for size in sizes:
        own, nccl, staged = (single(found, what, ranks, size) for what in ("own", "nccl", "nccl staged"))
        ratio = f"{own.value / nccl.value:.2f}" if own and nccl else "-"
        rows.append([sized(size), *_both(own), *_both(nccl), ratio, f"{staged.value:.1f}" if staged else "-"])
    return rows


def _both(each: Measurement | None) -> tuple[str, str]:
    if each is None:
        return "-", "-"
    middle, worst = tail(each)
    return f"{middle:.1f}", f"{worst:.1f}"


def _reduce_table(title: str, rows: Sequence[Sequence[str]], width: int) -> list[str]:
    heads = [title, "own p50", "p99", "NCCL p50", "p99", "own/NCCL", "NCCL, P2P off"]
    wide = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    if width and sum(wide) + 2 * (len(wide) - 1) > width:
        return [f"{title}:", *(f"{row[0]}: own {row[1]} (p99 {row[2]}), NCCL {row[3]}" for row in rows)]
    return [row[0].ljust(wide[0]) + "".join("  " + text.rjust(size) for text, size in
                                            zip(row[1:], wide[1:], strict=True)) for row in (heads, *rows)]
