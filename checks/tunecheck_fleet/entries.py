"""One entry for one thing that happened, however many facts it moved (events/folds.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from tunecheck.model.absence import Absence
from tunecheck.util.at_first_use import dataclass

from .events.cpu_moves import fewer_cpus
from .events.first import before, comes_before
from .events.folds import ADDED, FOLDS, LOST, MISSING, REPLACED, SOURCES, Fold
from .events.gpu_moves import (
    BOARDS,
    COUNTED,
    GpuMoves,
    answers_again,
    fewer,
    fewer_alone,
    gpu_moves,
    replaced,
    untold_of_lost,
)
from .events.later import of_lost
from .fixes import Fix, Step, has_play, said, together
from .fleet_report import Cause

__all__ = ["Entry", "as_asked", "entries", "gpus_of", "happened", "only_counts", "whole"]


_NO_TEXT = Absence.NOT_IN_IMPORT.value


@dataclass(frozen=True)
class Entry:
    """``lead`` stands for all of it; ``more`` are the causes that say the same of its hosts again. ``what``: as in
    Fold, empty where it is no such thing. ``part_of``: of a cause that stands for itself, the entry that it is in.
    ``parts``: of a cause that is in the entries of others on some of its hosts, and not in one of them on all: these
    hosts, each with the entry."""

    lead: Cause
    more: tuple[Cause, ...] = ()
    what: str = ""
    part_of: Entry | None = None
    parts: tuple[tuple[tuple[str, ...], Entry], ...] = ()

    @property
    def mended(self) -> bool:
        """Whether the change of what leads is what the specification asks for: nothing is to be put back."""
        return as_asked(self.lead)

    @property
    def one_audit(self) -> bool:
        """Whether all of it came in the audit of what leads, on each of its hosts."""
        came = {host: wave.since.seen for wave in self.lead.all_waves if wave.since for host in wave.hosts}
        return self.lead.state == "resolved" or all(
            wave.since is None or all(came.get(host, 0) >= wave.since.seen for host in wave.hosts)
            for cause in self.more for wave in cause.all_waves)


def as_asked(cause: Cause) -> bool:
    """Whether its change is what the specification asks for, on all its hosts."""
    return bool(cause.hosts) and set(cause.asked) >= set(cause.hosts)


#: Which facts of one host happened together: the host, since which audit, and whether they count in the same way.
_Key = tuple[str, int, str]


def entries(causes: Iterable[Cause]) -> list[Entry]:
    """As ranked, each at the place of its first cause. A cause that leads nothing on some hosts, and follows on others,
    is an entry of its own on the former."""
    ranked = list(causes)
    together: dict[_Key, list[int]] = {}
    seen_before: set[_Key] = set()      # of which something came when the host was known already, so all did
    for index, cause in enumerate(ranked):
        sort = _sort(cause)
        for wave in cause.all_waves:
            for host in wave.hosts:
                since = wave.since or cause.ended.get(host)
                if since is not None:
                    key = host, since.seen, f"{cause.group_of.get(host, cause.group)}\0{sort}"
                    together.setdefault(key, []).append(index)
                    if since.after is not None:
                        seen_before.add(key)
    follows: dict[int, dict[str, int]] = {}     # cause -> host -> the cause that leads it there
    names: dict[int, str] = {}
    # Mostly the same causes meet on many hosts.
    folded: dict[tuple[bool, tuple[int, ...]], list[tuple[int, int, str]]] = {}
    lost: dict[tuple[str, str], tuple[int, list[Cause]]] = {}      # (host, sort): what leads, and all that is in it
    for key in sorted(together, key=lambda key: key[1]):
        host, _, sort = key
        members, first = together[key], key not in seen_before
        lead, gone = lost.get((host, sort), (None, []))
        if lead is not None:
            late = of_lost(gone, [ranked[index] for index in members])
            for index in (index for index, its in zip(members, late, strict=True) if its):
                follows.setdefault(index, {})[host] = lead
                names.setdefault(lead, LOST)
            members = [index for index, its in zip(members, late, strict=True) if not its]
        same = first, tuple(members)
        if same not in folded:
            folded[same] = list(_folded(ranked, members, first)) if len(members) > 1 else []
        for follower, leader, what in folded[same]:
            follows.setdefault(follower, {})[host] = leader
            names.setdefault(leader, what)    # by the first of several rules
        if found := _lost(ranked, members, folded[same]):
            lost[host, sort] = found
    return _listed(ranked, follows, names)


def _lost(ranked: Sequence[Cause], members: Sequence[int],
          folded: Sequence[tuple[int, int, str]]) -> tuple[int, list[Cause]] | None:
    """What leads of those that tell of lost GPUs, and all of them; None: no GPU is lost."""
    lead = next((lead for _, lead, what in folded if what == LOST), None)
    if lead is None:
        lead = next((index for index in members if _gpus_alone(ranked[index]) == LOST), None)
    if lead is None:
        return None
    return lead, [ranked[lead], *(ranked[index] for index, its, what in folded if its == lead and what == LOST)]


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
    return [Entry(whole(alone[index], more.get(index, ())), tuple(more.get(index, ())),
                  names.get(index, "") or _gpus_alone(alone[index]))
            for index in sorted(alone, key=lambda index: (first[index], index))]


def whole(lead: Cause, more: Sequence[Cause]) -> Cause:
    """What leads, with the whole fix of its hosts where that takes a reboot: what the same check asks for besides, and
    what its play can do with one reboot for the others of the entry, too."""
    if not more or lead.fix != "reboot" or not lead.remedy or lead.state == "resolved":
        return lead
    play = any(has_play(step) for fix in _fixes(lead) for step in fix.steps)
    others = [each for each in more if each.outcome in ("fail", "warn") and each.fix == "reboot" and each.counts and (
        each.fact == lead.fact or (play and all(has_play(step, alone=True) for fix in _fixes(each)
                                                for step in fix.steps)))]
    fixes = together((_fixes(each) for each in (lead, *others)), lead.hosts) if others else ()
    remedy, commands = said(fixes, reboot=True)
    return replace(lead, fixes=fixes, remedy=remedy, commands=commands) if fixes else lead


def _fixes(cause: Cause) -> tuple[Fix, ...]:
    return cause.fixes or (Fix(cause.hosts, (Step(cause.remedy, cause.commands),)),)


def _folded(ranked: Sequence[Cause], members: Sequence[int], first: bool) -> Iterable[tuple[int, int, str]]:
    """(what follows, what leads it, in a word) of causes that are of one host and one audit. ``first``: of the first
    that saw the host, so they came at any time before: a warning with another fix is then a thing of its own."""
    left, leading = list(members), set[int]()
    names = {name for index in members for name in (ranked[index].fact, *(
        before(ranked[index]) if ranked[index].outcome == "fail" else ()))}
    led = {number for name in names for number in _led_by(name)}
    for number, fold in enumerate(FOLDS):
        if number not in led:       # nothing of it is there, so it leads nothing
            continue
        # What is not known may follow from something that happened; it does not say that it did.
        told = [index for index in members if (ranked[index].outcome != "unknown" or ranked[index].was)
                and (_matches(ranked[index].fact, fold.leads) or _opens(ranked[index], fold))
                and not (fold.what == LOST and answers_again(ranked[index]))]
        found = [index for index in told if index in left]
        moved = _moved(fold, [ranked[index] for index in told])
        if not found or (fold.when and not moved):
            continue
        # Whose fix has to come first leads, wherever the rule has it.
        lead = min(found, key=lambda index: (not _opens(ranked[index], fold) or not any(
            comes_before(ranked[index], ranked[other]) for other in found),
            _place(ranked[index].fact, fold.leads), index))
        after = [index for index in left if index != lead and index not in leading
                 and _matches(ranked[index].fact, fold.followers) and _counts(ranked[index], fold, moved)
                 and (not fold.untold or untold_of_lost(ranked[index]))
                 and not (first and not fold.always and _apart(ranked[index], ranked[lead]))]
        yield from ((index, lead, fold.what) for index in after)
        left = [index for index in left if index not in after]
        leading |= {lead} if after else set()
    yield from _unread(ranked, [index for index in left if index not in leading])


def _unread(ranked: Sequence[Cause], left: Sequence[int]) -> Iterable[tuple[int, int, str]]:
    """The same of checks that all miss one thing: what they say is one reason. What was known once is drift, and stands
    below nothing that never was."""
    unread = [index for index in left if ranked[index].outcome == "unknown" and ranked[index].was != "fail"]
    for never in (False, True):
        rest = [index for index in unread if ranked[index].unjudged == never]
        leads: dict[tuple[str, str], tuple[int, str]] = {}
        for source in SOURCES:
            missing = [index for index in rest if ranked[index].code in source.codes]
            if missing:
                lead = next((index for index in missing if ranked[index].fact == source.check), missing[0])
                leads.setdefault(_lacks(ranked[lead]), (lead, source.what))
                yield from ((index, lead, source.what) for index in missing if index != lead)
                rest = [index for index in rest if index not in missing]
        for index in rest:
            lacks = _lacks(ranked[index])
            if all(lacks) and (found := leads.setdefault(lacks, (index, MISSING)))[0] != index:
                yield index, *found


def _lacks(cause: Cause) -> tuple[str, str]:
    """What is missing, where that is told: of texts, the one to add, as it may stand for several files."""
    return cause.absence, cause.remedy if cause.absence == _NO_TEXT and cause.remedy else cause.source


def _apart(cause: Cause, lead: Cause) -> bool:
    """Whether it is a warning that the fix of the lead does not end."""
    return cause.outcome == "warn" and bool(cause.remedy) and cause.remedy != lead.remedy


def _moved(fold: Fold, told: Sequence[Cause]) -> int:
    """How many GPUs, or CPUs, fewer (negative: more, or others) these tell, where that is what the rule asks for; else
    0."""
    if fold.when == "others":
        return max(map(replaced, told), default=0)
    count = fewer_cpus if fold.of == "CPUs" else fewer
    moved = next((found for cause in told if (found := count(cause))), 0)
    return moved if fold.when == ("fewer" if moved > 0 else "more") else 0


def _gpus_alone(cause: Cause) -> str:
    """In a word, what a cause that leads nothing tells of GPUs."""
    if cause.fact not in COUNTED or cause.outcome == "unknown":
        return ""
    return LOST if fewer(cause) > 0 else ADDED if fewer(cause) else REPLACED if replaced(cause) else ""


def _counts(cause: Cause, fold: Fold, moved: int) -> bool:
    count = fewer_alone(cause)
    return not fold.counts or (count == moved if fold.counts == "same" else count * moved > 0)


def _opens(cause: Cause, fold: Fold) -> bool:
    """Whether it fails, and its fix has to come before those of a check that leads. What is over leads as it did."""
    return cause.outcome == "fail" and not fold.when and any(_matches(name, fold.leads) for name in before(cause))


def _place(name: str, patterns: tuple[str, ...]) -> int:
    return next((place for place, pattern in enumerate(patterns) if fnmatchcase(name, pattern)), len(patterns))


@cache
def _led_by(name: str) -> tuple[int, ...]:
    """Which of FOLDS this may lead."""
    return tuple(number for number, fold in enumerate(FOLDS) if _matches(name, fold.leads))


@cache
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _sort(cause: Cause) -> str:
    """What does not count in the same way is not one entry."""
    return f"{cause.state == 'resolved'}\0{cause.counts}\0{cause.waived and cause.waived.id}\0" \
           f"{cause.standing}\0{cause.intended and not cause.counts}"


def gpus_of(entry: Entry) -> GpuMoves | None:
    """What happened to the GPUs of its hosts; None where it was another thing, or nobody counted them."""
    if entry.what not in (LOST, ADDED, REPLACED):
        return None
    moves = gpu_moves((entry.lead, *entry.more))
    return moves if moves.fewer or moves.replaced else None


def only_counts(entry: Entry) -> bool:
    """Whether it is a cause that only has members fewer, or more, because its host has GPUs fewer, or more: nothing of
    it can be put back but the GPU."""
    around = [entry.part_of] if entry.part_of is not None else [each for _, each in entry.parts]
    of_others = {host for hosts, _ in entry.parts for host in hosts}.issuperset(entry.lead.hosts) or not entry.parts
    moves = [gpus_of(each) for each in around]
    return bool(moves) and of_others and all(
        each is not None and (entry.lead.fact in BOARDS or each.fewer * fewer_alone(entry.lead) > 0) for each in moves)


def happened(entry: Entry) -> str:
    """What it was, in a word; of GPUs, how many."""
    moves = gpus_of(entry)
    if moves is None:
        return entry.what
    count = abs(moves.fewer)
    parts = [f"{count} GPU{'s' * (count != 1)} {'fewer' if moves.fewer > 0 else 'more'}"] if count else []
    others = f"{moves.replaced} replaced" if parts else f"{moves.replaced} GPU{'s' * (moves.replaced != 1)} replaced"
    return ", ".join([*parts, *([others] if moves.replaced else [])])
