"""The tables of a report where they would not fit on one screen: equal cells are one sentence, figures are ranges."""

from __future__ import annotations

from collections.abc import Mapping

from ..facts.pci.topology import Topology
from ..model.measurement import Measured
from ..rules.context import Case
from .measured import allreduce_lines, p2p_ranges
from .paths import short_path_lines
from .posted import posted_lines
from .short_tree import short_tree_lines
from .style import Style, clipped, safe, wrap
from .text_parts import head, made_up_ports
from .tree import in_place_of_tree, square

__all__ = ["short_tables"]

#: A line of a table may take so many lines where the terminal is narrow.
_MOST = 2


def short_tables(verb: str, case: Case, style: Style) -> list[str]:
    """Return the heading, then the tables, each with an empty line behind it."""
    blocks = [_measured(case.measured, case.snapshot.topology, style.width)] if case.measured is not None else []
    if verb in ("topo", "preflight"):
        snapshot = case.snapshot
        if snapshot.topology.accelerators.known or not snapshot.posted.anything:
            blocks.append(short_tree_lines(snapshot.topology, style.unicode, made_up_ports(case)))
        matrix = [] if in_place_of_tree(snapshot) else _matrix(snapshot.topology, style.width)
        blocks += [matrix, _posted(case, style.width), short_path_lines(case)]
    lines = [*_fitted(head(verb, case), style), ""]
    for block in blocks:
        lines += [*_fitted(block, style), ""] if block else []
    return lines


def _fitted(lines: list[str], style: Style) -> list[str]:
    return [part for line in lines for part in clipped(wrap(safe(line), style.width), _MOST, style.width)]


def _measured(found: Measured, topology: Topology, width: int) -> list[str]:
    lines = p2p_ranges(found) if found.find("one way") or found.find("control") else []
    return [*lines, *(line for line in allreduce_lines(found, width, last=True) if line)]


def _matrix(topology: Topology, width: int) -> list[str]:
    words = {(pair.a, pair.b): pair.relation.value or "?" for pair in topology.pairs}
    return short_square(len(topology.devices), words, width) if len(topology.devices) > 1 else []


def short_square(count: int, words: Mapping[tuple[int, int], str], width: int) -> list[str]:
    """Return one sentence where all pairs are the same, or where the square is too wide; else the square. Each pair is
    in ``words`` once, or once for each direction."""
    kinds = sorted(set(words.values()))
    pairs = len({frozenset(pair) for pair in words})
    both = len(words) > pairs
    what = "directions" if both else "pairs"
    if len(kinds) == 1 and len(words) in (pairs, 2 * pairs):
        every = f"all {pairs} pairs" if pairs > 1 else "1 pair"
        return [f"{every} of {count} GPUs{', both directions' * both}: {kinds[0]}"]
    drawn = square(count, words, width)
    if len(drawn) <= count + 1:
        return drawn
    numbers = {kind: sum(word == kind for word in words.values()) for kind in kinds}
    return [f"{len(words)} {what} of {count} GPUs: "
            f"{', '.join(f'{number} {kind}' for kind, number in numbers.items())} (-v shows each)"]


def _posted(case: Case, width: int) -> list[str]:
    if not case.snapshot.posted.anything:
        return []
    return [line for line in posted_lines(case, width, short_square, short=True) if line]
