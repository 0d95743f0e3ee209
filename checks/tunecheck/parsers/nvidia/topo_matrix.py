"""The tables of ``nvidia-smi topo -m`` and ``nvidia-smi topo -p2p``, as they are printed, redirected and pasted.

The header decides which columns there are. A row is taken only where every relation cell is one known word: a table
that lost a tab in a terminal (``PXBNODE``) is refused, never guessed. So is one that was cut at the right (``cut``, a
narrow window): its header then names fewer GPUs than have rows, and reads as that of a smaller machine. ESC codes are
printed into files too, and pasted text often keeps only their tail (``[4m``).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Dict, List, Optional, Set

from ...util.at_first_use import dataclass, regex

__all__ = ["TABLE", "Fault", "Matrix", "TableError", "gpus_in", "kind_of", "parse_matrix"]

#: A table in a text: its header, then the first row. The legend is never anchored on, it may be missing.
TABLE = regex(r"^[ \t]*(?:\x1b?\[4m)?GPU0\b.*\n[ \t]*GPU0[ \t]+X\b", re.MULTILINE)

_CODES = regex(r"\x1b\[[0-9;]*m|\[\d{1,2}m")
_NAME = regex(r"^[A-Za-z][\w.:-]*$")
#: SOC is what drivers before R375 called SYS.
_PCIE = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}
_NVLINK = regex(r"^NV\d{1,3}$")
_P2P = frozenset(("OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))
_MOST = 1024
_WORDS = (*_PCIE, *sorted(_P2P), "X")
_ROW = regex(r"^[ \t]*GPU(\d{1,4})[ \t]+(\S+)")
_GPU = regex(r"\bGPU(\d{1,4})\b")


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
    TOO_MANY = "too-many"
    #: X between two, or none where a row meets itself.
    DIAGONAL = "diagonal"
    MIXED = "mixed"
    #: One pair is two things.
    CONTRADICTS = "contradicts"
    #: GPUs have rows and no columns, or a row ends before its last column: the right side is gone.
    CUT = "cut"


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
    lines = _lines(text)
    if not lines:
        raise TableError(Fault.NO_HEADER, "no header line that begins with GPU0")
    _whole(lines)
    names = _columns(lines[0])
    gpus = [name for name in names if re.match(r"^GPU\d+$", name)]
    if gpus != ["GPU%d" % number for number in range(len(gpus))]:
        raise TableError(Fault.ORDER, "its GPU columns are not GPU0 to GPU%d in order" % (len(gpus) - 1))
    rows = _rows(lines[1:], names)
    missing = [name for name in gpus if name not in rows]
    if missing:
        raise TableError(Fault.NO_ROW, "the row of %s is missing" % missing[0])
    return _judged(names, gpus, rows)


def gpus_in(text: str) -> int:
    """Return how many GPUs have a row or a column in the first table of the text, be it readable or not."""
    lines = _lines(text)
    return len(_numbers(lines[1:]) | _columned(lines[0])) if lines else 0


def kind_of(text: str) -> str:
    """Return the kind of the first table of the text, be it readable or not: "topo -p2p" where the first word in it
    that is a relation is one of that table."""
    words = (word for line in _lines(text)[1:] if _ROW.match(line) for word in line.split()[1:])
    return next((kind for word in words if _known(word) and (kind := _kind(word))), "topo -m")


def _lines(text: str) -> List[str]:
    """Return the lines from the header of the first table on. Empty where there is none."""
    lines = [_CODES.sub("", line).rstrip("\r") for line in text.split("\n")]
    start = next((number for number, line in enumerate(lines) if re.match(r"[ \t]*GPU0(?:[ \t]|$)", line)), None)
    return [] if start is None else lines[start:]


def _numbers(lines: List[str]) -> Set[int]:
    """Return the GPUs that have a row: what follows the name is a relation, or the beginning of one."""
    found: Set[int] = set()
    for line in lines:
        row = _ROW.match(line)
        if row and _begins(row[2]):
            found.add(int(row[1]))
        elif found and not line.strip():
            break
    return found


def _columned(header: str) -> Set[int]:
    """Return the GPUs that have a column. A header that is a row names none."""
    if "X" in header.split():
        return set()
    return {int(number) for number in _GPU.findall(header.partition("CPU Affinity")[0])}


def _whole(lines: List[str]) -> None:
    """Raise TableError where GPUs have a row and no column."""
    columns = _columned(lines[0])
    rows = _numbers(lines[1:])
    if rows and columns and max(rows) > max(columns):
        raise TableError(Fault.CUT, "it is cut at the right: it has a row of GPU%d, and no column behind GPU%d" % (
            max(rows), max(columns)))


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
    while cells and not cells[-1]:
        cells.pop()
    relations, rest = cells[:wanted], cells[wanted:]
    for number, cell in enumerate(relations, 1):
        if not _known(cell):
            ends = number == len(cells) and _begins(cell)
            raise TableError(Fault.CUT if ends else Fault.CELL, "the row of %s %s %r where a relation has to be" % (
                name, "is cut at the right: it ends with" if ends else "holds", cell[:20]))
    if len(relations) != wanted:
        raise TableError(Fault.CUT, "the row of %s is cut at the right: it has %d relation cells, its header %d" % (
            name, len(relations), wanted))
    if any(_known(cell) for cell in rest):
        raise TableError(Fault.TOO_MANY, "the row of %s has more relation cells than its header" % name)
    return relations


def _known(word: str) -> bool:
    return word == "X" or word in _PCIE or word in _P2P or bool(_NVLINK.match(word))


def _begins(word: str) -> bool:
    """Return whether a word is a relation, or one that was cut."""
    return bool(word) and (word == "NV" or _known(word) or any(known.startswith(word) for known in _WORDS))


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
            _torn(pairs, odd, len(gpus) - 1)
            raise TableError(Fault.CONTRADICTS, "GPU%d-GPU%d is %s and GPU%d-GPU%d is %s" % (
                row, column, pairs[row, column], column, row, pairs[column, row]))
    others = tuple(name for name in names if name not in gpus)
    return Matrix(kind, len(gpus), others, pairs)


def _torn(pairs: "Dict[tuple[int, int], str]", odd: "List[tuple[int, int]]", last: int) -> None:
    """Raise TableError where the cells of the last column lost their ends: NV1 where the last row has NV18."""
    if all(row == last or (column == last and pairs[column, row].startswith(pairs[row, column]))
           for row, column in odd):
        raise TableError(Fault.CUT, "it is cut at the right, in the column of GPU%d: %s there is %s in its row" % (
            last, pairs[odd[0]], pairs[odd[0][::-1]]))


def _kind(word: str) -> Optional[str]:
    if word == "X":
        return None
    return "topo -p2p" if word in _P2P else "topo -m"
