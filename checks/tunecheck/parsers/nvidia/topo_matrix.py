"""The tables of ``nvidia-smi topo -m`` and ``nvidia-smi topo -p2p``, as they are printed, redirected and pasted.

The header decides which columns there are. A row is taken only where every relation cell is one known word: a table
that lost a tab in a terminal (``PXBNODE``) is refused, never guessed. ESC codes are printed into files too, and pasted
text often keeps only their tail (``[4m``).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Dict, List, Optional

from ...util.at_first_use import dataclass, regex

__all__ = ["TABLE", "Fault", "Matrix", "TableError", "parse_matrix"]

#: A table in a text: its header, then the first row. The legend is never anchored on, it may be missing.
TABLE = regex(r"^[ \t]*(?:\x1b?\[4m)?GPU0\b.*\n[ \t]*GPU0[ \t]+X\b", re.MULTILINE)

_CODES = regex(r"\x1b\[[0-9;]*m|\[\d{1,2}m")
_NAME = regex(r"^[A-Za-z][\w.:-]*$")
#: SOC is what drivers before R375 called SYS.
_PCIE = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}
_NVLINK = regex(r"^NV\d{1,3}$")
_P2P = frozenset(("OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))
_MOST = 1024


class Fault(Enum):
    """What is wrong with a table."""

    NO_HEADER = "no-header"
    HEADER = "header"
    #: Its columns are not GPU0, GPU1, ... in order.
    ORDER = "order"
    TOO_WIDE = "too-wide"
    NO_ROW = "no-row"
    ROW_TWICE = "row-twice"
    #: A word that is no relation.
    CELL = "cell"
    TOO_FEW = "too-few"
    TOO_MANY = "too-many"
    #: X between two, or none where a row meets itself.
    DIAGONAL = "diagonal"
    MIXED = "mixed"
    #: One pair is two things.
    CONTRADICTS = "contradicts"


class TableError(ValueError):
    """A table that cannot be used. ``fault`` says why to a program."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


@dataclass(frozen=True)
class Matrix:
    """One table. ``kind`` is "topo -m" or "topo -p2p". ``pairs`` maps GPU numbers (row, column) to the word between
    them: PIX, PXB, PHB, NODE, SYS or NV# for the first, OK, NS, ... for the second (which need not be symmetric).
    ``others`` are the columns that are no GPUs."""

    kind: str
    gpus: int
    others: "tuple[str, ...]"
    pairs: "Dict[tuple[int, int], str]"


def parse_matrix(text: str) -> Matrix:
    """Read the first table of the text. TableError says what is wrong with it."""
    lines = [_CODES.sub("", line).rstrip("\r") for line in text.split("\n")]
    start = next((number for number, line in enumerate(lines) if re.match(r"[ \t]*GPU0(?:[ \t]|$)", line)), None)
    if start is None:
        raise TableError(Fault.NO_HEADER, "no header line that begins with GPU0")
    names = _columns(lines[start])
    gpus = [name for name in names if re.match(r"^GPU\d+$", name)]
    if gpus != ["GPU%d" % number for number in range(len(gpus))]:
        raise TableError(Fault.ORDER, "its GPU columns are not GPU0 to GPU%d in order" % (len(gpus) - 1))
    rows = _rows(lines[start + 1:], names)
    missing = [name for name in gpus if name not in rows]
    if missing:
        raise TableError(Fault.NO_ROW, "the row of %s is missing" % missing[0])
    return _judged(names, gpus, rows)


def _columns(header: str) -> List[str]:
    names = header.partition("CPU Affinity")[0].split()
    if len(names) > _MOST:
        raise TableError(Fault.TOO_WIDE, "more than %d columns" % _MOST)
    wrong = [name for name in names if not _NAME.match(name)]
    if wrong or len(set(names)) != len(names):
        raise TableError(Fault.HEADER, "its header cannot be read: %r" % header[:80])
    return names


def _rows(lines: List[str], names: List[str]) -> "Dict[str, List[str]]":
    rows: Dict[str, List[str]] = {}
    for line in lines:
        first = line.split(None, 1)[0] if line.strip() else ""
        if first not in names:
            # What is no row ends the table; a line before the first row (wrapped header) is refused by the count.
            if rows or first:
                break
            continue
        if first in rows:
            raise TableError(Fault.ROW_TWICE, "the row of %s is there twice" % first)
        rows[first] = _cells(line.strip(" "), first, len(names))
    return rows


def _cells(line: str, name: str, wanted: int) -> List[str]:
    # Tabs keep empty cells apart; where a terminal made them spaces, only the words are left to go by.
    cells = [cell.strip() for cell in line.split("\t")][1:] if "\t" in line else line.split()[1:]
    relations, rest = cells[:wanted], cells[wanted:]
    for cell in relations:
        if not _known(cell):
            raise TableError(Fault.CELL, "the row of %s holds %r where a relation has to be" % (name, cell[:20]))
    if len(relations) != wanted:
        raise TableError(Fault.TOO_FEW, "the row of %s has %d relation cells, its header %d" % (
            name, len(relations), wanted))
    if any(_known(cell) for cell in rest):
        raise TableError(Fault.TOO_MANY, "the row of %s has more relation cells than its header" % name)
    return relations


def _known(word: str) -> bool:
    return word == "X" or word in _PCIE or word in _P2P or bool(_NVLINK.match(word))


def _judged(names: List[str], gpus: List[str], rows: "Dict[str, List[str]]") -> Matrix:
    for name, cells in rows.items():
        for other, word in zip(names, cells):  # noqa: B905
            if (name == other) != (word == "X"):
                raise TableError(Fault.DIAGONAL, "the cell %s-%s holds %s" % (name, other, word))
    pairs = {(row, column): rows[a][column] for row, a in enumerate(gpus) for column in range(len(gpus))
             if row != column}
    kinds = {_kind(word) for cells in rows.values() for word in cells} - {None}
    if len(kinds) > 1:
        raise TableError(Fault.MIXED, "it mixes the words of topo -m and of topo -p2p")
    kind = kinds.pop() if kinds else "topo -m"      # a single GPU has only its X
    assert kind is not None
    if kind == "topo -m":
        pairs = {place: _PCIE.get(word, word) for place, word in pairs.items()}
        odd = [place for place, word in pairs.items() if pairs[place[::-1]] != word]
        if odd:
            row, column = odd[0]
            raise TableError(Fault.CONTRADICTS, "GPU%d-GPU%d is %s and GPU%d-GPU%d is %s" % (
                row, column, pairs[row, column], column, row, pairs[column, row]))
    others = tuple(name for name in names if name not in gpus)
    return Matrix(kind, len(gpus), others, pairs)


def _kind(word: str) -> Optional[str]:
    if word == "X":
        return None
    return "topo -p2p" if word in _P2P else "topo -m"
