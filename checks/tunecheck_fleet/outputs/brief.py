"""An entry in one line of a terminal: what is open since an earlier night, or over, or does not count."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tunecheck.report.style import Style, safe, wrap
from tunecheck.util.host_names import fold

from ..entries import Entry
from ..fleet_report import Cause
from . import entry_words as words
from .decision_words import besides
from .lines import CUT, INDENT, cut, marked
from .text import kind

__all__ = ["brief", "briefs"]

#: On a narrower terminal the host and the cause stand first in a line.
_WIDE = 80
#: Characters of what is said in one line.
_SAID = 16
#: Characters of the names of hosts, and where there is little room.
_HOSTS, _FEWER = 30, 18


def briefs(findings: Sequence[Entry], style: Style, now: float) -> list[list[str]]:
    """Each in one line. Of what does not count all lines have one form."""
    whole = findings[0].lead.counts or all(_in_full(each, style, now) for each in findings)
    return [brief(each, style, now, whole) for each in findings]


def brief(finding: Entry, style: Style, now: float, whole: bool = True) -> list[str]:
    """Not ``whole``: host and cause first in any case."""
    line = (_in_full(finding, style, now) if whole else None) or _hosts_first(finding, style, now)
    lines = [cut(line, style)] if line is not None else wrap(_all_of_it(finding, style, now), style.width, INDENT)
    return [marked(lines[0], _mark(finding.lead)) if style.colour else lines[0], *lines[1:]]


def _in_full(finding: Entry, style: Style, now: float) -> str | None:
    """The line that begins with what is never cut; None where it leaves no room for values, or for what is said. The
    names of other checks that fail are worth more than the end of what is said, and than its age."""
    cause, title = finding.lead, words.title(finding)
    titles = [f"{title} and {names}" for names in words.other_checks(finding)] or [title]
    for each, less in product(titles, (False, True)) if style.width >= _WIDE else ():
        about = ", ".join(filter(None, (*_known(cause), *_decided(finding, now), _age(cause, now, less))))
        told = f"{_head(cause)}{about}{'  ' if about else ''}{each} on {fold(cause.hosts, _HOSTS)}"
        for group in (f" ({cause.group})", ""):
            if (line := _with_values(told + group, finding, style)) is not None:
                return line
    return None


def _hosts_first(finding: Entry, style: Style, now: float) -> str | None:
    """As _in_full. Neither host nor cause is ever cut off, nor its values, nor all that is said of it, nor what
    somebody decided. What there is no room for at all is left out: since when, then other checks."""
    known, age = _known(finding.lead), _age(finding.lead, now, True)
    rests = [", ".join(rest) for rest in ([*known, *filter(None, [age])], known) if rest]
    # Of many hosts fewer are named before a line becomes two.
    for most, names in product((_HOSTS, _FEWER), (*(f" and {each}" for each in words.other_checks(finding)), "")):
        told = _host_and_title(finding, now, most)
        if (line := _with_values(told + names, finding, style)) is not None:
            return next((more for rest in rests if len(more := safe(f"{line}; {rest}")) <= style.width), line)
    return None


def _all_of_it(finding: Entry, style: Style, now: float) -> str:
    """What there is no room for in one line, in as few as it takes; of a sentence its beginning."""
    told, says = _host_and_title(finding, now), words.says_within(finding, style.width - INDENT - 1, _SAID)
    if says is None:
        says = _says(finding)
    return safe(f"{told}{': ' if says else ''}{says[:style.width]}{'...' if len(says) > style.width else ''}")


def _host_and_title(finding: Entry, now: float, most: int = _HOSTS) -> str:
    cause, decided = finding.lead, ", ".join(_decided(finding, now))
    return f"{_head(cause)}{decided}{'  ' if decided else ''}{fold(cause.hosts, most)}: {words.title(finding)}"


def _with_values(told: str, finding: Entry, style: Style) -> str | None:
    """The line with what it says, of which a sentence may be cut; None where there is no room for it."""
    told = safe(told)
    room = style.width - len(told)
    if not (whole := _says(finding)):
        return told if room >= 0 else None
    if len(safe(whole)) + 2 <= room:
        return f"{told}: {safe(whole)}"
    says = words.says_within(finding, room - 2, _SAID + CUT)
    return None if says is None else f"{told}: {safe(says)}" if says else told if room >= 0 else None


def _says(finding: Entry) -> str:
    """Of what is over also how many facts came back with it: there is no other line of it."""
    count = len(finding.more) if finding.lead.state == "resolved" else 0
    return "; ".join(filter(None, (words.says(finding),
                                   f"{words.plural(count, 'more fact')} (-v lists them)" if count else "")))


def _mark(cause: Cause) -> str:
    return words.severity(cause) if cause.counts else kind(cause).upper()


def _head(cause: Cause) -> str:
    # By the id it is found again in what was told of it while it was open.
    shows_id = cause.counts or cause.state == "resolved"
    return f"{_mark(cause):<{INDENT}}{f'{cause.id}  ' if cause.id and shows_id else ''}"


def _known(cause: Cause) -> list[str]:
    return ["known"] * (kind(cause) == "known")


def _decided(finding: Entry, now: float) -> list[str]:
    return [*words.remarks(finding.lead, now), *filter(None, [besides(finding, 0)])]


def _age(cause: Cause, now: float, short: bool) -> str:
    return words.age(cause, now, short) if kind(cause) != "resolved" else ""
