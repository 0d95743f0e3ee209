"""What an audit comes to: causes, splits, gaps. Every output is written from a FleetReport alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from tunecheck.model.command import Command, limited
from tunecheck.util.at_first_use import dataclass
from tunecheck.util.host_names import fold, natural

from .fixes import Fix, on_hosts, said
from .model import AuditHead, Problem, Status

__all__ = ["Authority", "Before", "Began", "Cause", "Decision", "FleetReport", "HostRow", "LastHeard", "Note", "Since",
           "Split", "State", "Waived", "Wave", "Whose"]

#: Who says that the value is not what it should be: the spec's rules; the box's own earlier self; most of its group;
#: the role's dry run; the box being unlike every other where it must be (duplicate serial) or unlike before (replaced);
#: or, where a host was named to compare with, that host.
Authority = Literal["desired", "previous", "majority", "role", "identity", "reference"]
#: By what a host began to differ from most of its group: its own value changed; it was so when the host was first
#: heard; most of the others changed; it was moved to another group; else so many others have one value only since then.
#: Empty: it is no such cause, or not on all of its hosts by one of these.
Began = Literal["", "changed", "first", "others", "regrouped", "share"]
#: Whose a value is that stands beside the one of a host: the host had it itself, most of the others have it, or the
#: host has it that was named to compare with.
Whose = Literal["own", "others", "reference"]

#: Characters of the names of groups.
_GROUPS = 60

#: new in this audit; grown: hosts that have it longer, and others that are new in this audit; known: longer, on all of
#: them; resolved by this audit.
State = Literal["new", "grown", "known", "resolved"]


class Note(str):
    """A line for people, with what code has to know of it. ``facts``: the names of the facts, or checks, that it is
    about. ``hides``: it says that changes are left out of the report, so it stays where only a part is shown; as
    it does in the report of each of its ``hosts``. ``first``: before the others, as the next step goes by it.
    ``parts``: of one that stands for several facts, the same of each."""

    facts: tuple[str, ...]
    hides: bool
    hosts: tuple[str, ...]
    first: bool
    parts: tuple[Note, ...]

    def __new__(cls, text: str, *facts: str, hides: bool = False, hosts: tuple[str, ...] = (),
                first: bool = False, parts: tuple[Note, ...] = ()) -> Note:
        made = super().__new__(cls, text)
        made.facts, made.hides, made.hosts, made.first, made.parts = facts, hides, hosts, first, parts
        return made


@dataclass(frozen=True)
class Since:
    """When a value came: after audit ``after`` (the last one that saw another value; None: it was so when it could
    first be told) and not later than audit ``seen``. ``untold``: where that is None, the host was known before, and
    did not tell it. Times are the control node's."""

    seen: int
    seen_at: float
    after: int | None = None
    after_at: float | None = None
    untold: bool = False

    def known_from(self, first: int) -> Since:
        """The same, of a host that is known since audit ``first`` (0: nobody knows)."""
        untold = self.after is None and 0 < first < self.seen
        return self if untold == self.untold else replace(self, untold=untold)


@dataclass(frozen=True)
class Decision:
    """What somebody said of a finding, as of audit ``audit``: approved (it is the baseline from there on) or
    acknowledged (somebody is at work on it: ``owner``, ``link`` to a ticket). ``finding``: the id it was named by."""

    id: int
    kind: Literal["approve", "acknowledge"]
    audit: int
    finding: str
    title: str
    author: str
    owner: str
    link: str
    note: str
    created: float
    ended: float | None = None


@dataclass(frozen=True)
class Wave:
    """The hosts of a cause that have it since the same two audits."""

    since: Since | None
    hosts: tuple[str, ...]
    state: Literal["new", "known", "resolved"]


