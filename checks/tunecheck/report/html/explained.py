"""What `tunecheck explain` says of a check, for the browser: its page's blocks as data, which the template escapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...errors import UsageError
from ...rules.index import BY_ID
from ...util.at_first_use import dataclass, regex
from ..check_pages import page, summary
from ..page import TITLES, blocks, inline, sentence_of

__all__ = ["Block", "Explained", "explained"]

#: How the pages name each other.
_EXPLAIN = regex(r"tunecheck explain ([a-z0-9-]{1,64})")
_ITEM = regex(r"(-|\d{1,3}\.) (.*)")


@dataclass(frozen=True)
class Part:
    """A piece of a line. ``to``: the check that a command in the text explains, where this page explains it, too."""

    text: str
    code: bool = False
    to: str = ""


@dataclass(frozen=True)
class Block:
    """A block of a page. ``kind``: heading, text, code, bullets, numbers. A list has many ``lines``, the others one."""

    kind: str
    lines: tuple[tuple[Part, ...], ...]


@dataclass(frozen=True)
class Explained:
    check: str
    summary: str
    blocks: tuple[Block, ...]


def explained(checks: Iterable[str]) -> tuple[Explained, ...]:
    """Return the pages of these checks, each once, in their order. What has no page is left out: figures of a server's
    acceptance are no checks, and a report must not fail because a page is missing from the installation."""
    texts = {check: text for check in dict.fromkeys(checks) if check in BY_ID and (text := _page(check))}
    return tuple(Explained(check, summary(check), tuple(_blocks(text, frozenset(texts))))
                 for check, text in texts.items())


def _page(check: str) -> str:
    try:
        return page(check)
    except UsageError:
        return ""


def _blocks(text: str, wanted: frozenset[str]) -> Iterator[Block]:
    items: list[tuple[Part, ...]] = []
    kind = ""
    for given, content in blocks(text):
        each, line = _kind(given, content)
        if items and each != kind:
            yield Block(kind, tuple(items))
            items = []
        if each in ("bullets", "numbers"):
            kind = each
            items.append(_parts(line, wanted))
        elif each == "code":
            yield Block(each, ((Part(line),),))
        elif each:
            yield Block(each, (_parts(line, wanted),))
    if items:
        yield Block(kind, tuple(items))


def _kind(kind: str, content: str) -> tuple[str, str]:
    """Return the kind of a block in the browser, "" where it shows nothing, and its text without the mark of a list."""
    if kind == "heading":
        return kind, TITLES.get(content, content)
    if kind == "row":
        return "bullets", sentence_of(content)
    found = _ITEM.fullmatch(content) if kind == "item" else None
    if found:
        return "bullets" if found[1] == "-" else "numbers", found[2]
    return ("", "") if kind in ("title", "blank") else (kind, content)


def _parts(text: str, wanted: frozenset[str]) -> tuple[Part, ...]:
    return tuple(Part(said, code, _named(said, wanted) if code else "") for code, said in inline(text) if said)


def _named(code: str, wanted: frozenset[str]) -> str:
    found = _EXPLAIN.fullmatch(code)
    return found[1] if found and found[1] in wanted else ""
