"""Kernel command lines in a text: where one begins, and one that a window broke over several lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ...util.at_first_use import regex
from .kinds import is_cmdline, is_cmdline_part, recognise
from .output_signs import CMDLINE, SIGNS
from .posts import WORDS, kinds
from .prompts import ASKED
from .window import NARROW, WIDE, at_a_word, between, goes_on

__all__ = ["begins_output", "joined", "starts"]

#: Without one of these a line of words has no command line's sign.
_SIGNED = ("BOOT_IMAGE=", "root=", "initrd=")
#: A line of words and values, for one that boots without those.
_WORDS = regex(r"^[A-Za-z][\w.-]{0,63}(?:=\S{0,500})?(?: [A-Za-z0-9_][\w.-]{0,63}(?:=\S{0,500})?){2,200}[ \t]*$",
               re.MULTILINE)
#: How a broken one begins, and what its words may hold: a prompt, and what a tool writes, hold more.
_BEGINS = regex(r"[\w.-]{1,64}=\S")
_GOES_ON = regex(r"[^@~#$>|\n]*[^@~#$>|\s][^@~#$>|\n]*")
_RELEASE = regex(r"\d{1,2}\.\d{1,3}\.\d{1,3}[\w.+-]*\s*\Z")
_MOST_LINES = 12
#: A command line seldom has so many words twice.
_SAME = 2
#: A log that a window broke: its command line stands on the lines below these words.
#: Without one of these a line begins no output: most lines have none, and each is asked.
_OF_OUTPUTS = tuple(dict.fromkeys((*WORDS, *(word for _, words, sign in SIGNS if sign is not CMDLINE
                                             for word in words))))
_IN_LOG = regex(r"ommand line:[^\n]*\n(?:[^\n]*\n){0,2}\Z")
_ABOVE = 900


def starts(text: str, broken: bool = False) -> Iterator[int]:
    """Yield where a line begins that is a command line by itself, or, if it may be ``broken``, but for its last word. A
    part of one may be among them: joined() joins it to the line above."""
    places = set[int]()
    if any(word in text for word in _SIGNED):
        places.update(found.start() for found in CMDLINE.finditer(text))
    if "=" in text:
        places.update(found.start() for found in _WORDS.finditer(text) if is_cmdline(found[0].split())
                      or (broken and is_cmdline(found[0].split()[:-1])))
    yield from sorted(places)


def joined(text: str) -> str:
    """Return the text with each command line on one line. The next one begins a line of its own, as every other output
    does: two that differ are of two boots."""
    whole = list[str]()
    copied = done = 0
    first = len(text) - len(text.lstrip("\n"))
    for place in [*([first] if _BEGINS.match(text, first) else []), *starts(text, True)]:
        if place < done:
            continue
        lines = _block(text, place)
        if _IN_LOG.search(text, max(0, place - _ABOVE), place):
            done = place + sum(map(len, lines)) + len(lines)       # line_ends.py joins the lines of a log
            continue
        only = not text[:place].strip() and not text[place + sum(map(len, lines)) + len(lines):].strip()
        line, used = _of_block(lines, only)
        if used > 1:
            whole += [text[copied:place], line]
            copied = done = place + sum(map(len, lines[:used])) + used - 1
    return "".join([*whole, text[copied:]]) if whole else text


def begins_output(line: str) -> bool:
    """Return whether a line begins an output that is known, other than a command line."""
    holds = line.__contains__
    return any(map(holds, _OF_OUTPUTS)) and (
        any(sign.match(line) for _, words, sign in SIGNS if sign is not CMDLINE and any(map(holds, words)))
        or next(kinds(line), None) is not None)


def _block(text: str, place: int) -> list[str]:
    """Return the line at ``place``, and those below it that may be parts of it."""
    lines = list[str]()
    words = list[str]()
    while place < len(text) and len(lines) <= _MOST_LINES:
        end = text.find("\n", place)
        line = text[place:end if end >= 0 else len(text)]
        if lines and (not line.strip() or not _GOES_ON.fullmatch(line) or _is_next(line, words)):
            break
        words += line.split()
        lines.append(line)
        place = end + 1 if end >= 0 else len(text)
    return lines


def _is_next(line: str, words: list[str]) -> bool:
    """Return whether a line is no part of the command line above it, which has these words: a loader writes BOOT_IMAGE
    and root once, and the next output of the same begins with the same word, or has many of them."""
    own, keys = line.split(), {word.partition("=")[0] for word in words}
    key = own[0].partition("=")[0]
    if own[0] == words[0] or (key in ("BOOT_IMAGE", "root") and key in keys) or (
            key == "initrd" and {"initrd", "root"} <= keys):
        return True
    if len({*own} & {*words}) >= _SAME and next(starts(line), None) is not None:
        return True
    return begins_output(line) or _RELEASE.match(line) is not None or ASKED.match(line) is not None


def _of_block(lines: list[str], only: bool) -> tuple[str, int]:
    """Return the command line that a window broke into these lines, and how many of them; of one line where it broke
    none. Beside other texts what follows has to look like it: it may be anybody's sentence."""
    for count in range(min(len(lines), _MOST_LINES), 1, -1):
        some = lines[:count]
        if not NARROW <= max(map(len, some)) <= WIDE or not _BEGINS.match(some[0]):
            continue
        width = max(map(len, some[:-1]))
        if not all(goes_on(one, two, width) for one, two in pairwise(some)) or not (
                (only and count == len(lines)) or _like_it(some)):
            continue
        by_words = any(at_a_word(line, width) for line in some[:-1])
        whole = "".join(line + between(line, width, by_words) for line in some[:-1]) + some[-1]
        if recognise(whole) == "/proc/cmdline" and recognise("\n".join(some)) is None:
            return whole, count
    return lines[0], 1


def _like_it(lines: list[str]) -> bool:
    """Return whether every line below the first holds words that kernels know, or values, but for parts of words where
    it was broken. A word alone may be anybody's, unless two lines tell the width of the window."""
    *above, last = lines[1:]
    ends = [len(line) for line in lines[:-1]]
    return (all(is_cmdline_part(line.split()[1:-1]) for line in above) and is_cmdline_part(last.split()[1:])
            and (" " in last.strip() or "=" in last or ends.count(max(ends)) > 1))
