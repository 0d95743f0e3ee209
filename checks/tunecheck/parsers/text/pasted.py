"""Cleans text as people paste it: quoted with "> ", with line numbers, as HTML, with the colours of a terminal, with
the blanks of a web page or an empty line behind each. What is none of these stays as it is."""

from __future__ import annotations

import html
import re
from typing import Callable, Iterator, List

from ...util.at_first_use import regex

__all__ = ["clean"]

#: A dressing counts where so many of the lines have it: one line that begins with ">" is no quotation.
_MOST = 0.8
#: Of a long text this much decides.
_LOOKED_AT = 400
_COLOUR = regex(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]")
#: Blanks that are no space, and marks without a width: pages, chats and word processors put them in.
_ODD_BLANK = regex("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_NO_WIDTH = regex("[\u00ad\u200b-\u200d\u2060\ufeff]")
_QUOTED = regex(r"^[ \t]{0,3}>[ \t]?")
#: "  12  text", "12: text", "12| text", "12\ttext", and grep -n's "12:text". Not "00:01.0 text" of lspci.
_NUMBERED = regex(r"^[ \t]{0,7}(\d{1,6})(?:\t|[:|.)](?![0-9a-f]{2}[.:])| {2}|[ ]?$)")
#: A device of lspci behind its number.
_DEVICE = regex(r"^(\d{1,6}):(?=(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] )")
#: Lines of a text of which a pattern can be told.
_FEW = 3
#: A page, or what a browser copies of one. XML of nvidia-smi has neither; lspci has "<PERR-", broken within by windows.
_HTML = regex(r"<(?:!doctype html|html|body|pre|code|br|div|p|span|td)(?:\s+[a-z-]{1,30}=[\"'][^<>]{0,400})?\s*/?>",
              re.IGNORECASE)
_BLOCK = regex(r"<(?:br|/p|/div|/tr|/li|/pre)\b[^<>]{0,200}>", re.IGNORECASE)
_TAG = regex(r"</?[a-zA-Z][a-zA-Z0-9:-]{0,30}(?:\s[^<>]{0,1000})?/?>")
_SCRIPT = regex(r"<(script|style)\b[^<>]{0,400}>.{0,200000}?</\1>", re.IGNORECASE | re.DOTALL)
_FENCE = regex(r"^[ \t]*(?:```|~~~)[\w+-]{0,20}[ \t]*$\n?", re.MULTILINE)


def clean(text: str) -> str:
    """Return the text without colours, odd blanks, HTML, quotation marks, line numbers and an empty line behind each,
    the last four where the whole text has them."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    head = text[:65536]
    if "<" in head and "<nvidia_smi_log>" not in head and _HTML.search(head):
        text = html.unescape(_TAG.sub("", _BLOCK.sub("\n", _SCRIPT.sub("", text))))
    if not text.isascii():
        text = _NO_WIDTH.sub("", _ODD_BLANK.sub(" ", text))
    if "```" in head or "~~~" in head:
        text = _FENCE.sub("", text)
    for _ in range(3):          # quoted twice: ">> "
        if not _most(text, lambda line: _QUOTED.match(line) is not None):
            break
        text = "\n".join(_QUOTED.sub("", line, count=1) for line in text.split("\n"))
    text = _single_spaced(text)
    if _is_numbered(text):
        text = "\n".join(_unnumbered(text.split("\n")))
    return text


def _unnumbered(lines: List[str]) -> List[str]:
    """Return the lines without their numbers; a blank behind the number is the text's own where not all have it."""
    bare = [line[found.end():] if found else line
            for line, found in zip(lines, _numbered(lines))]  # noqa: B905
    apart = all(line.startswith(" ") for line in bare if line)
    return [line[1:] for line in bare] if apart else bare


def _single_spaced(text: str) -> str:
    """Return the text without the empty line behind each of its lines, as mail programs and pages put it there."""
    lines = text[:200_000].split("\n", _LOOKED_AT)[:_LOOKED_AT]
    if sum(1 for line in lines if line.strip()) < _FEW:
        return text
    for first in (1, 0):
        if not any(line.strip() for line in lines[first::2]):
            lines = text.split("\n")
            return text if any(line.strip() for line in lines[first::2]) else "\n".join(lines[1 - first::2])
    return text


def _numbered(lines: List[str]) -> Iterator["re.Match[str] | None"]:
    """Yield the number in front of each line, None where there is none. "12:00:01.0 Host bridge" is line 12 of grep -n
    where line 11 was before it."""
    last = 0
    for line in lines:
        found = _NUMBERED.match(line)
        device = None if found else _DEVICE.match(line)
        if device and int(device[1]) == last + 1:
            found = device
        last = int(found[1]) if found else last
        yield found


def _sample(text: str) -> List[str]:
    lines = [line for line in text[:200_000].split("\n", _LOOKED_AT)[:_LOOKED_AT] if line.strip()]
    return [line[:400] for line in lines]


def _most(text: str, has: Callable[[str], bool]) -> bool:
    lines = _sample(text)
    return len(lines) > 0 and sum(map(has, lines)) >= max(1, _MOST * len(lines))


def _is_numbered(text: str) -> bool:
    """Return whether the lines begin with line numbers. They grow; a table of figures begins with numbers, too."""
    lines = _sample(text)
    found = list(_numbered(lines))
    numbers = [int(each.group(1)) for each in found if each]
    marked = any(each.group().rstrip(" ")[-1:] in tuple("\t:|.)") for each in found if each)
    # A short text is one where every line says so.
    few = len(numbers) < 3 and not (marked and numbers == [1, 2] and len(lines) == 2)
    if few or len(numbers) < _MOST * len(lines):
        return False
    # Rows of a table are numbered from 0 and start again; `cat -n` goes on by one, grep -n by more. The sizes of
    # nccl-tests grow, too.
    grows = sum(1 for one, two in zip(numbers, numbers[1:])  # noqa: B905, RUF007
                if two == one + 1 or (two > one and marked))
    return grows >= 0.95 * (len(numbers) - 1) and numbers[0] > 0
