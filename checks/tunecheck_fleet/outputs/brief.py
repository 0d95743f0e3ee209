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
#: Characters of the names of hosts.
_HOSTS = 30


def briefs(findings: Sequence[Entry], style: Style, now: float) -> list[list[str]]:
    """Each in one line. Of what does not count all lines have one form."""
    whole = findings[0].lead.counts or all(_in_full(each, style, now) for each in findings)
    return [brief(each, style, now, whole) for each in findings]


def brief(finding: Entry, style: Style, now: float, whole: bool = True) -> list[str]:
    """Not ``whole``: host and cause first in any case."""
    told, line = (_in_full(finding, style, now) if whole else None) or _hosts_first(finding, style, now)
    lines = [cut(line, style)] if len(safe(told)) + CUT <= style.width else wrap(safe(told), style.width, INDENT)
    return [marked(lines[0], _mark(finding.lead)) if style.colour else lines[0], *lines[1:]]


def _in_full(finding: Entry, style: Style, now: float) -> tuple[str, str] | None:
    """The part that is never cut, and the line that begins with it; None where it leaves no room for what is said. The
    names of other checks that fail are worth more than the end of what is said, and than its age."""
    cause, says, title = finding.lead, _says(finding), words.title(finding)
    titles = [f"{title} and {names}" for names in words.other_checks(finding)] or [title]
    for each, less in product(titles, (False, True)):
        about = ", ".join(filter(None, (*_known(cause), *_decided(finding, now), _age(cause, now, less))))
        told = f"{_head(cause)}{about}{'  ' if about else ''}{each} on {fold(cause.hosts, _HOSTS)}"
        if style.width >= _WIDE and len(safe(told)) + min(_SAID, len(says)) + CUT <= style.width:
            return told, safe(f"{told} ({cause.group}){': ' if says else ''}{says}")
    return None


def _hosts_first(finding: Entry, style: Style, now: float) -> tuple[str, str]:
    """As _in_full. Neither host nor cause is ever cut off, nor all that is said of it, nor what somebody decided."""
    cause, says, decided = finding.lead, _says(finding), ", ".join(_decided(finding, now))
    told = f"{_head(cause)}{decided}{'  ' if decided else ''}{fold(cause.hosts, _HOSTS)}: {words.title(finding)}"
    told += next((f" and {names}" for names in words.other_checks(finding)
                  if len(safe(f"{told} and {names}")) + CUT <= style.width), "")
    rest = ", ".join(filter(None, (*_known(cause), _age(cause, now, True))))
    return told, safe("; ".join(filter(None, (f"{told}{': ' if says else ''}{says}", rest))))


def _says(finding: Entry) -> str:
    """Of what is over also how many facts came back with it: there is no other line of it."""
    count = len(finding.more) if finding.lead.state == "resolved" else 0
    return "; ".join(filter(None, (words.says(finding),
                                   f"{words.plural(count, 'more fact')} (-v lists them)" if count else "")))


def _mark(cause: Cause) -> str:
    return words.severity(cause) if cause.counts else kind(cause).upper()


def _head(cause: Cause) -> str:
    return f"{_mark(cause):<{INDENT}}{f'{cause.id}  ' if cause.counts and cause.id else ''}"


def _known(cause: Cause) -> list[str]:
    return ["known"] * (kind(cause) == "known")


def _decided(finding: Entry, now: float) -> list[str]:
    return [*words.remarks(finding.lead, now), *filter(None, [besides(finding, 0)])]


def _age(cause: Cause, now: float, short: bool) -> str:
    return words.age(cause, now, short) if kind(cause) != "resolved" else ""
