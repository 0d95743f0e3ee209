"""One entry for one thing that happened, however many facts it moved (folds.py); and whose fix has to come first: a
check says of which others nothing is mended while it fails (Check.before)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from tunecheck.rules.index import BY_ID
from tunecheck.util.at_first_use import dataclass

from .fleet_report import Cause
from .folds import FOLDS, SOURCES, Fold

__all__ = ["Entry", "before", "entries", "first_of", "happened", "members_lost"]


@dataclass(frozen=True)
class Entry:
    """``lead`` stands for all of it; ``more`` are the causes that say the same of its hosts again. ``what``: as in
    Fold, empty where nothing was folded."""

    lead: Cause
    more: tuple[Cause, ...] = ()
    what: str = ""


#: Which facts of one host happened together: the host, since which audit, and whether they count in the same way.
_Key = tuple[str, int, str]


def entries(causes: Iterable[Cause]) -> list[Entry]:
    """As ranked, each at the place of its first cause. A cause that leads nothing on some hosts, and follows on others,
    is an entry of its own on the former."""
    ranked = list(causes)
    together: dict[_Key, list[int]] = {}
    seen_before: set[_Key] = set()      # of which something came when the host was known already, so all did
    for index, cause in enumerate(ranked):
        for wave in cause.all_waves:
            # Of what is over it does not matter since when it was so.
            seen = 0 if cause.state == "resolved" else wave.since.seen if wave.since is not None else None
            if seen is not None:
                before = not seen or wave.since is None or wave.since.after is not None
                for host in wave.hosts:
                    key = host, seen, _sort(cause)
                    together.setdefault(key, []).append(index)
                    if before:
                        seen_before.add(key)
    follows: dict[int, dict[str, int]] = {}     # cause -> host -> the cause that leads it there
    names: dict[int, str] = {}
    # Mostly the same causes meet on many hosts.
    folded: dict[tuple[bool, tuple[int, ...]], list[tuple[int, int, str]]] = {}
    for key, members in together.items():
        if len(members) > 1:
            host, first = key[0], key not in seen_before
            same = first, tuple(members)
            if same not in folded:
                folded[same] = list(_folded(ranked, members, first))
            for follower, lead, what in folded[same]:
                follows.setdefault(follower, {})[host] = lead
                names[lead] = what
    return _listed(ranked, follows, names)


def _listed(ranked: Sequence[Cause], follows: Mapping[int, Mapping[str, int]],
            names: Mapping[int, str]) -> list[Entry]:
    more: dict[int, list[Cause]] = {}
    alone: dict[int, Cause] = {}
    for index, cause in enumerate(ranked):
        leads = follows.get(index, {})
        for lead in sorted(set(leads.values())):
            more.setdefault(lead, []).append(cause.on({host for host, its in leads.items() if its == lead}))
        if left := set(cause.hosts) - set(leads):
            alone[index] = cause if len(left) == len(cause.hosts) else cause.on(left)
    # The first of them holds the place: it may be ranked before the one that leads.
    first: dict[int, int] = {index: index for index in alone}
    for index, leads in follows.items():
        for lead in leads.values():
            if lead in first:
                first[lead] = min(first[lead], index)
    return [Entry(alone[index], tuple(more.get(index, ())), names.get(index, ""))
            for index in sorted(alone, key=lambda index: (first[index], index))]


def _folded(ranked: Sequence[Cause], members: Sequence[int], first: bool) -> Iterable[tuple[int, int, str]]:
    """(what follows, what leads it, in a word) of causes that are of one host and one audit. ``first``: of the first
    that saw the host, so they came at any time before: a warning with another fix is then a thing of its own."""
    left, leading = list(members), set[int]()
    for fold in FOLDS:
        # What is not known may follow from something that happened; it does not say that it did.
        told = [index for index in members if ranked[index].outcome != "unknown"
                and (_matches(ranked[index].fact, fold.leads) or _opens(ranked[index], fold))]
        found = [index for index in told if index in left]
        fewer = next((count for index in told if fold.fewer and (count := members_lost(ranked[index]))), 0)
        if not found or (fold.fewer and not fewer):
            continue
        # Whose fix has to come first leads, wherever the rule has it.
        lead = min(found, key=lambda index: (not _opens(ranked[index], fold) or not any(
            comes_before(ranked[index], ranked[other]) for other in found),
            _place(ranked[index].fact, fold.leads), index))
        after = [index for index in left if index != lead and index not in leading
                 and _matches(ranked[index].fact, fold.followers) and _fewer(ranked[index], fold, fewer)
                 and not (first and not fold.always and _apart(ranked[index], ranked[lead]))]
        yield from ((index, lead, fold.what) for index in after)
        left = [index for index in left if index not in after]
        leading |= {lead} if after else set()
    yield from _unread(ranked, [index for index in left if index not in leading])


def _unread(ranked: Sequence[Cause], left: Sequence[int]) -> Iterable[tuple[int, int, str]]:
    """The same of checks that all miss one thing: what they say is one reason."""
    for code, source in SOURCES.items():
        missing = [index for index in left if ranked[index].outcome == "unknown" and ranked[index].code == code]
        if len(missing) > 1:
            lead = next((index for index in missing if ranked[index].fact == source.check), missing[0])
            yield from ((index, lead, source.what) for index in missing if index != lead)


def _apart(cause: Cause, lead: Cause) -> bool:
    """Whether it is a warning that the fix of the lead does not end."""
    return cause.outcome == "warn" and bool(cause.remedy) and cause.remedy != lead.remedy


def _fewer(cause: Cause, fold: Fold, count: int) -> bool:
    return not fold.fewer or (members_lost(cause) == count if fold.fewer == "same" else members_lost(cause) > 0)


def _opens(cause: Cause, fold: Fold) -> bool:
    """Whether it fails, and its fix has to come before those of a check that leads. Of what is over nothing has."""
    return cause.outcome == "fail" and cause.state != "resolved" and not fold.fewer and any(
        _matches(name, fold.leads) for name in before(cause))


def _place(name: str, patterns: tuple[str, ...]) -> int:
    return next((place for place, pattern in enumerate(patterns) if fnmatchcase(name, pattern)), len(patterns))


@cache
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _sort(cause: Cause) -> str:
    """What does not count in the same way is not one entry."""
    return f"{cause.group}\0{cause.state == 'resolved'}\0{cause.counts}\0{cause.waived and cause.waived.id}\0" \
           f"{cause.standing}\0{cause.intended and not cause.counts}"


def members_lost(cause: Cause) -> int:
    """How many members fewer the value counts than the one before, and nothing else; 0: it is another change. Of what
    is over, how many there are again."""
    lost = _fewer_by(cause.before, cause.value)
    return lost or (_fewer_by(cause.value, cause.before) if cause.state == "resolved" else 0)


def _fewer_by(many: Any, few: Any) -> int:
    before, value = _members(many), _members(few)
    if before is None or value is None or any(before.get(name, 0) < count for name, count in value.items()):
        return 0
    return sum(before.values()) - sum(value.values())


def _members(value: Any) -> Mapping[str, int] | None:
    if value is None:
        return {}
    if type(value) is int:
        return {"": value} if value >= 0 else None
    if isinstance(value, dict) and all(type(count) is int and count > 0 for count in value.values()):
        return value
    return None


def happened(entry: Entry) -> str:
    """What it was, in a word; of lost GPUs, how many."""
    count = members_lost(entry.lead) if entry.what == "GPU lost" else 0
    return f"{count} GPU{'s' if count > 1 else ''} fewer" if count else entry.what


def before(cause: Cause) -> tuple[str, ...]:
    """The checks of which nothing is mended while this is so."""
    known = BY_ID.get(cause.fact) if cause.authority == "desired" and cause.outcome in ("fail", "warn") else None
    return known.before if known is not None else ()


def comes_before(cause: Cause, other: Cause) -> bool:
    """Whether the fix of ``other`` is refused on one of its hosts while ``cause`` is so."""
    return other.authority == "desired" and other.fact in before(cause) and not set(cause.hosts).isdisjoint(other.hosts)


def first_of(cause: Cause, causes: Iterable[Cause]) -> Cause:
    """What has to be mended first, of all that is open: the cause itself, where nothing stands in its way. A failure
    before a warning."""
    ahead = [each for each in causes if each.state != "resolved" and comes_before(each, cause)]
    return min(ahead, key=lambda each: each.outcome != "fail", default=cause)
