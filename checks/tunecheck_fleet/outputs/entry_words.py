"""What a report for people says about one entry: its hosts, its age, what it takes to put it back, who is at work on
it."""

from __future__ import annotations

from collections.abc import Sequence

from tunecheck.report.style import safe
from tunecheck.util.host_names import fold
from tunecheck.util.text import some

from ..entries import Entry, as_asked, gpus_of, happened, only_counts
from ..events.first import before
from ..events.gpu_moves import GpuMoves
from ..fleet_report import Cause, Since, Wave
from ..own_command import own_command
from .fix_words import placed
from .text import ago, change, clock, in_words, interval, kind, titled

__all__ = ["FEW", "NAMES", "acknowledgement", "age", "approving", "below", "expected", "fix", "judgement", "lead",
           "more", "named_hosts", "needs", "other_checks", "over", "part_of", "plural", "remarks", "says",
           "says_within", "severity", "silence", "title", "wave", "what_asks"]

#: What it takes (Entry.fix of the registry of facts), as a noun; `tunecheck explain` knows each word.
_TAKES = {"reload": "a reload", "reboot": "a reboot", "firmware": "a firmware change", "hands-on": "hands-on work"}
#: Characters of host names in one entry without -v, and what a terminal shows in one line without it.
NAMES, FEW = 120, 3
#: What a fix begins with where no host of a cause answered.
_STILL = "if it is still so when it answers"
#: Characters of a value, where there is little room.
_SHORTER = (60, 40, 30, 24, 18, 15, 12)
#: Characters of somebody's own words in one line.
_NOTE = 30


def acknowledgement(cause: Cause) -> str:
    """Who is at work on it, and of which hosts that was said."""
    decision = cause.acknowledged
    assert decision is not None
    left = len(cause.hosts) - len(cause.covered)
    # On a host that has several of one thing somebody may be at work on one of them.
    beside = f"not of {plural(left, 'host')}" if cause.covered else "not of all of it"
    parts = [f"acknowledged by {decision.author} ({clock(decision.created)})",
             f"owner {decision.owner}" if decision.owner else "",
             decision.link, decision.note, beside if left else ""]
    return "; ".join(part for part in parts if part)


def silence(cause: Cause, now: float | None = None) -> list[str]:
    """That its hosts are silent, so that it is told as they were last heard, and how old that is (without ``now`` the
    time)."""
    if not cause.last_heard or cause.state == "resolved":
        return []
    first, last = cause.last_heard[0], cause.last_heard[-1]
    count = sum(len(each.hosts) for each in cause.last_heard)
    who = "silent" if count == len(cause.hosts) else f"{count} of {len(cause.hosts)} silent"
    if kind(cause) == "standing" and count < len(cause.hosts):      # a note says when these were heard
        return [who]
    when = f"#{last.audit}" if first == last else f"#{first.audit} to #{last.audit}"
    return [f"{who} (last heard in {when}, {clock(first.at) if now is None else _ago(first.at, now)})"]


def remarks(cause: Cause, now: float) -> list[str]:
    """What somebody decided of it, and what it is beside new or known: in a line that is cut it stands before all that
    may be cut off. What a line begins with (WAIVED) says the same itself, but by whom."""
    found = []
    if cause.counts and cause.acknowledged:
        left = len(cause.hosts) - len(cause.covered)
        who = cause.acknowledged.owner or cause.acknowledged.author
        on = f" on {len(cause.covered)} of {len(cause.hosts)}" if cause.covered else " in part"
        found.append(f"acknowledged{on * bool(left)} ({who})")
    if not cause.counts and cause.state != "resolved":
        if cause.waived:
            found.append(f"by {cause.waived.author}")
        elif cause.approved:
            why = cause.approved.note if len(cause.approved.note) <= _NOTE else f"{cause.approved.note[:_NOTE]}..."
            found.append(f"by {cause.approved.author}{f' ({why})' if why else ''}")
    found += [cause.severity] if kind(cause) == "standing" else []
    found += [f"as {_asks(cause)}"] if as_asked(cause) and cause.counts else []
    if cause.untold:
        found.append(f"{len(cause.untold)} of {len(cause.hosts)} cannot be told now")
    return [*found, *silence(cause, now), *["flapping"] * bool(cause.flapping), *["rollout"] * cause.rollout]


def severity(cause: Cause) -> str:
    """What stands first: how bad it is, which nobody knows of what could not be judged."""
    return "UNKNOWN" if cause.unjudged else cause.severity.upper()


