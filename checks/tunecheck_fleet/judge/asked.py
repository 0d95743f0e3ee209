"""Which changes are what a specification asks for: words left a host's command line that took back what is declared
there, or declared words came that were missing, by a check that found so until then. Whether it finds another such word
still makes no difference. The check tells the declared word; which words take that back is the kernel's rule
(parsers/kernel/param_conflicts.py), so that no word that merely changed in the same boot is taken for one of them.

And which changes are what the fix of a finding says that was open on the host until then: words came or left that it
names, or there is more of what the check missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from tunecheck.parsers.kernel.param_conflicts import clash, split
from tunecheck.rules.index import CHECKS

from ..fleet_report import Since
from .rows import Row
from .view import View
from .view_rows import FixSpan, Move

__all__ = ["CHECKING", "MISSES", "asked", "may_be_asked", "may_be_fixed", "took_back"]

_WORDS = "kernel.cmdline."
#: What the files of the boot configuration set: whole words.
_FILES = "boot.configured"
#: The checks whose subject is a declared word, and the facts that hold words.
CHECKING = frozenset(check.id for check in CHECKS if f"{_WORDS}{{subject}}" in check.judges)
_FACTS = (*(pattern for check in CHECKS for pattern in check.against), _FILES)
#: Fact -> the checks that miss what it counts.
_COUNTED = {fact: frozenset(check.id for check in CHECKS if fact in check.counts)
            for check in CHECKS for fact in check.counts}
#: (check, code) of what is missing.
MISSES = frozenset((check.id, code) for check in CHECKS for code in check.misses)


def may_be_asked(fact: str) -> bool:
    """Whether it is a fact of which a check may ask that words go."""
    return any(fnmatchcase(fact, pattern) for pattern in _FACTS)


def may_be_fixed(fact: str) -> bool:
    """Whether it is a fact that a fix may change as it says."""
    return fact in _COUNTED or may_be_asked(fact)


def took_back(subject: str, move: Move) -> bool:
    """Whether a word that left with this change took the declared one back."""
    return any(clash(subject, word) for word in _gone(move))


def asked(view: View, rows: Iterable[Row]) -> list[Row]:
    """The rows, each of which says so where its change is such a one: that is no fault, and waits to be approved."""
    found = list(rows)
    changed = [row for row in found if row.authority in ("previous", "majority") and row.state != "resolved"
               and row.since is not None and may_be_fixed(row.fact)]
    if not changed:
        return found
    declared = _declared(view, {row.host for row in changed})
    fixes: dict[str, list[FixSpan]] = {}
    for span in view.fixes:
        fixes.setdefault(span.host, []).append(span)
    right = {id(row): by for row in changed if row.since is not None
             and (by := _asked_by(row, row.since, declared[row.host], fixes.get(row.host, ()))) is not None}
    return [row._replace(asked=True, asked_by=right[id(row)], severity="low") if id(row) in right else row
            for row in found]


#: What a check found of a declared word: since which audit, and until which one (None: still).
_Span = tuple[str, int, int | None]


def _declared(view: View, hosts: Iterable[str]) -> Mapping[str, list[_Span]]:
    spans: dict[str, list[_Span]] = {host: [] for host in hosts}
    for host, _, subject, seen, until in view.contradicted:
        if host in spans:
            spans[host].append((subject, seen, until))
    for host, own in spans.items():
        own += [(subject, since.seen, None) for (check, subject, _), since in view.began.get(host, {}).items()
                if check in CHECKING]
    return spans


def _asked_by(row: Row, since: Since, declared: Iterable[_Span], fixes: Iterable[FixSpan]) -> tuple[str, ...] | None:
    """The checks whose fix the change is; none of them where the specification asks for it; None: nobody does."""
    open_then = [each for each in fixes if each.seen < since.seen and (each.until is None or each.until >= since.seen)]
    if row.fact in _COUNTED:
        return tuple(sorted({each.check for each in open_then if each.check in _COUNTED[row.fact] and (
            each.check, each.code) in MISSES} if _more(row.before, row.value) else ())) or None
    subjects = [subject for subject, seen, until in declared
                if seen < since.seen and (until is None or until >= since.seen)]
    before, now = (list(_words(row.fact, value)) for value in (row.before, row.value))
    gone, came = ([word for word in one if word not in other] for one, other in ((before, now), (now, before)))
    wanted = {word for subject in subjects for word in split(subject)}
    if not gone and not came:
        return None
    if wanted.issuperset(came) and all(any(clash(subject, word) for subject in subjects) for word in gone):
        return ()
    named = {each: ({word for token in each.puts for word in split(token)},
                    {word for token in each.takes for word in split(token)}) for each in open_then}
    wanted = wanted.union(*(puts for puts, _ in named.values()))
    taken = {word for _, takes in named.values() for word in takes} - wanted
    if not wanted.issuperset(came) or not all(word in taken or any(clash(each, word) for each in wanted)
                                              for word in gone):
        return None
    return tuple(sorted({span.check for span, (puts, takes) in named.items()
                         if puts & {*came} or takes & {*gone} or any(clash(put, word) for put in puts
                                                                     for word in gone)}))


def _more(before: Any, value: Any) -> bool:
    """Whether it counts more than before, and of nothing less."""
    if type(before) is int and type(value) is int:
        return value > before
    if not isinstance(before, list) or not isinstance(value, list) or len(before) != len(value) or not all(
            type(each) is int for each in (*before, *value)):
        return False
    return before != value and all(now >= then for then, now in zip(before, value, strict=True))


def _gone(move: Move) -> Iterator[str]:
    """The words that left the command line; none where another came with it: nobody asked for that one."""
    before, now = (list(_words(move.fact, value)) for value in (move.before, move.value))
    if move.fact.startswith(_WORDS) and set(now) <= set(before):
        yield from (word for word in before if word not in now)


def _words(fact: str, value: Any) -> Iterator[str]:
    """A parameter that may stand several times has a list of values."""
    name = fact.removeprefix(_WORDS)
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield from split(each if fact == _FILES else f"{name}={each}" if each else name)
