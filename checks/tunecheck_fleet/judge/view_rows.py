"""The rows of an audit as the judges see them, whatever store they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from tunecheck.facts.registry.definition import Fix, Kind, Severity
from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Decision, Since
from ..model import Problem, Status

__all__ = ["Carried", "Event", "FixSpan", "Host", "Kept", "Meta", "Move", "Outlier", "Resolved", "Tally", "Wording"]

_NONE: Mapping[str, str] = MappingProxyType({})
_NO_REASON: Mapping[str, tuple[str, str]] = MappingProxyType({})


@dataclass(frozen=True)
class Meta:
    """What the registry says of a fact; the defaults are for a fact that it does not know (any more)."""

    kind: Kind = "config"
    severity: Severity = "medium"
    fix: Fix = "none"


class Host(NamedTuple):
    """One host in one audit: a tuple, as a report of one host makes ten thousand of them for the others. ``key``: that
    it tells. ``outcomes``: check family -> its worst outcome. ``unknown``: fact or family -> reason. ``kin``: the
    hardware of those it is compared with, where that is not its own (it lost a GPU). ``waits``: the audit that asks it
    is still running. ``unasked``: checks that no specification asks for; ``skipped``: all that do not apply, with the
    code of the skip; ``dark``: those that could not look, with why and what to do. ``first``: the audit since which the
    host is known; 0: nobody knows. ``reported``: what is known of families that are ``unknown``."""

    host: str
    group: str
    hardware: str = ""
    status: Status = "ok"
    reason: str = ""
    key: str | None = None
    tunecheck: str = ""
    spec: str | None = None
    boot_id: str | None = None
    last_ok: int | None = None
    last_ok_at: float | None = None
    problems: tuple[Problem, ...] = ()
    outcomes: Mapping[str, str] = _NONE
    unknown: Mapping[str, str] = _NONE
    kin: str = ""
    waits: bool = False
    unasked: frozenset[str] = frozenset()
    first: int = 0
    skipped: Mapping[str, str] = _NONE
    dark: Mapping[str, tuple[str, str]] = _NO_REASON
    reported: frozenset[str] = frozenset()

    @property
    def cohort(self) -> str:
        return self.kin or self.hardware

    @property
    def answered(self) -> bool:
        return self.status in ("ok", "partial")

    @property
    def told(self) -> bool:
        """Whether it ever answered: of one that is silent now, what it told last stands."""
        return self.answered or self.last_ok is not None

    def unread(self, fact: str) -> str:
        """Why the value is the one last known, where the host answered and could not tell it; "": it told it."""
        if not self.unknown or not self.answered or fact in self.reported:
            return ""
        return next((why for name, why in self.unknown.items() if fact == name or (
            name.endswith(".") and fact.startswith(name))), "")


@dataclass(frozen=True)
class Move:
    """A value that changed on a host. None is "does not exist there". ``ours``: a run of our own roles came with it.
    ``held``: since when the host had the value before. ``first``: of several changes that are told as one, the audit
    that saw the first of them; 0: it is one. ``left``: as in ChangeRow."""

    host: str
    group: str
    fact: str
    before: Any
    value: Any
    since: Since
    ours: bool = False
    held: Since | None = None
    first: int = 0
    left: int | None = None

    @property
    def left_after(self) -> int | None:
        """The last audit that saw the value before; None: none did."""
        return self.since.after if self.left is None else self.left


@dataclass(frozen=True)
class Tally:
    """How many hosts of one group and hardware have one value of one fact."""

    group: str
    hardware: str
    fact: str
    value: Any
    hosts: int


@dataclass(frozen=True)
class Outlier:
    """A host whose value is not the one that most of its group have."""

    host: str
    group: str
    hardware: str
    fact: str
    value: Any
    since: Since | None


@dataclass(frozen=True)
class Kept:
    """A value that must be one host's alone (a serial), the hosts that have it, and since when each has it."""

    fact: str
    value: Any
    hosts: tuple[str, ...]
    since: Mapping[str, Since] = field(default_factory=dict)


class Carried(NamedTuple):
    """What somebody said of a lost GPU, and at which addresses that was (empty: not told)."""

    decision: Decision
    addresses: frozenset[str]


@dataclass(frozen=True)
class Resolved:
    """A problem that a host had at the previous audit and has not any more. ``told``: how the host told it the last
    time; None: that is not kept (a history of an older version). ``unspecified``: it was found with a specification,
    and the host is judged without one now. ``respecified``: the audit in which it was over judged the host by another
    specification than the one before. ``ended``: when that was. ``code``: what was found, as in Problem.found."""

    host: str
    group: str
    check: str
    subject: str
    outcome: Literal["fail", "warn", "unknown"]
    since: Since
    told: Problem | None = None
    unspecified: bool = False
    respecified: bool = False
    ended: Since | None = None
    code: str = ""


class FixSpan(NamedTuple):
    """What the fix of a finding says, from audit ``seen`` on until audit ``until`` (None: still): which words it
    ``puts`` on the kernel command line, and which it ``takes`` off. ``code``: what is found."""

    host: str
    check: str
    code: str
    puts: tuple[str, ...]
    takes: tuple[str, ...]
    seen: int
    until: int | None


class Wording(NamedTuple):
    """How a host told a finding from audit ``seen`` on until audit ``until`` (None: it tells it so still). ``same``: as
    in Row."""

    same: str
    seen: int
    until: int | None


@dataclass(frozen=True)
class Event:
    """A host is not who it was since ``audit``; ``other`` is the host it was. ``since`` when; of one that was replaced
    also both keys."""

    host: str
    kind: Literal["replaced", "renamed"]
    other: str = ""
    audit: int = 0
    before: str | None = None
    key: str | None = None
    since: Since | None = None
