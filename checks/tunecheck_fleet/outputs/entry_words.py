"""What a report for people says about one entry: its hosts, its age, what it takes to put it back, who is at work on
it."""

from __future__ import annotations

from collections.abc import Sequence

from tunecheck.util.text import some

from ..entries import Entry, happened
from ..fleet_report import Cause, Wave
from .text import ago, clock, fold, interval, titled

__all__ = ["FEW", "NAMES", "acknowledgement", "age", "below", "expected", "more", "named_hosts", "needs", "plural",
           "wave"]

#: What it takes (Entry.fix of the registry of facts), as a noun; `tunecheck explain` knows each word.
_TAKES = {"reload": "a reload", "reboot": "a reboot", "firmware": "a firmware change", "hands-on": "hands-on work"}
#: Characters of host names in one entry without -v, and what a terminal shows in one line without it.
NAMES, FEW = 120, 3


def acknowledgement(cause: Cause) -> str:
    """Who is at work on it, and of which hosts that was said."""
    decision = cause.acknowledged
    assert decision is not None
    left = len(cause.hosts) - len(cause.covered)
    parts = [f"acknowledged by {decision.author} ({clock(decision.created)})",
             f"owner {decision.owner}" if decision.owner else "",
             decision.link, decision.note, f"not of {plural(left, 'host')}" if left else ""]
    return "; ".join(part for part in parts if part)


def age(cause: Cause, now: float) -> str:
    return "" if cause.since is None else f"#{cause.since.seen} {ago(cause.since.seen_at, now)}"


def expected(cause: Cause) -> str:
    """Of a clone it is no list of hosts that would stand behind the other one; of a check that names no value, nothing
    is said."""
    if cause.expected == "desired state":
        return ""
    return f"expected {cause.expected} alone" if cause.authority == "identity" and cause.expected == "one host" else \
        cause.expected


def named_hosts(names: Sequence[str], verbose: bool) -> str:
    return f"{plural(len(names), 'host')}: {fold(names, 0 if verbose else NAMES)}"


def more(finding: Entry) -> str:
    """What the same thing moved besides: checks that fail by their names, facts too where they are few."""
    failing = list(dict.fromkeys(titled(each) for each in finding.more if each.outcome == "fail"))
    named = failing or list(dict.fromkeys(titled(each) for each in finding.more))
    few = len(named) == len(finding.more) and len(named) <= FEW
    fail = sum(each.outcome == "fail" for each in finding.more)
    count = f"{fail} fail{'ed' * (finding.lead.state == 'resolved')}: "
    names = f" ({'' if few else count if failing else ''}{some(named, FEW, ', ')})" if few or failing else ""
    return f"{plural(len(finding.more), 'more fact')} of the same audit: {happened(finding)}{names}" \
           f"{'' if few else ' (-v lists them)'}"


def below(finding: Entry) -> str:
    """Of an entry that has few lines, how many failures stand below the one that leads."""
    fail = sum(each.outcome == "fail" for each in finding.more)
    return f"{plural(fail, 'more failure')} with it (-v)" if fail else ""


def needs(cause: Cause) -> str:
    """What it takes to put the value back, or what the fix of a check's finding takes; "" where it takes nothing.
    What changed is so already: a reader must not take it for a change that waits for a reboot."""
    if cause.fix in ("none", ""):
        return ""
    takes = _TAKES.get(cause.fix, cause.fix)
    return f"its fix needs {takes}" if cause.outcome else f"to put it back: {takes}"


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def wave(wave: Wave, verbose: bool, now: float) -> str:
    names = fold(wave.hosts, 0 if verbose else NAMES)
    return f"{names}: since {interval(wave.since, now)}" if wave.state == "new" else \
        f"{interval(wave.since, now)}: {names}"
