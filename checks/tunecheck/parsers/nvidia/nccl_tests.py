"""What nccl-tests print (all_reduce_perf and others), versions 2.0 to 2.19: which GPUs, and a row for each size."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from .bench_failures import NCCL_ENDED, failures

__all__ = ["ROW", "START", "NcclTest", "Rank", "Row", "parse_nccl_tests"]

START = regex(r"^# (?:nccl-tests version |nThread \d+ nGpus \d+ )|^#\s+Rank +\d+ .*Pid +\d+ on |"
              rf"{NCCL_ENDED.pattern}", re.MULTILINE)
_RANK = regex(r"^#\s+Rank +(\d{1,5}) (?:Group +\d{1,4} )?Pid +\d{1,9} on +(\S{1,100}) device +(\d{1,4}) "
              r"\[(?:(?:([0-9a-f]{4,8}):)?(?:0x)?([0-9a-f]{2})(?::([0-9a-f]{2}))?)\] (\S.{0,80})$",
              re.MULTILINE | re.IGNORECASE)
_NAME = regex(r"^# Collective test starting: (\w{1,40}_perf(?:_\w{1,10})?)\b", re.MULTILINE)
_FIGURE = r"(-?\d{1,12}(?:\.\d{1,4})?|N/A|nan|inf)"
#: What counts wrong values: a number, or an error of versions before 2.13.
_COUNT = r"(\d{1,12}|N/A|nan|inf|-?\d{1,3}(?:\.\d{1,6})?e[+-]?\d{1,3})"
#: A row to its end. Versions since 2.18 may show how often each size ran.
ROW = regex(r"^ *(\d{1,15}) +(\d{1,15}) +([a-z]\w{1,12}) +(?:(\w{1,10}) +)?(?:(-?\d{1,5}) +)?" + r" +".join(
    [_FIGURE, _FIGURE, _FIGURE, _COUNT] * 2) + r"(?: +\d{1,9})? *$", re.MULTILINE)
#: How a row begins: size, count and type.
_BEGUN = regex(r"^ *\d{1,15} +\d{1,15} +(?:u?int|float|half|double|bfloat|f8|fp8|char)\w{0,8}(?: [^\n]*)?$",
               re.MULTILINE)
#: A part of a row that a window of less than 37 columns broke: words and numbers alone, with a figure among them.
_PIECE = regex(r"^(?=[^\n]{0,80}(?<![\w.])\d{1,12}\.\d{1,2}(?![\w.]))[ \t]*[-+\w./]{1,15}"
               r"(?:[ \t]{1,20}[-+\w./]{1,15}){0,12}[ \t]*$", re.MULTILINE)
_AVERAGE = regex(r"^# Avg bus bandwidth +: +(\d{1,6}(?:\.\d{1,6})?)", re.MULTILINE)
_BOUNDS = regex(r"^# Out of bounds values : (\d{1,12}) (OK|FAILED)", re.MULTILINE)
_MOST = 4096
#: What sums; algorithm bandwidths from which on the two decimals of both columns tell their ratio.
_SUMS, _TELLS, _NEAR = ("sum", "prod", "max", "min", "avg"), 1.0, 0.02


@dataclass(frozen=True)
class Rank:
    """One rank of the run. ``bdf`` is "" where the text names only the bus."""

    rank: int
    host: str
    bdf: str
    name: str


@dataclass(frozen=True)
class Row:
    """The figures of one size. ``busbw`` is in GB/s, the better of out-of-place and in-place; ``wrong`` counts wrong
    values, None where nobody counted."""

    size: int
    busbw: float
    wrong: Optional[int]


@dataclass(frozen=True)
class NcclTest:
    """One run. ``name`` is "" where the version does not print it and the columns do not tell it. ``bounds`` are the
    values out of bounds by the last line, None where that line is not there. ``failures``: the errors that ended it.
    ``broken``: how many rows, or parts of them, do not end, as a window breaks them. The text is ``cut`` where nothing
    tells the end."""

    name: str
    ranks: "Tuple[Rank, ...]"
    rows: "Tuple[Row, ...]"
    average: Optional[float]
    bounds: Optional[int]
    failures: "Tuple[str, ...]" = ()
    broken: int = 0

    @property
    def cut(self) -> bool:
        return self.average is None and self.bounds is None and not self.failures

    @property
    def wrong(self) -> int:
        return max(self.bounds or 0, sum(row.wrong or 0 for row in self.rows))


def parse_nccl_tests(text: str) -> NcclTest:
    """Return the first run in the text. ValueError where there is none."""
    text = text[:8 << 20]
    begin = START.search(text)
    if begin is None:
        raise ValueError("no head of nccl-tests")
    text = text[begin.start():]
    end = _AVERAGE.search(text)
    body = text[:end.end()] if end else text
    name = _NAME.search(body)
    bounds = _BOUNDS.search(body)
    ranks: List[Rank] = []
    for found in list(_RANK.finditer(body))[:_MOST]:
        number, host, _, domain, bus, slot, board = found.groups()
        bdf = "%s:%s:%s.0" % ((domain or "0000").lower()[-4:], bus.lower(), slot.lower()) if slot else ""
        ranks.append(Rank(int(number), host, bdf, board.strip()))
    rows = []
    found_rows = list(ROW.finditer(body))[:_MOST]
    for found in found_rows:
        groups = found.groups()
        figures = [_float(groups[place]) for place in (7, 11)]
        counted = [_wrong(groups[place]) for place in (8, 12)]
        known = [each for each in counted if each is not None]
        better = [each for each in figures if each is not None]
        if better:
            rows.append(Row(int(groups[0]), max(better), sum(known) if known else None))
    called = name.group(1) if name else "all_reduce_perf" if _sums_for_all(found_rows, len(ranks)) else ""
    return NcclTest(called, tuple(ranks), tuple(rows), _float(end.group(1)) if end else None,
                    int(bounds.group(1)) if bounds else None, failures(body),
                    sum(ROW.match(line) is None for line in _BEGUN.findall(body)[:_MOST])
                    or (0 if rows else len(_PIECE.findall(body)[:_MOST])))


def _sums_for_all(rows: "List[re.Match[str]]", ranks: int) -> bool:
    """Whether these are rows of an all-reduce: it sums, has no root, and its bus bandwidth is 2(n-1)/n times what it
    calls algorithm bandwidth (PERFORMANCE.md of nccl-tests); of a reduce-scatter it is half of that."""
    told = False
    for found in rows:
        groups = found.groups()
        alone, bus = _float(groups[6]), _float(groups[7])
        if groups[3] not in _SUMS or groups[4] != "-1":
            return False
        if alone and bus and alone >= _TELLS and ranks > 1:
            told = True
            if abs(bus / alone / (2 * (ranks - 1) / ranks) - 1) > _NEAR:
                return False
    return told


def _float(word: str) -> Optional[float]:
    return float(word) if re.match(r"^\d{1,12}(?:\.\d{1,6})?$", word) else None


def _wrong(word: str) -> Optional[int]:
    """Return the number of wrong values: "0", "12". None for other words: before 2.13 the column held an error
    ("0e+00", "1e-06") or N/A, which says nothing of wrong values."""
    return int(word) if re.match(r"^\d{1,12}$", word) else None
