"""Print the list of recipes, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Sequence

from .frozen import Expected, Recipe

__all__ = ["table"]

_HEAD = ("ID", "STATUS", "GPUS", "ENGINE", "EXPECTED", "COUNTED BY")


def table(recipes: Sequence[Recipe], width: int = 0) -> str:
    """Return one line for each recipe below a head; two where ``width`` characters are not enough, the id on the first.
    0: no limit."""
    rows = [_HEAD, *((each.id, each.status, str(each.requires.gpus), each.engine.name, _figure(each.expected),
                      each.expected.counted_by) for each in recipes)]
    wide = [max(len(row[column]) for row in rows) + 2 for column in range(len(_HEAD))]
    wide[-1] -= 2
    folded = width and sum(wide) > width
    if folded:
        wide = [size - 1 for size in wide]
    return "\n".join(f"{row[0]}\n  {_cells(row[1:], wide[1:])}" if folded else _cells(row, wide) for row in rows)


def _cells(row: Sequence[str], wide: Sequence[int]) -> str:
    return "".join(cell.ljust(size) for cell, size in zip(row, wide, strict=True)).rstrip()


def _figure(expected: Expected) -> str:
    if expected.value is None:
        return "-"
    return f"{expected.value:g} tok/s" + (" in all" if expected.metric == "aggregate_tok_s" else "")