@dataclass(frozen=True)
class Before:
    """A value that is another one than that of these hosts, and whose it is."""

    value: Any
    whose: Whose
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class LastHeard:
    """Hosts that did not answer, the last audit that they answered in, and its time."""

    audit: int
    at: float
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Cause:
    """One thing that happened, on as many hosts as it happened on: its identity is the destination value.

    ``before`` and ``value`` are canonical JSON or None for absent; for desired causes ``subject`` names what the check
    judged. ``expected`` is the sentence's other half: "desired pt", "differs from 299 of 300 in h100-a", "changed".
    ``intended``: our own roles ran on the box between the two audits. ``since`` is that of the hosts that have it
    longest; ``waves`` has every host with its own, the oldest first (empty: all of them as the cause itself says).
    """

    authority: Authority
    severity: Literal["low", "medium", "high"]
    fact: str
    group: str
    hosts: tuple[str, ...]
    value: Any
    before: Any
    expected: str
    fix: str
    since: Since | None
    state: State
    subject: str = ""
    text: str = ""
    remedy: str = ""
    commands: tuple[Command, ...] = ()
    #: fail, warn or unknown, of a desired cause; and what the check says, as a code.
    outcome: str = ""
    code: str = ""
    #: Of what cannot be told now, what was found before: fail, warn, or "" (nothing, or it was never known).
    was: str = ""
    #: Those of its hosts that cannot tell it now, beside others that do: there it was so when it could be told last.
    untold: tuple[str, ...] = ()
    #: Why it is unknown, and what told nothing, as in Problem.
    absence: str = ""
    source: str = ""
    intended: bool = False
    #: A warning of the desired state that the box had when it was first heard, or that came when our own roles ran on
    #: it: it goes with what was asked for.
    standing: bool = False
    rollout: bool = False
    flapping: tuple[str, ...] = ()
    waived: Waived | None = None
    #: It differs from the others, and somebody approved that.
    approved: Decision | None = None
    #: Somebody has acknowledged it, on these of its hosts.
    acknowledged: Decision | None = None
    covered: tuple[str, ...] = ()
    #: The same from night to night, for as long as it is open.
    id: str = ""
    waves: tuple[Wave, ...] = ()
    #: The hosts on which the change is what the specification asks for, or what the fixes of the checks ``asked_by``
    #: say: nothing is to be put back there.
    asked: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()
    #: Where ``remedy`` is of several steps, or not the same for all hosts: what each of them has to do.
    fixes: tuple[Fix, ...] = ()
    #: Those of its hosts that are silent: they have it as far as is known.
    last_heard: tuple[LastHeard, ...] = ()
    #: Of what is over, host -> when it ended. Values and ``since`` are those that it had while it was open.
    ended: Mapping[str, Since] = field(default_factory=dict)
    #: By what it began that the hosts differ from most of their group.
    began: Began = ""
    #: What stands beside ``value`` on each of the hosts, that of most first, which is ``before``: whether they had that
    #: themselves, or others have it. Empty: as ``began`` says of all of them.
    befores: tuple[Before, ...] = ()
    #: Where its hosts are of several groups, which of these each is of; ``group`` has all their names.
    group_of: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_waves(self) -> tuple[Wave, ...]:
        """The waves, at least one."""
        return self.waves or (Wave(self.since, self.hosts, "known" if self.state == "grown" else self.state),)

    @property
    def all_befores(self) -> tuple[Before, ...]:
        """``befores``, at least one."""
        others = self.began in ("first", "others", "regrouped", "share")
        whose: Whose = "others" if others else "reference" if self.authority == "reference" else "own"
        return self.befores or (Before(self.before, whose, self.hosts),)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of its hosts."""
        return tuple(sorted({*self.group_of.values()}, key=natural)) if self.group_of else (self.group,)

    def of_group(self, group: str) -> tuple[str, ...]:
        """Those of its hosts that are of the group."""
        if not self.group_of:
            return self.hosts if group == self.group else ()
        return tuple(host for host in self.hosts if self.group_of[host] == group)

    @property
    def new_hosts(self) -> tuple[str, ...]:
        """The hosts for which it is new in this audit."""
        return tuple(host for wave in self.all_waves if wave.state == "new" for host in wave.hosts)

    def on(self, hosts: Collection[str]) -> Cause:
        """The same cause, on these of its hosts alone; its plays are limited to them."""
        waves = tuple(replace(wave, hosts=left) for wave in self.all_waves
                      if (left := tuple(host for host in wave.hosts if host in hosts)))
        states = {wave.state for wave in waves}
        covered = tuple(host for host in self.covered if host in hosts)
        own = tuple(host for host in self.hosts if host in hosts)
        group_of = {host: self.group_of[host] for host in own} if self.group_of else {}
        befores = tuple(replace(each, hosts=left) for each in self.befores
                        if (left := tuple(host for host in each.hosts if host in hosts)))
        befores = tuple(sorted(befores, key=lambda each: -len(each.hosts)))
        fixes = on_hosts(self.fixes, own)
        remedy, commands = said(fixes, self.fix == "reboot") if fixes else limited(
            self.remedy, self.commands, own) if self.commands and own else (self.remedy, self.commands)
        return replace(self, hosts=own, group=group_text(group_of.values()) if group_of else self.group,
                       group_of=group_of if len({*group_of.values()}) > 1 else {}, waves=waves,
                       befores=befores, before=befores[0].value if befores else self.before,
                       remedy=remedy, commands=commands, fixes=fixes,
                       since=waves[0].since if waves else None,
                       flapping=tuple(host for host in self.flapping if host in hosts),
                       covered=covered,
                       # What was said of others alone is not said of these.
                       acknowledged=self.acknowledged if covered or not self.covered else None,
                       asked=tuple(host for host in self.asked if host in hosts),
                       untold=tuple(host for host in self.untold if host in hosts),
                       last_heard=tuple(replace(each, hosts=left) for each in self.last_heard
                                        if (left := tuple(host for host in each.hosts if host in hosts))),
                       ended={host: since for host, since in self.ended.items() if host in hosts},
                       state="grown" if len(states) > 1 else next(iter(states), self.state))

    @property
    def silent(self) -> bool:
        """Whether none of its hosts answered: nobody knows whether it is still so."""
        return self.state != "resolved" and bool(self.hosts) and {
            host for each in self.last_heard for host in each.hosts}.issuperset(self.hosts)

    @property
    def unjudged(self) -> bool:
        """Whether nobody could ever look: nothing was found, so it is no drift, and no pass either. What was known once
        is drift when it cannot be told any more: to take evidence away improves no verdict."""
        return self.outcome == "unknown" and self.severity == "low"

    @property
    def counts(self) -> bool:
        """Whether it is open, as drift or as what could not be judged: not resolved, not waived, and not merely what
        our own roles did since the last audit. Against the spec, the majority or another box it counts whoever did it.
        A value that left the desired state counts whether the check calls it fail or warn; a standing warning does not
        (a stock kernel that rejects pci=noacs would be drift every night)."""
        return (self.state != "resolved" and self.waived is None and self.approved is None and not self.standing
                and not (self.intended and self.authority == "previous"))

    @property
    def drifts(self) -> bool:
        """Whether it is drift. The last line, every output and --fail-on drift go by this."""
        return self.counts and not self.unjudged


def group_text(groups: Iterable[str]) -> str:
    """The names of the groups, as a reader sees them."""
    return fold({*groups}, _GROUPS)


@dataclass(frozen=True)
class Waived:
    """Why a cause is not counted. ``follows``: the waiver does not name it, and covers it with what it names."""

    id: int
    until: float
    author: str
    reason: str
    follows: bool = False


@dataclass(frozen=True)
class Split:
    """A fact on which a group does not agree: no verdict. ``shares`` is (value, hosts), most first; ``holders`` names
    the hosts of each in the same order, of one with most hosts none: it is all the others."""

    group: str
    fact: str
    shares: tuple[tuple[Any, int], ...]
    note: str = ""
    holders: tuple[tuple[str, ...], ...] = ()

    @property
    def parts(self) -> list[tuple[Any, int, tuple[str, ...]]]:
        """(value, hosts, their names)."""
        names = (*self.holders, *((),) * (len(self.shares) - len(self.holders)))
        return [(*share, holding) for share, holding in zip(self.shares, names, strict=True)]


@dataclass(frozen=True)
class HostRow:
    """One host of the grid. ``outcomes``: check family -> worst outcome. ``last_ok``: the newest audit that it answered
    in, with its time; ``report``: its findings, for the page behind the cell. ``waits``: the audit that
    asks it is still running. ``specified``: it was judged with a specification. ``skipped``: checks that did not apply,
    each with the code of the skip; ``dark``: those that could not look, with why and what to do ("": not known).
    ``called_now``: it did not answer, and another name that did tells to be its machine. ``left``: later audits of
    its inventory do not ask for it any more."""

    host: str
    group: str
    hardware: str
    status: Status
    reason: str = ""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    drifted: int = 0
    unknown: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    last_ok: int | None = None
    last_ok_at: float | None = None
    in_change: bool = False
    waits: bool = False
    specified: bool = True
    skipped: Mapping[str, str] = field(default_factory=dict)
    dark: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    called_now: str = ""
    left: bool = False


@dataclass(frozen=True)
class FleetReport:
    """``previous`` is the audit that this one was compared with. ``timeline``: (audit id, time, changed values, hosts
    that answered), oldest first. ``notes``: one line each (re-baselined, versions differ, a waiver that matched
    nothing, a fact that looks volatile). ``judged``: every (group, fact or check) that was held against something,
    with or without a cause: what JUnit shows as passed. ``baseline``: as in JudgeOptions. ``fact``: the only fact,
    family or check that this report is about; else empty. ``beside``: with it, all causes of the report that this is a
    part of: a cause may be in the entry of one that is not shown. ``over_audits``: it is about all audits since
    ``previous``, so that it counts what came and went between them, and what the audit itself has from before."""

    audit: AuditHead
    previous: AuditHead | None
    hosts: tuple[HostRow, ...]
    causes: tuple[Cause, ...]
    splits: tuple[Split, ...] = ()
    timeline: tuple[tuple[int, float, int, int], ...] = ()
    notes: tuple[str, ...] = ()
    judged: tuple[tuple[str, str], ...] = ()
    baseline: str = "previous"
    fact: str = ""
    over_audits: bool = False
    beside: tuple[Cause, ...] = ()

    @property
    def open(self) -> tuple[Cause, ...]:
        """The causes that count: as drift, or as what could not be judged."""
        return tuple(cause for cause in self.causes if cause.counts)

    @property
    def drift(self) -> tuple[Cause, ...]:
        """The causes that are drift."""
        return tuple(cause for cause in self.causes if cause.drifts)

    @property
    def unjudged(self) -> tuple[Cause, ...]:
        """The causes that count, and of which nothing was ever known."""
        return tuple(cause for cause in self.open if cause.unjudged)

    def count(self, *states: Status) -> int:
        return sum(row.status in states for row in self.hosts)

    @property
    def answered(self) -> int:
        return self.count("ok", "partial")
