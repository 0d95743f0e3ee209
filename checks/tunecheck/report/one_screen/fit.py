"""What of a report fits on one screen, and what is left out: entries are said in a shorter way or counted, the fix of
what fails last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...model.finding import Finding
from ...util.at_first_use import dataclass
from ..style import Style, height, marked
from ..text_parts import counted

__all__ = ["LIMITS", "LIST", "SHORT_FIX", "WHY_LINES", "Entry", "fit", "of_checks"]

#: Lines that a row and its fix may take, 0: any number. The tersest first: from there, the worst entries grow first.
LIMITS = ((1, 2), (1, 3), (2, 3), (4, 4), (0, 0))
#: Lines of a sentence beside a fix that is shown whole, at least.
WHY_LINES = 2
#: A fix of so many lines is shown before a sentence has more than one.
SHORT_FIX = 2
#: The first of the limits that lets a sentence have these.
_WITH_WHY = next(at for at, (text, _) in enumerate(LIMITS) if text >= WHY_LINES)
#: Lines that a list of checks takes at least.
LIST = 2


@dataclass(frozen=True)
class Entry:
    """One entry of the problems. ``findings``: those that it stands for; ``ways``: its lines, one version for each of
    the limits; ``bare``: the shortest version without the fix; ``fixed``: as ``ways``, each with a fix that can be
    followed as it stands there; ``reason``: in short, why what is not known is not; ``stays``: it is not left out;
    ``alone``: nor is its fix, as nothing else in the report has it; ``brief``: ``bare`` and a short fix, empty where it
    is long or there is none."""

    outcome: str
    findings: tuple[Finding, ...]
    ways: tuple[list[str], ...]
    bare: list[str]
    fixed: tuple[list[str], ...]
    reason: str = ""
    stays: bool = False
    alone: bool = False
    brief: tuple[str, ...] = ()


def fit(entries: Sequence[Entry], style: Style, room: int) -> list[str]:
    """Return the lines that fit into ``room``. Entries are said in a short way, but for the fixes of what fails. What
    does not fit is left out: first unknown entries, then warnings, the last first; then the fixes of what does not
    fail, and at last those of the last entries that fail. What is not known makes room for the fixes of what is wrong.
    Where there is room, what fails is said at greater length, then the worst of the others; but no fix of what does not
    fail is shown while one of what fails is not. Which texts to add is left out where what comes first, and all that
    fails, get their fixes by that: -v says it as well."""
    entries = _with_fixed(entries, style, room)
    worst = _worst(entries)
    grave = [entry for entry in entries if entry is worst or (entry.outcome == "fail" and _has_fix(entry))]
    lines, said = _fitted(entries, style, room)
    if any(_lacks_fix(entry, said) for entry in grave):
        others, then = _fitted(entries, style, room, texts_last=True)
        if not any(_lacks_fix(entry, then) for entry in grave):
            return others
    return lines


def _fitted(entries: Sequence[Entry], style: Style, room: int,
            texts_last: bool = False) -> tuple[list[str], dict[int, list[str]]]:
    """Return the lines, and how each entry is said in them. ``texts_last``: which texts to add is no more than other
    fixes of what is not known."""
    order = {id(entry): at for at, entry in enumerate(entries)}
    worst = _worst(entries)
    left, out = list(entries), list[Entry]()
    said = {id(entry): entry.ways[0 if entry.outcome == "unknown" else 1] for entry in entries}

    def lines() -> list[str]:
        shown = [line for entry in left for line in said[id(entry)]]
        return shown + _more(out, style)

    for outcome in ("unknown", "warn"):
        for entry in [entry for entry in reversed(left) if entry.outcome == outcome and not entry.stays]:
            if height(lines(), style.width) > room:
                left.remove(entry)
                out.insert(0, entry)
        said = {id(entry): entry.ways[0] for entry in entries}
    if texts_last and height(lines(), style.width) > room:
        said.update({id(entry): entry.bare for entry in left if entry.outcome == "unknown"})
    for entry in sorted(reversed(left), key=lambda each: each.outcome == "fail"):
        if not entry.alone and height(lines(), style.width) > room:
            # A short fix of what comes first is worth its line wherever the screen ends.
            said[id(entry)] = list(entry.brief) if entry is worst and entry.brief else entry.bare
    for entry in [entry for entry in out if entry.outcome == "warn"]:
        # Rather each warning in a line than an entry at greater length.
        said[id(entry)] = entry.bare
        left.insert(sum(order[id(each)] < order[id(entry)] for each in left), entry)
        out.remove(entry)
        if height(lines(), style.width) > room:
            left.remove(entry)
            out.append(entry)
    out.sort(key=lambda entry: order[id(entry)])
    failed = [entry for entry in left if entry.outcome == "fail"]
    others = sorted((entry for entry in left if entry.outcome != "fail"), key=lambda each: each.outcome == "unknown")
    _grow(failed, said, style, room - height(lines(), style.width), in_order=True)
    if any(_lacks_fix(entry, said) for entry in failed):
        said.update({id(entry): entry.bare for entry in others if not entry.alone})
        _grow(failed, said, style, room - height(lines(), style.width), in_order=True)
    if any(_lacks_fix(entry, said) for entry in failed):
        others = [entry for entry in others if not _lacks_fix(entry, said)]
    _grow(others, said, style, room - height(lines(), style.width))
    return lines(), said


def _grow(group: Sequence[Entry], said: dict[int, list[str]], style: Style, spare: int, in_order: bool = False) -> None:
    """Say these entries at greater length, step by step, in so many ``spare`` lines more. ``in_order``: none gets a fix
    while one before it has none."""
    def longer(entry: Entry, lines: Sequence[str]) -> None:
        nonlocal spare
        more = height(lines, style.width) - height(said[id(entry)], style.width)
        waits = in_order and _lacks_fix(entry, said) and entry is not next(
            each for each in group if _lacks_fix(each, said))
        if more <= spare and not waits:
            said[id(entry)] = list(lines)
            spare -= more

    for entry in group:     # a short fix says more than the tail of a sentence
        if entry.brief and _lacks_fix(entry, said):
            longer(entry, entry.brief)
    for way in range(not in_order, len(LIMITS)):
        for entry in group:
            if way or _lacks_fix(entry, said):
                longer(entry, entry.ways[way])


def _lacks_fix(entry: Entry, said: Mapping[int, list[str]]) -> bool:
    """Whether an entry that has a fix is said without it."""
    return said[id(entry)] == entry.bare and _has_fix(entry)


def _worst(entries: Sequence[Entry]) -> Entry | None:
    """Return the first entry that says what is wrong and has a fix."""
    return next((entry for entry in entries if entry.outcome != "unknown" and _has_fix(entry)), None)


def _has_fix(entry: Entry) -> bool:
    return entry.bare != entry.ways[0]


def _with_fixed(entries: Sequence[Entry], style: Style, room: int) -> list[Entry]:
    """Return the entries. Those that fail, the worst first, have a fix that can be followed in each of their versions,
    as far as ``room`` is enough where everything else that can be left out is counted."""
    failed = [entry for entry in entries if entry.outcome == "fail"]
    stay = [entry for entry in entries if entry.stays and entry.outcome != "fail"]
    rest = [entry for entry in entries if entry not in failed and entry not in stay]
    least = [line for entry in (*failed, *stay)
             for line in (entry.ways[0] if entry.alone or entry in failed else entry.bare)]
    spare = room - height(least + _more(rest, style), style.width)
    kept = list(entries)
    for at, entry in enumerate(entries):
        for first in (_WITH_WHY, 0) if entry.outcome == "fail" else ():
            more = height(entry.fixed[first], style.width) - height(entry.ways[0], style.width)
            if more <= spare:
                spare -= more
                kept[at] = replace(entry, ways=(entry.fixed[first],) * first + entry.fixed[first:])
                break
    return kept


def _more(entries: Sequence[Entry], style: Style) -> list[str]:
    """Return lines that count by outcome the findings that were left out. Why most of them are not known is said before
    the list, whose end may be cut."""
    lines = []
    for outcome in ("fail", "unknown", "warn"):
        found = [finding for entry in entries for finding in entry.findings if finding.outcome == outcome]
        reasons = Counter(entry.reason for entry in entries for finding in entry.findings if finding.outcome == outcome)
        reason, count = max(reasons.items(), key=lambda each: (bool(each[0]), each[1]), default=("", 0))
        part = f"{count} of them " * (count < len(found))
        why = f", {part}{reason}" if reason and outcome == "unknown" else ""
        text = f"{of_checks(found, ' more')} (-v lists them){why}: {counted(found)}"
        lines += marked(outcome, text, style, LIST) if found else []
    return lines


def of_checks(findings: Sequence[Finding], more: str = "") -> str:
    """Return how many findings there are of how many checks: "3 checks", "12 more findings of 3 checks"."""
    ids = len({finding.id for finding in findings})
    checks = f"check{'s' * (ids > 1)}"
    return f"{ids}{more} {checks}" if ids == len(findings) else f"{len(findings)}{more} findings of {ids} {checks}"
