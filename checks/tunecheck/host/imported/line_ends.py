"""Lines that a window broke or cut off. A terminal, a ticket or a mail breaks lines at its width, and `less -S` and
`cut` leave out what stands behind it: what is told of a device then stands on two lines, or only a part of it is there.

Broken lines are joined again. Of a line that was cut off the last word goes, as nobody knows whether it is whole: the
"x1" at the end may be the beginning of "x16"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ...parsers.pci.lspci_names import HEADER
from ...parsers.text.log_lines import NAMED
from ...util.at_first_use import regex
from .command_lines import begins_output, joined
from .output_signs import CMDLINE
from .prompts import ASKED
from .window import NARROW, WIDE, Ends, Unjoined, at_a_word, between, columns, each_line, goes_on

__all__ = ["mended"]

#: Of a long text this much tells whether its lines are broken.
_LOOKED_AT = 400_000
#: How a line of a log begins, as far as a narrow window leaves it: its time.
_LOG = regex(
    r"[ \t]{0,8}(?:<\d{1,3}>)?(?:\[[ +<]{0,12}\d{1,9}[.,]\d|\[<\d|\[(?!\d{1,6}[:,])[^\]\n]{1,30}\d\d:\d\d)"
    r"|(?:<\d{1,3}>)?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d |\d{10}\.\d{6} "
    r"|[a-z0-9]{1,10} {0,6}:[a-z]{1,8} {0,6}: )|NVRM: |nvidia-nvswitch\d")
_QUERY = regex(r"=+NVSMI LOG=+")
#: Lines of `nvidia-smi -q` as it prints them: a name and its value, a heading, a GPU.
_OF_QUERY = regex(r" *[A-Za-z][^:\n]{0,60} +:(?: |\Z)| {4,}[A-Z0-9][^:\n]{0,60}\Z|GPU [0-9A-Fa-f]{8}:|=+")
_OF_LSPCI = regex(r"\t| {4,}\S|[0-9a-f]{2,3}: [0-9a-f]{2}\b")
#: What begins another output, or is none: a table, a frame, a prompt, a mark of a chat.
_OTHER = regex(
    r"[|`~\u2026]|\+[-=]|[=-]{2,}|[$#](?:\s|\Z)|\.{3}|[\[(<]\.{3}|\[tunecheck: |\s*(?:GPU\d|NVRM: )"
    r"|[\[(]?[\w.-]{1,64}@[\w.-]{1,80}(?::?[~/]| [~/]| [\w~/.-]{1,60}\][#$])")
#: Without one of these there is no table for table_ends.py.
_OF_TABLES = ("NVIDIA-SMI", "# nThread", "# nccl-tests", "#  Rank", "#   Rank", "P2P", "nvbandwidth", "_memcpy_")
#: Enough lines that end at one width, each saying something else: no text does that by itself.
_ENDS, _SHARE = 4, 0.04


def mended(text: str) -> Ends:
    """Return the text with lines that are whole, as far as they are there."""
    head = text[:_LOOKED_AT]
    if "\n" not in head.strip("\n"):
        return Ends(text)
    text = joined(head) + text[_LOOKED_AT:]
    head = text[:_LOOKED_AT]
    doubt = ""
    if any(word in text for word in _OF_TABLES):
        from .table_ends import tables_mended  # start-up time

        tables = tables_mended(text)
        text, doubt = tables.text, tables.doubt
    rest = _lines_mended(text, text[:_LOOKED_AT])
    both = "; ".join(filter(None, (doubt, rest.doubt)))
    return Ends(rest.text, Unjoined(both) if isinstance(doubt, Unjoined) else both)


#: A line with its kind, and whether it begins as lines of that kind do: see _kinds.
_Line = tuple[str, str, bool]


def _lines_mended(text: str, head: str) -> Ends:
    told = list(_kinds(each_line(head)))
    widths = _widths(told)
    if not widths:
        return Ends(text)
    joined, count = _joined(head, told, widths)
    if count and len(text) > len(head):     # a long log is gone through only where its beginning is broken
        joined, count = _joined(text, _kinds(each_line(text)), widths)
    if count:
        return Ends(joined, f"lines were broken at about {max(widths.values())} columns, as a narrow window does; they "
                            "were joined again")
    return _cut(text, told, len(text) > len(head))


def _kinds(lines: Iterator[str]) -> Iterator[_Line]:
    """Yield of each line the kind of output that it stands in ("": none of those that are joined), the line, and
    whether it begins there as lines of that kind do."""
    kind = above = ""
    for line in lines:
        found = _beginning(line)
        if found:
            kind, above = found, line
            yield kind, line, True
        elif not line.strip() or _OTHER.match(line) or ASKED.match(line):
            # nvidia-smi -q goes on behind an empty line; behind a prompt something else does.
            kind = kind if not line.strip() else ""
            yield "", line, True
        elif kind and (begins_output(line) or (CMDLINE.match(line) and "ommand line:" not in above)):
            kind = ""
            yield "", line, True
        else:
            begins = (kind == "lspci" and _OF_LSPCI.match(line) is not None) or (
                kind == "query" and _OF_QUERY.match(line) is not None)
            yield kind, line, begins


def _beginning(line: str) -> str:
    if _LOG.match(line):
        return "log"
    if line[:1].isalnum() and HEADER.match(line):
        return "lspci"
    return "query" if line.startswith("=") and _QUERY.match(line) else ""


def _widths(told: Iterable[_Line]) -> dict[str, int]:
    """Return the columns of the longest line of each kind. A kind is left out where lines are longer than any window,
    or where the blanks in front of its lines are lost: nobody knows then where a line begins."""
    found: dict[str, int] = {}
    indented = {"log"}
    for kind, line, begins in told:
        if kind:
            found[kind] = max(found.get(kind, 0), columns(line))
            if begins and line[:1] in " \t":
                indented.add(kind)
    return {kind: width for kind, width in found.items() if NARROW <= width <= WIDE and kind in indented}


def _joined(text: str, told: Iterable[_Line], widths: dict[str, int]) -> tuple[str, int]:
    """Return the text, whose lines are told, with its broken lines joined, and how many there were. A line that is
    longer than those that were looked at was not broken, so nothing is."""
    parts = list[list[str]]()
    kinds = list[str]()
    count, sure, by_words, last, last_kind = 0, False, False, "", ""
    for kind, line, begins in told:
        width = widths.get(kind, 0)
        if width and columns(line) > width:
            return text, 0
        if not begins and width and kind == last_kind and goes_on(last, line, width):
            parts[-1].append(line)
            sure = sure or _is_sure(kind, parts[-1])
            by_words = by_words or at_a_word(last, width)
            count += 1
        else:
            parts.append([line])
            kind = kind if begins else ""
            kinds.append(kind)
        last, last_kind = line, kind
    if count < 2 and not sure:
        return text, 0
    return "\n".join("".join(part + between(part, widths[kind], by_words) for part in some[:-1]) + some[-1]
                     for some, kind in zip(parts, kinds, strict=True)), count


def _is_sure(kind: str, parts: list[str]) -> bool:
    """Whether one broken line is enough. Somebody may have written a line below the longest line of a log."""
    *first, following = parts
    return kind != "log" or first[-1].endswith(" ") or (following[:1] == " " and following[1:2].strip() != "") or (
        NAMED.search("".join(parts)) is not None and NAMED.search("".join(first)) is None)


def _cut(text: str, told: list[_Line], is_longer: bool) -> Ends:
    """Leave out the last word of each line that ends where the window ended. ``told``: the lines of the text, or of its
    beginning where it ``is_longer``."""
    every = [(line, begins) for kind, line, begins in told if kind]
    lines = [line for line, _ in every if not _is_even(line)]
    # A window counts columns; `cut` counts a tab as one character.
    measure = max((columns, len), key=lambda each: len(_longest(lines, each)))
    ends = _longest(lines, measure)
    width = measure(ends[0]) if ends else 0
    if not NARROW <= width <= WIDE or len({_subject(line) for line in ends}) < _ENDS or \
            len(ends) < max(_SHARE * len(lines), 2 * sum(not begins for _, begins in every)):
        return Ends(text)
    bare = "\n".join(_without_last_word(line) if kind and measure(line) >= width and not _is_even(line) else line
                     for kind, line, _ in (_kinds(each_line(text)) if is_longer else told))
    return Ends(bare, f"lines end after {width} columns, as a window cuts them off that does not break lines: what "
                      "stood behind is missing; give it as a file")


def _longest(lines: list[str], measure: Callable[[str], int]) -> list[str]:
    width = max(map(measure, lines), default=0)
    return [line for line in lines if measure(line) == width]


def _is_even(line: str) -> bool:
    """Whether it is of an output all of whose lines are of one length: `lspci -xxxx`, a table with an edge at its right
    side, also behind what a tool puts in front of lines."""
    return line.endswith(("|", "+")) or re.match(r"[0-9a-f]{2,3}: [0-9a-f]{2}\b", line) is not None


def _subject(line: str) -> str:
    """Return what a line is about: its first words without numbers, behind the time of a log."""
    told = re.sub(r"^.{0,80}?(?: kernel: |\d\] )", "", line)
    return " ".join(re.sub(r"[0-9a-f]*\d[0-9a-f]*|[^\w ]", "", told).split()[:4])


def _without_last_word(line: str) -> str:
    """Return the line without the word, or the part of one, at its end."""
    return re.sub(r"[^\s,:;]{1,300}\Z", "", line)