def age(cause: Cause, now: float, short: bool = False) -> str:
    """``short``: for a line that has no room."""
    if cause.since is None:
        return ""
    when = _ago(cause.since.seen_at, now)
    return f"#{cause.since.seen} {when}" if short else f"since #{cause.since.seen} ({when})"


def _ago(seconds: float, now: float) -> str:
    return f"just {word}" if (word := ago(seconds, now)) == "now" else word


def judgement(finding: Entry) -> str:
    """As expected(); where the change is right, that is said in place of it."""
    return "" if finding.mended else expected(finding.lead)


def expected(cause: Cause) -> str:
    """Of a clone it is no list of hosts that would stand behind the other one; of a check that names no value, nothing
    is said."""
    if cause.expected == "desired state":
        return ""
    return f"expected {cause.expected} alone" if cause.authority == "identity" and cause.expected == "one host" else \
        cause.expected


def named_hosts(names: Sequence[str], verbose: bool) -> str:
    return f"{plural(len(names), 'host')}: {fold(names, 0 if verbose else NAMES)}"


def title(finding: Entry) -> str:
    """What stands first: what happened to the GPUs, else the fact that leads."""
    moves = gpus_of(finding)
    if moves is None:
        return titled(finding.lead)
    if finding.lead.state == "resolved":
        return happened(finding)
    count = f" ({moves.now} of {moves.before})" if moves.fewer > 0 else f" ({moves.now}, before {moves.before})" \
        if moves.fewer else ""
    return happened(finding) + count


def says(finding: Entry) -> str:
    """What stands behind the title: which boards they are, where that is known, else the fact that leads and how it
    changed."""
    moves = gpus_of(finding)
    if moves is None:
        return change(finding.lead)
    if finding.lead.state == "resolved":
        return ""
    place = f"missing at {some(moves.places, FEW, ', ')}" if moves.places and moves.fewer > 0 else ""
    return "; ".join(part for part in (_boards(moves), place) if part) or lead(finding)


def says_within(finding: Entry, room: int, least: int = 0) -> str | None:
    """The same in ``room`` characters: values are made shorter, each where it is like the other one, and none is cut
    off. None: there is no room. A sentence may be cut off at its end, where ``least`` characters of it are left."""
    said = says(finding)
    if len(safe(said)) <= room:
        return said
    if gpus_of(finding) is not None:
        return None
    if in_words(finding.lead):
        return said if room >= least > 0 else None
    return next((said for longest in _SHORTER if len(safe(said := change(finding.lead, longest))) <= room), None)


def lead(finding: Entry) -> str:
    """The fact that leads and how it changed, where the title does not say it."""
    cause = finding.lead
    if gpus_of(finding) is None:
        return ""
    return f"{titled(cause)}{':' * in_words(cause)} {change(cause)}"


def _boards(moves: GpuMoves) -> str:
    """"serial 165402 is gone; serial 165403 came"; each with its host where these are of several."""
    hosts = sorted({*moves.gone, *moves.came})
    parts = []
    for host in hosts[:FEW]:
        gone, came = moves.gone.get(host, ()), moves.came.get(host, ())
        own = [f"{moves.word} {some(names, FEW, ', ')} {verb}" for names, verb in (
            (gone, "is gone" if len(gone) == 1 else "are gone"), (came, "came")) if names]
        parts.append((f"{host}: " if len(hosts) > 1 else "") + ", ".join(own))
    return "; ".join(parts) + (f"; and on {plural(len(hosts) - FEW, 'more host')}" if len(hosts) > FEW else "")


def more(finding: Entry, listed: bool = False) -> str:
    """What the same thing moved besides: checks that fail by their names, facts too where they are few. ``listed``: all
    of it stands below."""
    # What happened to GPUs is the title.
    what = "" if gpus_of(finding) is not None else f": {happened(finding)}"
    when = "the same audit" if finding.one_audit else "the same audit and of later ones"
    count = f"{plural(len(finding.more), 'more fact')} of {when}{what}"
    if listed:
        return f"{count}, below"
    failing = list(dict.fromkeys(map(titled, _failing(finding))))
    named = failing or list(dict.fromkeys(titled(each) for each in finding.more))
    few = len(named) == len(finding.more) and len(named) <= FEW
    if failing and len(named) > FEW:
        named = _checks(finding)
    fail = sum(each.outcome == "fail" for each in finding.more)
    failed = f"{fail} fail{'ed' * (finding.lead.state == 'resolved')}: "
    names = f" ({failed if failing else ''}{some(named, FEW, ', ')})" if few or failing else ""
    return f"{count}{names}{'' if few else ' (-v lists them)'}"


