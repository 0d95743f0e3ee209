"""What a fleet report for people says of hosts that did not answer, or not wholly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tunecheck.report.style import Style, safe, wrap
from tunecheck.util.host_names import fold

from ..fleet_report import FleetReport, HostRow
from .entry_words import named_hosts, plural
from .lines import INDENT, entry, short
from .text import gaps

__all__ = ["incomplete"]

#: Characters of host names beside the word in a line that is cut.
_FIT = 30


def incomplete(report: FleetReport, style: Style, verbose: bool, tight: bool, known: bool) -> Iterator[list[str]]:
    """In few lines the hosts stand in the first, and what to do about it in the second. ``known``: those that answered
    and do not know some facts, and not those that did not answer, or not wholly."""
    found = [each for each in gaps(report.hosts) if (each[0] == "ok") == known]
    for status, reason, rows in _by_status(found) if tight and not known else found:
        answered = status in ("ok", "partial")
        count = _with_most(rows) if status == "ok" else 0
        if count:
            reason = f"{count} of them: {reason}; the others: -v" if not verbose else f"{count} of them: {reason}"
        parts = [named_hosts([row.host for row in rows], verbose), reason,
                 _missing(rows) if answered else _last(rows)]
        if verbose and answered and style.width:    # in a pipe all of it would be one line
            parts[1:] = [*_reasons(rows)] or [reason]
        if status == "ok" and not verbose:
            parts = [f"{parts[0]}; {_missing(rows)}", reason]
        word = "waiting" if all(row.waits for row in rows) else status if status != "ok" else "some facts unknown"
        # A host of which some facts are unknown told all that it can: the exit code does not go by it, so neither does
        # the word.
        label = "INCOMPLETE" if status != "ok" else "NOTE"
        if not tight:
            yield entry(label, parts, style, word)
            continue
        who = f"{plural(len(rows), 'host')}: {fold([row.host for row in rows], _FIT)}"
        facts = plural(len({fact for row in rows for fact in row.unknown}), "fact")
        if status != "ok":
            yield short(label, parts, style, word)
            continue
        lines = short(label, [who], style, word)
        why = f"{facts}; {reason}" if count else f"{facts}: {reason}"
        yield [*lines, *wrap(safe(f"{' ' * INDENT}{why}"), style.width, INDENT)]


def _by_status(found: Sequence[tuple[str, str, list[HostRow]]]) -> Iterator[tuple[str, str, list[HostRow]]]:
    """One of each status, with the reason that most of its hosts have: every host counts, and is in one of them."""
    for status in dict.fromkeys(each[0] for each in found):
        alike = [each for each in found if each[0] == status]
        more = len(alike) - 1
        reason = f"{more} other reason{'s' * (more != 1)} (-v); {alike[0][1]}" if more else alike[0][1]
        yield status, reason, [row for _, _, rows in alike for row in rows]


def _with_most(rows: Sequence[HostRow]) -> int:
    """How many facts are unknown for the reason that most have; 0 where it is the reason of all."""
    counts = [Counter(row.unknown.values()).most_common() for row in rows]
    return max(each[0][1] for each in counts if each) if any(len(each) > 1 for each in counts) else 0


def _missing(rows: Iterable[HostRow]) -> str:
    facts = sorted({fact for row in rows for fact in row.unknown})
    return f"{plural(len(facts), 'fact')} unknown in all: {fold(facts, 120)}" if facts else ""


def _reasons(rows: Iterable[HostRow]) -> Iterator[str]:
    """Every fact that is unknown, with those that are unknown for the same reason."""
    why: dict[str, set[str]] = {}
    for row in rows:
        for fact, reason in row.unknown.items():
            why.setdefault(reason, set()).add(fact)
    for reason, facts in sorted(why.items(), key=lambda each: (-len(each[1]), each[0])):
        yield f"unknown: {', '.join(sorted(facts))}: {reason}"


def _last(rows: list[HostRow]) -> str:
    """Since when nothing was heard; what never answered is said, too."""
    answered_in = [row.last_ok for row in rows if row.last_ok is not None]
    if not answered_in:
        return "never answered yet"
    first, last = min(answered_in), max(answered_in)
    spread = f"#{first}" if first == last else f"#{first} to #{last}"
    never = len(rows) - len(answered_in)
    return f"last answered in {spread}{f'; {never} never yet' if never else ''}"
