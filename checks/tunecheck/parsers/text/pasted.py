"""Cleans text as people paste it: quoted with "> ", with line numbers, as HTML, with the colours of a terminal. What is
none of these stays as it is."""

from __future__ import annotations

import html
import re
from typing import Callable, List

from ...util.at_first_use import regex

__all__ = ["clean"]

#: A dressing counts where so many of the lines have it: one line that begins with ">" is no quotation.
_MOST = 0.8
#: Of a long text this much decides.
_LOOKED_AT = 400
_COLOUR = regex(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]")
_QUOTED = regex(r"^[ \t]{0,3}>[ \t]?")
#: "  12  text", "12: text", "12| text", "12\ttext", and grep -n's "12:text". Not "00:01.0 text" of lspci.
_NUMBERED = regex(r"^[ \t]{0,7}(\d{1,6})(?:\t|[:|.)](?![0-9a-f]{2}[.:])[ ]?| {2}|[ ]?$)")
#: A page, or what a browser copies of one. XML of nvidia-smi has neither.
_HTML = regex(r"<(?:!doctype html|html|body|pre|code|br|div|p|span|td)\b[^<>]{0,400}>", re.IGNORECASE)
_BLOCK = regex(r"<(?:br|/p|/div|/tr|/li|/pre)\b[^<>]{0,200}>", re.IGNORECASE)
_TAG = regex(r"</?[a-zA-Z][a-zA-Z0-9:-]{0,30}(?:\s[^<>]{0,1000})?/?>")
_SCRIPT = regex(r"<(script|style)\b[^<>]{0,400}>.{0,200000}?</\1>", re.IGNORECASE | re.DOTALL)
_FENCE = regex(r"^[ \t]*(?:```|~~~)[\w+-]{0,20}[ \t]*$\n?", re.MULTILINE)


def clean(text: str) -> str:
    """Return the text without colours, HTML, quotation marks and line numbers, each where the whole text has them."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    head = text[:65536]
    if "<" in head and "<nvidia_smi_log>" not in head and _HTML.search(head):
        text = html.unescape(_TAG.sub("", _BLOCK.sub("\n", _SCRIPT.sub("", text)))).replace("\xa0", " ")
    if "```" in head or "~~~" in head:
        text = _FENCE.sub("", text)
    for _ in range(3):          # quoted twice: ">> "
        if not _most(text, lambda line: _QUOTED.match(line) is not None):
            break
        text = "\n".join(_QUOTED.sub("", line, count=1) for line in text.split("\n"))
    if _is_numbered(text):
        text = "\n".join(_NUMBERED.sub("", line, count=1) for line in text.split("\n"))
    return text


def _sample(text: str) -> List[str]:
    lines = [line for line in text[:200_000].split("\n", _LOOKED_AT)[:_LOOKED_AT] if line.strip()]
    return [line[:400] for line in lines]


def _most(text: str, has: Callable[[str], bool]) -> bool:
    lines = _sample(text)
    return len(lines) > 0 and sum(map(has, lines)) >= max(1, _MOST * len(lines))


def _is_numbered(text: str) -> bool:
    """Return whether the lines begin with line numbers. They grow; a table of figures begins with numbers, too."""
    lines = _sample(text)
    found = [_NUMBERED.match(line) for line in lines]
    numbers = [int(each.group(1)) for each in found if each]
    if len(numbers) < 3 or len(numbers) < _MOST * len(lines):
        return False
    # Rows of a table are numbered from 0 and start again; `cat -n` goes on by one, grep -n by more. The sizes of
    # nccl-tests grow, too.
    marked = any(each.group().rstrip(" ")[-1:] in tuple("\t:|.)") for each in found if each)
    grows = sum(1 for one, two in zip(numbers, numbers[1:])  # noqa: B905, RUF007
                if two == one + 1 or (two > one and marked))
    return grows >= 0.95 * (len(numbers) - 1) and numbers[0] > 0