def below(finding: Entry, room: int) -> str:
    """Of an entry that has few lines, how many failures stand below the one that leads, and of which checks, as far as
    there is room: the count alone is always there."""
    count = len(_failing(finding))
    if not count:
        return ""
    said, names = plural(count, "more failure"), _checks(finding)
    ways = (f"{said}: {some(names, most, ', ')} (-v)" for most in range(min(FEW, len(names)), 0, -1))
    return next((way for way in ways if len(way) <= room), f"{said} with it (-v)")


def other_checks(finding: Entry) -> list[str]:
    """In a few words, from the longest to the shortest, which other checks fail in an entry that is open."""
    names = [each for each in _checks(finding) if each != finding.lead.fact and finding.lead.state != "resolved"]
    return [some(names, most, ", ") for most in range(min(FEW, len(names)), 0, -1)]


def _checks(finding: Entry) -> list[str]:
    return list(dict.fromkeys(each.fact for each in _failing(finding)))


def _failing(finding: Entry) -> list[Cause]:
    """What fails below the one that leads; first what that one's fix does not end."""
    ended = (finding.lead.fact, *before(finding.lead))
    return sorted((each for each in finding.more if each.outcome == "fail"), key=lambda each: each.fact in ended)


def part_of(finding: Entry) -> str:
    """Of which entry it is a part, with -v; of several, on which hosts of each."""
    if finding.part_of is not None:
        return f"part of {_whole(finding.part_of)}"
    return ", ".join(f"part of {_whole(entry)} on {fold(hosts, NAMES)}" for hosts, entry in finding.parts)


def _whole(entry: Entry) -> str:
    return f"{entry.lead.id}{' ' * bool(entry.lead.id)}({happened(entry)})"


def needs(finding: Entry) -> str:
    """What it takes to put the value back, or what the fix of a check's finding takes; "" where it takes nothing.
    What changed is so already: a reader must not take it for a change that waits for a reboot."""
    if only_counts(finding):
        return "only the number of GPUs changed"
    if finding.mended:
        return f"changed as {_asks(finding.lead)}" if finding.lead.asked_by else f"changed to {what_asks(finding.lead)}"
    cause = finding.lead
    # What somebody approved, or our own roles did, is as it should be.
    if cause.fix in ("none", "") or cause.approved or (cause.intended and not cause.counts):
        return ""
    takes = _TAKES.get(cause.fix, cause.fix)
    if not cause.outcome and cause.fix == "reboot" and not _is_of_boot(cause.fact):
        takes = "undo it and reboot"
    # Of hosts that are silent the value is the last one known.
    still = f"{_STILL}, " if cause.silent else ""
    return f"{still}its fix needs {takes}" if cause.outcome else f"{still}to put it back: {takes}"


def _asks(cause: Cause) -> str:
    """Who asks for its change."""
    return f"the fix of {some(cause.asked_by, FEW, ', ')} says" if cause.asked_by else "the specification asks"


def what_asks(cause: Cause) -> str:
    """What a change is that is as it should be."""
    return f"what {_asks(cause)}" if cause.asked_by else "what the specification asks for"


def fix(cause: Cause) -> str:
    """What is to be done, and where; where none of its hosts answered, only if it is still so."""
    return f"{_STILL}: {placed(cause)}" if cause.silent and cause.remedy else placed(cause)


def _is_of_boot(fact: str) -> bool:
    """Whether a reboot brings the earlier value back by itself; another package, or a word in a file, stays."""
    from tunecheck.facts.registry import entry_of  # start-up time: it names every fact of a box

    entry = entry_of(fact)
    return entry is None or entry.of_boot


def approving(finding: Entry) -> str:
    """The command that takes a change for good that is what the specification asks for; "" of any other."""
    whole = finding.part_of or finding      # whose approval covers its parts
    return own_command("approve {id} --note WHY", id=whole.lead.id) if finding.mended and whole.lead.id else ""


def over(cause: Cause, verbose: bool, now: float | None = None) -> list[str]:
    """When it ended; where that was not together on all its hosts, for each."""
    ends: dict[Since, list[str]] = {}
    for host, since in sorted(cause.ended.items()):
        ends.setdefault(since, []).append(host)
    return [f"over since {interval(since, now)}{f': {fold(names, 0 if verbose else NAMES)}' * (len(ends) > 1)}"
            for since, names in sorted(ends.items(), key=lambda item: (item[0].seen, item[0].after or 0))]


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def wave(wave: Wave, verbose: bool, now: float) -> str:
    names = fold(wave.hosts, 0 if verbose else NAMES)
    return f"{names}: since {interval(wave.since, now)}" if wave.state == "new" else \
        f"{interval(wave.since, now)}: {names}"
