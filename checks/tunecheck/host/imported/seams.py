"""Finds where one output ends and the next begins in a paste without prompts: `cat topo.txt lspci.txt dmesg.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ...errors import UsageError
from ...parsers.kernel.fragment import messages
from ...parsers.text.damage import Damage
from ...util.at_first_use import regex
from .command_lines import starts
from .kinds import recognise
from .logs.signs import LOG_LINE, SAID, SHORT_SAID
from .output_signs import MANY, ONCE, SIGNS
from .posts import kinds

__all__ = ["MOST", "parts"]

_LOG, _CMDLINE = "kernel log", "/proc/cmdline"
#: The kernel's own limit is 2048 or 4096.
_LINE = 8192
#: How an engine's log begins: the first of them that is in it. The others come again for each of its workers.
_ENGINE = ("API server version", "server_args=", "LLM engine (v")
_NVRM = regex(r"^NVRM: |^nvidia-nvswitch\d{1,3}: SXid ", re.MULTILINE)
#: "=== dmesg ===", "+ sudo lspci -vvv", "dmesg:": what a person or a script writes above an output.
_TITLE = regex(r"(?:^|\n)(?:[ \t=#*+$>~:-]*((?:sudo +)?(?:/\S{1,60}/)?"
               r"(?:nvidia-smi|lspci|dmesg|journalctl|numactl|lscpu|cat)\b[^\n]{0,100}?)[ \t=#*:-]*"
               r"|(?:[=#*+~-]{2,} ?)(?=[^\n]{0,80}?\w)(?:[^\n]{1,80}? ?)[=#*+~-]{2,})\n\s*\Z")
_ABOVE = 300
#: Outputs in one text, as files in a folder.
MOST = 2000
#: How often in a row a line that comes again may begin nothing.
_TRIES = 20


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the command named above it or "", text) of each output. A text with only one output in it is not cut.
    Nothing gets lost: the parts and the titles between them are the whole text."""
    # Without a word of the others there is at most a kernel log, which may be long.
    there = [kind for kind, words, _ in SIGNS if any(map(text.__contains__, words))]
    there_is_more = there or any(map(text.__contains__, _ENGINE)) or next(starts(text), None) is not None or (
        recognise(text[:_LINE].partition("\n")[0]) == _CMDLINE)
    begins = _cuts(text, there) if there_is_more else []
    if len(begins) < 2:
        alone = begins and (not text[:begins[0]].strip() or next(kinds(text), None) is not None)
        yield from _first(text, begins[0], "") if alone else [("", text)]
        return
    titles = [_title(text, before, begin) for before, begin in zip([0, *begins], begins, strict=False)]
    for number, ((title, _), begin) in enumerate(zip(titles, begins, strict=True)):
        end = titles[number + 1][1] if number + 1 < len(begins) else len(text)
        yield from _one_line(title, text[begin:end]) if number else _first(text[:end], begin, title)


def _one_line(title: str, part: str) -> Iterator[tuple[str, str]]:
    """Yield an output; a command line is one line, and what stands below it is none of it."""
    line, _, rest = part.partition("\n")
    if rest.strip() and next(starts(line), None) is not None:
        yield title, f"{line}\n"
        title, part = "", rest
    yield title, part


def _first(text: str, begin: int, title: str) -> Iterator[tuple[str, str]]:
    """Yield the first output that has a sign, with all that stands above it. A command line stands alone: above it may
    be an output that has no sign."""
    above = _title(text, 0, begin)[1]
    if next(starts(text[begin:].partition("\n")[0]), None) is None or not (
            text[:above].strip() or text[begin:].partition("\n")[2].strip()):
        yield title, text
        return
    if text[:above].strip():
        yield "", text[:above]
    yield from _one_line(title, text[begin:])


def _cuts(text: str, there: list[str]) -> list[int]:
    """Return where outputs begin: of another kind than the one before, and of the same kind."""
    begins = _begins(text, there) or [0]
    found = list[int]()
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        found += [begin, *islice(_again(text, there, begin if found else 0, end), MOST)]
        if len(found) > MOST:
            raise UsageError(f"one text holds more than {MOST} outputs; expected those of one machine: keep the last "
                             "of each", Damage.TOO_MANY)
    return found


def _again(text: str, there: list[str], begin: int, end: int) -> Iterator[int]:
    """Yield where the next output of one kind begins: at its head, or at a line that an output has once and this one
    had before."""
    marks = sorted((found.start(), kind, found.group(found.lastindex) if found.lastindex else "")
                   for kind, mark in _marks(text, there) for found in mark.finditer(text, begin, end))
    following, after = list[int](), dict[tuple[str, str], int]()
    for place, kind, mark in reversed(marks):
        following.append(after.get((kind, mark), end))
        after[kind, mark] = place
    seen = set[tuple[str, str]]()
    last, tries = begin, _TRIES
    for (place, kind, mark), until in zip(marks, reversed(following), strict=True):
        if (kind, mark) in seen and tries:
            # No farther than the same line comes again: the text may be nothing but such lines.
            if kind in _kinds(text[last:place]) and kind in _kinds(text[place:until]):
                yield place
                last, tries = place, _TRIES
                seen.clear()
            else:
                tries -= 1
        seen.add((kind, mark))


def _marks(text: str, there: list[str]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the kinds that may be in a text, and what their outputs hold once."""
    first = next((word for word in _ENGINE if word in text), "")
    if first:
        yield "engine log", re.compile(rf"^[^\n]{{0,300}}?{re.escape(first)}", re.MULTILINE)
    for kind, _, sign in SIGNS:
        if kind in there and kind not in MANY:
            yield kind, ONCE.get(kind, sign)


def _kinds(text: str) -> list[str]:
    """Return every kind that a text is or holds."""
    return [*([kind] if (kind := recognise(text)) else []), *kinds(text)]


def _begins(text: str, there: list[str]) -> list[int]:
    """Return where outputs of known kinds begin. A part of no known kind belongs to the output before it."""
    changes = list(_changes(text, there))
    # A command line that begins with words of any kind has no sign of its own.
    if changes and changes[0] and recognise(text[:_title(text, 0, changes[0])[1]]) == _CMDLINE:
        changes.insert(0, 0)
    lines = set(starts(text))
    found, last = list[int](), ""
    for begin, end in zip(changes, [*changes[1:], len(text)], strict=False):
        block = text[begin:_title(text, begin, end)[1]]
        kind = _CMDLINE if begin in lines else recognise(block) or next(kinds(block), "")
        if kind and (kind != last or kind == _CMDLINE):
            found.append(begin)
            last = kind
    return found


def _changes(text: str, there: list[str]) -> Iterator[int]:
    """Yield where the signs change, from the first sign on. Each command line is an output of its own."""
    signs = [(found.start(), kind) for kind, _, sign in SIGNS if kind in there and kind != _CMDLINE
             for found in sign.finditer(text)]
    signs += [(begin, _CMDLINE) for begin in starts(text)]
    signs += [(found.start(), _LOG) for sign in (LOG_LINE, SAID, SHORT_SAID, _NVRM) for found in sign.finditer(text)]
    signs += [(begin, _LOG) for begin in messages(text)]
    before = ""
    for begin, kind in sorted(signs):
        if kind != before or kind == _CMDLINE:
            yield begin
        before = kind


def _title(text: str, after: int, begin: int) -> tuple[str, int]:
    """Return the title right above ``begin``, and where it starts. Without a title that is "" and ``begin``."""
    found = _TITLE.search(text, max(after, begin - _ABOVE), begin)
    return (found.group(1) or "", found.start()) if found else ("", begin)
