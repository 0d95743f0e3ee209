"""Lines of tables that a window broke: nvidia-smi's plain table, nccl-tests, p2pBandwidthLatencyTest, nvbandwidth.

They are joined where the table itself tells that they are whole again: all rows of the plain table are as wide as its
upper edge; a row of nccl-tests has a known number of columns; each line of a benchmark begins in a known way. A table
whose lines cannot be joined is named."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

from ...parsers.nvidia.nccl_tests import ROW
from ...util.at_first_use import dataclass, regex
from .prompts import ASKED
from .window import NARROW, WIDE, Ends, Unjoined, at_a_word, between, columns, goes_on

__all__ = ["tables_mended"]

_EDGE = regex(r"\+-{18,}[-+]*[ \t]*\Z")
_OF_EDGE = regex(r"[-+]+[ \t]*\Z")
#: No row of the plain table is wider, and a window breaks it into no more parts.
_WIDEST, _PARTS = 160, 8
#: No parser of these outputs looks further.
_LONGEST = 8 << 20
#: The most blanks in front of a figure in these tables.
_BLANKS = 10


@dataclass(frozen=True)
class _Bench:
    """``words``: one of them is in each such text; ``starts``: how its lines begin; ``row``: how a row of figures
    does; ``whole``: such a row to its end, None where its columns cannot be counted; ``least``: in a narrower window
    nobody knows where a row begins."""

    name: str
    command: str
    words: tuple[str, ...]
    opens: re.Pattern[str]
    starts: re.Pattern[str]
    row: re.Pattern[str]
    whole: re.Pattern[str] | None
    least: int


_BENCHES = (
    _Bench("nccl-tests", "all_reduce_perf > nccl.txt", ("# nThread", "# nccl-tests", "#  Rank", "#   Rank"),
           regex(r"# (?:nccl-tests version |nThread \d|Collective test starting)|#\s+Rank +\d+ .*Pid"),
           regex(r"#(?:\s|\Z)|\S{1,100}:\d+:\d+ (?:\[\d+\] )?NCCL |\S{1,100}: Test | \.\. \S+ pid "),
           regex(r" *\d{1,15} +\d{1,15} +[a-z]\w{1,12}(?: |\Z)"), ROW, 50),
    _Bench("p2pBandwidthLatencyTest", "p2pBandwidthLatencyTest > p2p.txt", ("P2P=", "P2P ("),
           regex(r"\[?P2P \(Peer|P2P Connectivity Matrix|(?:Uni|Bi)directional P2P=|P2P=(?:Dis|En)abled Latency"),
           regex(r" *(?:D\\D|GPU|CPU) |Device[ :=]|\*\*\*NOTE|So you can|NOTE: "),
           regex(r" {2,5}\d{1,3}(?:\t| +(?:-?\d{1,9}\.\d|N/A))"), None, 30),
    _Bench("nvbandwidth", "nvbandwidth > nvbandwidth.txt", ("nvbandwidth", "_memcpy_"),
           regex(r"nvbandwidth Version:|Running \w+\."),
           regex(r"Running |memcpy |Device \d|SUM |COEFF|CUDA |Driver |Built |NOTE: |WARN| {5,}0 {3,}1|Waived"),
           regex(r" \d {2,}(?:\d{1,9}\.\d|N/A)"), None, 30),
)


def tables_mended(text: str) -> Ends:
    """Return the text with the rows of its tables whole."""
    doubts: list[str] = []
    if len(text) > _LONGEST:
        return Ends(text)
    if "NVIDIA-SMI" in text and "+--" in text:
        text = _plain(text, doubts)
    if any(word in text for bench in _BENCHES for word in bench.words):
        text = _benches(text, doubts)
    said = "; ".join(dict.fromkeys(doubts))
    return Ends(text, Unjoined(said) if any(isinstance(each, Unjoined) for each in doubts) else said)


def _joined_words(name: str, width: int) -> str:
    return f"lines of {name} were broken at {width} columns, as a narrow window does; they were joined again"


def _broken_words(name: str, command: str) -> Unjoined:
    return Unjoined(f"lines of a table of {name} are broken, as a narrow window does, and cannot be joined surely; "
                    f"give it as a file: {command}")


def _plain(text: str, doubts: list[str]) -> str:
    """Return the text with whole rows of nvidia-smi's plain table. Its upper edge tells the width of all of them."""
    lines = text.split("\n")
    edge = next((number for number, line in enumerate(lines) if _EDGE.match(line)), None)
    while edge is not None:
        parts = [line.rstrip() for line in takewhile(_OF_EDGE.match, lines[edge:edge + _PARTS])]
        width = len(parts[0])
        used = next((number for number, part in enumerate(parts) if part.endswith("+")), 0)
        full = sum(map(len, parts[:used + 1]))
        # An edge that is whole, or was cut off, has no part on the next line.
        if used and NARROW <= width < full <= _WIDEST and all(len(part) == width for part in parts[:used]):
            end = _end_of_table(lines, edge)
            begin = edge - _above(lines, edge, -(-full // width))
            body = _rows(lines[begin:end], width, full)
            if body is None:
                doubts.append(_broken_words("nvidia-smi", "nvidia-smi > smi.txt"))
            else:
                lines[begin:end] = body
                doubts.append(_joined_words("nvidia-smi's table", width))
                end = begin + len(body)
        else:
            end = _end_of_table(lines, edge)
        edge = next((number for number in range(end, len(lines)) if _EDGE.match(lines[number])), None)
    return "\n".join(lines)


def _above(lines: list[str], edge: int, parts: int) -> int:
    """Return how many lines the versions stand on where the edge above them is not in the text."""
    return parts if edge >= parts and "NVIDIA-SMI" in lines[edge - parts] else 0


def _end_of_table(lines: list[str], begin: int) -> int:
    """Return the number of the line behind a table: an empty one, or one that another output begins with."""
    return next((number for number in range(begin, len(lines)) if not lines[number].strip() or
                 ASKED.match(lines[number])), len(lines))


def _rows(lines: list[str], width: int, full: int) -> list[str] | None:
    """Return the rows of a table, each ``full`` columns wide. None where the lines do not make such rows. What stands
    behind the last row is no part of the table."""
    rows: list[str] = []
    number = 0
    while number < len(lines) and lines[number][:1] in ("|", "+"):
        row, used = _row(lines[number:number + _PARTS], width, full)
        if not used:
            # The text may end within a row: nobody knows then what stood behind.
            return [*rows, *lines[number:]] if rows and sum(map(len, lines[number:])) < full else None
        rows.append(row)
        number += used
    return [*rows, *lines[number:]]


def _row(lines: list[str], width: int, full: int) -> tuple[str, int]:
    """Return a row and how many lines it stands on, 0 where it is not there: with the blanks that the lines have, or
    with those that a terminal left out at their ends."""
    row, used = "", 0
    while used < len(lines) and len(row) < full:
        row += lines[used]
        used += 1
    row = row.rstrip()
    if len(row) == full and row[-1] in "|+":
        return row, used
    parts = -(-full // width)
    padded = "".join(line.rstrip().ljust(width) for line in lines[:parts - 1]) + "".join(lines[parts - 1:parts])
    padded = padded.rstrip()
    if len(padded) == full and padded[-1] in "|+":
        return padded, parts
    # Broken at a word, once: what stands on the second line tells where.
    first, second = [*(line.rstrip() for line in lines[:2]), ""][:2]
    place = full - len(second)
    if second[-1:] == "|" and len(first) <= place <= width <= place + len(second.split(" ", 1)[0]):
        return first.ljust(place) + second, 2
    return "", 0


def _benches(text: str, doubts: list[str]) -> str:
    """Return the text with whole lines of benchmarks."""
    lines = text.split("\n")
    kinds = _kinds(lines)
    for bench in _BENCHES:
        own = [line for line, (kind, _) in zip(lines, kinds, strict=True) if kind is bench]
        width = max(map(columns, own), default=0)
        if not NARROW <= width <= WIDE:
            continue
        parts = _parts(lines, kinds, bench, width)
        by_words = _by_words(parts, width)
        count, torn, sure, made = 0, 0, False, list[list[str]]()
        rows = [number for number, some in enumerate(parts) if bench.whole and bench.row.match(some[0])]
        for number, some in enumerate(parts):
            whole, bad = _whole(some, width, by_words), False
            if bench.whole and bench.row.match(some[0]):
                made_rows = [each for each in (whole, _whole(some, width, not by_words)) if bench.whole.match(each)]
                whole, bad = (made_rows or [whole])[0], not made_rows
                sure = sure or (len(some) > 1 and not bad)
            # The last row may be cut off.
            torn += bad and number != rows[-1]
            count += len(some) - 1 if not bad else 0
            made.append(some if bad else [whole])
        if torn or (count and width < bench.least):
            doubts.append(_broken_words(bench.name, bench.command))
        elif count > 1 or sure:
            doubts.append(_joined_words(bench.name, width))
            lines = [line for some in made for line in some]
            kinds = _kinds(lines)
    return "\n".join(lines)


def _by_words(parts: list[list[str]], width: int) -> bool:
    """Whether the window broke lines at words, and the blanks there were left out: more lines ended before its last
    column than in it."""
    breaks = [one for some in parts for one, other in pairwise(some)
              if not one.endswith(" ") and not other.startswith((" ", "\t"))]
    return sum(at_a_word(one, width) for one in breaks) > len(breaks) / 2


def _kinds(lines: list[str]) -> list[tuple[_Bench | None, bool]]:
    """Return of each line the benchmark that it is of, and whether it begins there as lines of that one do."""
    found: list[tuple[_Bench | None, bool]] = []
    kind: _Bench | None = None
    for line in lines:
        opened = next((bench for bench in _BENCHES if bench.opens.match(line)), None)
        kind = opened or kind
        if kind is None or opened or not line.strip() or kind.starts.match(line) or kind.row.match(line):
            found.append((kind, True))
        elif ASKED.match(line):
            kind = None
            found.append((kind, True))
        else:
            found.append((kind, False))
    return found


def _parts(lines: list[str], kinds: list[tuple[_Bench | None, bool]], bench: _Bench, width: int) -> list[list[str]]:
    """Return the parts of each line."""
    parts: list[list[str]] = []
    # Behind a line that is none of a benchmark's nothing is joined: it may be anybody's sentence.
    begun = False
    for line, (kind, begins) in zip(lines, kinds, strict=True):
        if begun and kind is bench and not begins and _belongs(parts[-1], line, bench, width):
            parts[-1].append(line)
        else:
            parts.append([line])
            begun = kind is bench and begins
    return parts


def _belongs(some: list[str], line: str, bench: _Bench, width: int) -> bool:
    """Whether a line goes on with what stands above it. A row that is whole goes on only as a longer one."""
    last = some[-1]
    if not goes_on(last, line, width) and not (line[:1] in (" ", "\t") and width - _BLANKS <= columns(last) < width):
        return False
    above = _whole(some, width, False)
    return bench.whole is None or not bench.whole.match(above) or \
        bench.whole.match(_whole([*some, line], width, False)) is not None


def _whole(some: list[str], width: int, by_words: bool) -> str:
    """Return the line that these are parts of, with the blanks that were left out at their ends."""
    made = ""
    for one, other in pairwise(some):
        made += one + (" " * (width - columns(one)) if other.startswith(" ") and not one.endswith(" ") else
                       "" if other.startswith((" ", "\t")) else between(one, width, by_words))
    return made + some[-1]
