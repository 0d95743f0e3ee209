"""Turns a snapshot into flat facts. The snapshot may come from a stranger: whatever decodes is read within bounds, and
nothing here raises."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, Reason
from .catalogue import ENTRIES
from .definition import Entry, Flat

if TYPE_CHECKING:
    from ..snapshot_file import Stored

__all__ = ["flatten", "flatten_entries"]

#: Nothing, and no failure either: it does not exist there; nobody asked, since there is neither driver nor board, or
#: the spec does not want it.
_NOTHING = (Absence.NOT_PRESENT, Absence.NOT_ASKED)
_TEXT, _NAME, _MANY, _FAMILY, _DEEP = 2048, 200, 2048, 512, 4
_SAFE = 1 << 63


def flatten(stored: Stored) -> Flat:
    """Return every drift fact of a snapshot. Values are plain JSON: texts of printable characters, at most 2048 of
    them, whole numbers of 64 bits, finite numbers, lists, objects. Never raises."""
    return flatten_entries(ENTRIES, stored)


def flatten_entries(entries: Iterable[Entry], stored: Stored) -> Flat:
    """Return the drift facts of ``entries`` only, as ``flatten`` does."""
    known: dict[str, Any] = {}
    unknown: dict[str, Reason] = {}
    for entry in entries:
        try:
            fact = entry.select(stored)
            reason = fact.reason
            if entry.name[-1] == ".":
                _family(entry.name, fact, known, unknown)
            elif reason is None:
                known[entry.name] = clean(fact.value)
            elif reason.absence in _NOTHING:
                known[entry.name] = None
            else:
                unknown[entry.name] = _unread(fact)
        except Exception as error:      # a snapshot of a stranger: whatever types allow is in it
            unknown[entry.name] = Absence.NOT_UNDERSTOOD.because(f"not understood: {type(error).__name__}")
    return Flat(known, unknown)


def _family(start: str, fact: Fact[Any], known: dict[str, Any], unknown: dict[str, Reason]) -> None:
    """Put a family's values into ``known``, and what could not be read into ``unknown``. A family may be known in part:
    then its fact has both, values and why there may be more."""
    values = fact.value
    if isinstance(values, Mapping):
        for number, (name, value) in enumerate(values.items()):
            if number == _FAMILY:
                unknown[start] = Absence.NOT_UNDERSTOOD.because(f"more than {_FAMILY} of them: no box has so many")
                break
            whole = start + _line(str(name), _NAME)
            if isinstance(value, Fact):
                if value.reason is None:
                    known[whole] = clean(value.value)
                elif value.absence in _NOTHING:
                    known[whole] = None
                else:
                    unknown[whole] = _unread(value)
            else:
                known[whole] = clean(value)
    if fact.reason is not None and fact.absence not in _NOTHING:
        unknown[start] = _unread(fact)


def _unread(fact: Fact[Any]) -> Reason:
    assert fact.reason is not None
    return fact.reason.absence.because(_line(fact.why()))


def clean(value: Any, depth: int = 0) -> Any:
    """Return the value as plain JSON of bounded size, so that equal states are equal texts in any store."""
    kind = type(value)
    if kind is str:
        return value if len(value) <= _TEXT and value.isprintable() else _line(value, _TEXT)
    if kind is bool or value is None:
        return value
    if kind is int:
        return value if -_SAFE <= value < _SAFE else hex(value)[:40]
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if depth == _DEEP:
        return "..."
    if kind is dict:
        return {clean(str(name)): clean(part, depth + 1) for name, part in [*value.items()][:_MANY]}
    if kind is list or kind is tuple:
        return [clean(part, depth + 1) for part in value[:_MANY]]
    return _line(str(value), _TEXT)


def _line(text: str, most: int = 400) -> str:
    """Return one line of printable characters. A longer text ends in a digest, so that two that differ stay
    different."""
    if len(text) > most:
        text = f"{text[:most - 20]}... {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
