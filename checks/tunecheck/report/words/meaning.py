"""What one word means in one place. A word may have several meanings: each source of words gives its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["Meaning", "meanings_of", "page_of", "spellings"]


class Meaning(NamedTuple):
    """``words``: the meaning, and where the word appears if it has several; ``more``: what to do or to know, in whole
    sentences; ``check``: the check to read on, "" for none. ``name``: as the field writes it, "" where that is in any
    case."""

    words: str
    more: str = ""
    check: str = ""
    name: str = ""


def spellings(sources: Iterable[Mapping[str, tuple[str, str, str]]]) -> tuple[str, ...]:
    """Return every word of the sources once, as the first of them writes it."""
    found: dict[str, str] = {}
    for source in sources:
        for name in source:
            found.setdefault(name.upper(), name)
    return tuple(found.values())


def meanings_of(word: str, sources: Iterable[Mapping[str, tuple[str, str, str]]]) -> list[Meaning]:
    """Return what the sources say of ``word``, in their order. A key with small letters is the word's own spelling."""
    found = []
    for source in sources:
        for key, told in source.items():
            if key.upper() == word:
                found.append(Meaning(*told, name="" if key.isupper() else key))
    return found


def page_of(name: str, meanings: list[Meaning]) -> str:
    """Return the page of a word, as markdown. ``name`` is as it was typed."""
    name = next((each.name for each in meanings if each.name), name)
    if len(meanings) == 1:
        (only,) = meanings
        read_on = f"\n\nRead on: `tunecheck explain {only.check}`" if only.check else ""
        return f"# {name}: {only.words}\n\n{only.more}".rstrip() + f"{read_on}\n"
    items = "".join(f"- {_item(each)}\n" for each in meanings)
    return f"# {name}: a word with {len(meanings)} meanings\n\n{items}"


def _item(meaning: Meaning) -> str:
    read_on = f" Read on: `tunecheck explain {meaning.check}`" if meaning.check else ""
    return f"{meaning.words}. {meaning.more}".rstrip() + read_on
