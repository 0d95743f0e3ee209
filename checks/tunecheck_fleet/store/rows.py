"""What the store hands out. Light: importing it costs no database library.

Every ``value`` is plain JSON as the registry gave it, None for absent; do not change it, it is shared. Every audit is
an audit's number, every time is the control node's, in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Began, Decision, Since
from ..model import Change, Problem, Status

__all__ = [
    "CensusRow",
    "ChangeRow",
    "Claim",
    "Decided",
    "DiffRow",
    "Differing",
    "Flap",
    "HostState",
    "IdentityEvent",
    "OpenFinding",
    "Outlier",
    "ProblemSince",
    "Pruned",
    "Renamed",
    "Renaming",
    "Span",
    "Stored",
    "TimelineRow",
    "Volatile",
    "Waiver",
]

@dataclass(frozen=True)
class Stored:
    """What ``put`` did. ``what``: "first" (host never answered before), "unchanged", "changed", "baseline" (another
    catalogue or another tunecheck on the box: values were taken over, not counted), "silent" (no answer, nothing
    known of its facts), "repeated" (this audit or a later one has the host's answer already: nothing was written).
    ``changed``: facts that changed. ``note``: one line where the box is not who it was (renamed, replaced, clone)."""

    host: str
    what: Literal["first", "unchanged", "changed", "baseline", "silent", "repeated"]
    changed: int = 0
    note: str = ""


class HostState(NamedTuple):
    """A host in one audit. ``last_ok``: the newest audit up to this one that it answered in. ``problems``,
    ``outcomes``, ``volatile`` and ``boot_id`` are those of its newest answer (``newest`` says of which audit), also
    where an older audit is asked for, but for ``problems`` that are ``kept``: these are that audit's. ``unknown`` is
    that audit's. ``first_audit``: since when anything is known of it.
    ``claimed``: the key that it tells, where another host had it first. ``unasked``: checks that no specification asked
    for in that audit; ``untold``: those that told nothing, or not of everything; ``dark``: all of these, with why, and
    what to do about it (empty where that is not told). ``skipped``: those that did not apply, each with the code of its
    skip. ``reported``: what is known of families that are ``unknown``."""

    host: str
    group: str
    hardware: str
    key: str | None
    status: Status
    reason: str
    last_ok: int | None
    last_ok_at: float | None
    problems: tuple[Problem, ...]
    outcomes: Mapping[str, str]
    volatile: Mapping[str, Any]
    unknown: Mapping[str, str]
    spec: str | None
    tunecheck: str
    boot_id: str | None
    newest: int | None
    first_audit: int
    claimed: str | None
    unasked: frozenset[str]
    dark: Mapping[str, tuple[str, str]]
    kept: bool = False
    untold: frozenset[str] = frozenset()
    skipped: Mapping[str, str] = MappingProxyType({})
    reported: frozenset[str] = frozenset()

    @property
    def answered(self) -> bool:
        return self.status in ("ok", "partial")


@dataclass(frozen=True)
class Span:
    """A fact had ``value`` on a host from audit ``since.seen`` until the audit ``until`` saw another (None: it still
    has). ``before`` is what it had until then. ``baseline``: not a change but the first sight of it, or values taken
    over from another catalogue or version. ``receipt``: our own run on the box that came with it: intended."""

    host: str
    fact: str
    value: Any
    before: Any
    since: Since
    until: int | None = None
    until_at: float | None = None
    baseline: bool = False
    receipt: Change | None = None


@dataclass(frozen=True)
class ChangeRow:
    """A fact that changed on a host. ``receipt`` as in Span. ``held``: since when it had the value before, as far as
    that is known. ``left``: the last audit that saw the value before, where several changes are told as one; None: the
    one that ``since`` names."""

    host: str
    group: str
    hardware: str
    fact: str
    before: Any
    value: Any
    since: Since
    receipt: Change | None = None
    held: Since | None = None
    left: int | None = None


class DiffRow(NamedTuple):
    """A fact that is not the same in two audits."""

    host: str
    fact: str
    a: Any
    b: Any


class CensusRow(NamedTuple):
    """How many hosts of a group and hardware have this value. Absence is counted too (value None); a host that does not
    know the fact is counted nowhere, and one that did not answer only by ``survey``, as it was last heard."""

    group: str
    hardware: str
    fact: str
    value: Any
    count: int  # type: ignore[assignment]


class Outlier(NamedTuple):
    """A host whose value differs from ``count`` of the ``total`` hosts of its group and hardware. ``told``: the audit
    that it told the fact in last, where it answered, or was heard last, and did not know it."""

    host: str
    group: str
    hardware: str
    fact: str
    value: Any
    majority: Any
    count: int  # type: ignore[assignment]
    total: int
    since: Since | None
    told: int | None = None


class Differing(NamedTuple):
    """That a host differs from most of its like, since when, by what that ``began`` (judge/like/began.py), and the
    audits that ``told`` it first and in which it was over (None: in none). ``kept``: by a report; else by the values of
    then alone."""

    host: str
    fact: str
    since: Since | None
    began: Began
    told: int
    over: int | None = None
    kept: bool = True


@dataclass(frozen=True)
class Flap:
    """A fact that went there and back, and there again: ``times`` changes between ``values`` values."""

    host: str
    fact: str
    times: int
    values: int


@dataclass(frozen=True)
class Volatile:
    """How restless a fact is. ``hosts``: that have it now; ``distinct_share``: different values per host of these.
    ``heard``: hosts that answered in these audits; ``change_rate``: changes per host of these and audit.
    ``suspicious``: it moves like a gauge or counter and does not belong in the history; ``why`` says
    so in one line. ``sure``: so long, on so many hosts, each to other values, that it can be nothing else."""

    fact: str
    hosts: int
    distinct_share: float
    change_rate: float
    suspicious: bool = False
    why: str = ""
    sure: bool = False
    heard: int = 0


@dataclass(frozen=True)
class Waiver:
    """What is not counted. ``fact``: a fact's name, a family ending in a dot, or a check's id. None for ``host`` and
    ``group``: all. ``value``: canonical JSON of the one destination value it holds for ("null": absence); None: any.
    ``until`` None: for good, an accepted state. ``last_matched``: the newest audit in which it covered something."""

    id: int
    fact: str
    host: str | None
    group: str | None
    value: str | None
    until: float | None
    reason: str
    author: str
    created: float
    last_matched: int | None = None
    kind: Literal["waive", "accept"] = "waive"


class Decided(NamedTuple):
    """That somebody said something of this fact or check on this host."""

    host: str
    name: str
    decision: Decision


@dataclass(frozen=True)
class IdentityEvent:
    """A host is not who it was. replaced: the name has another box behind it. renamed: ``other`` was its name.
    duplicate: it and ``other`` told the same key in one audit (a cloned image). mended: it shared the key ``other``
    until then, and tells one of its own."""

    audit: int
    host: str
    kind: Literal["replaced", "renamed", "duplicate", "mended"]
    other: str = ""
    #: Of a replaced box: the key of the one before and of the one now, and since when.
    before: str | None = None
    key: str | None = None
    since: Since | None = None


class Renaming(NamedTuple):
    """That a machine had the name ``before`` until then."""

    before: str
    since: Since


class Renamed(NamedTuple):
    """A machine that has another name than once: ``host`` now, after these, the oldest first. ``approved``: the newest
    audit as of which somebody approved the name that it had there; 0: nobody did."""

    host: str
    steps: tuple[Renaming, ...]
    approved: int = 0


@dataclass(frozen=True)
class Claim:
    """``host`` tells a key that ``other`` has too: who had it first, and of clones each that told it in one audit with
    ``host``. ``since``: when that was, which makes them clones; None: it never was. ``asked``: whether both are still
    asked for."""

    host: str
    key: str
    other: str
    since: Since | None
    asked: bool


@dataclass(frozen=True)
class ProblemSince:
    """A finding on a host and since when. ``until`` (audit) where it is resolved. ``ours``: our own roles ran on the
    box when it came. ``with_gpus``: a warning that came when the number of GPUs changed; ``again``: that the box had
    when it was first heard. ``told``: of what is resolved how the host told it the last time, where that is kept; and
    with that ``ended``, when it was over: after the last audit before that the host answered. ``code``: what is
    found of the subject, as in Problem.found; also empty where a version of before kept none."""

    host: str
    group: str
    check: str
    subject: str
    outcome: str
    since: Since
    until: int | None = None
    ours: bool = False
    with_gpus: bool = False
    again: bool = False
    told: Problem | None = None
    ended: Since | None = None
    code: str = ""


class OpenFinding(NamedTuple):
    """As ProblemSince, of a host that is known."""

    check: str
    subject: str
    code: str
    outcome: str
    since: Since
    ours: bool
    with_gpus: bool = False
    again: bool = False


class TimelineRow(NamedTuple):
    """As in FleetReport.timeline."""

    audit: int
    at: float
    changed: int
    answered: int


@dataclass(frozen=True)
class Pruned:
    """What ``prune`` took away."""

    spans: int
    snaps: int
    audits: int
    values: int
    first_kept: int | None = None


Unknown = Mapping[str, str]
