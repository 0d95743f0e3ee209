"""What passes between the parts of the fleet: an answer, what it says, and an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache, lru_cache
from typing import Any, Literal

from tunecheck.model.command import Command
from tunecheck.util.at_first_use import dataclass, regex

__all__ = ["Answer", "AuditHead", "Change", "Claim", "Incident", "Problem", "Seen", "Status",
           "Thing", "codes_of", "fault_of", "subject_key"]

#: ok: every collector answered. partial: some facts are unknown. unreachable, refused (authentication), timeout,
#: missing (no tunecheck there), garbled (what came is no snapshot): the box said nothing, which closes no span.
Status = Literal["ok", "partial", "unreachable", "refused", "timeout", "missing", "garbled"]


@dataclass(frozen=True)
class Answer:
    """What came back from one host of the inventory. ``content`` is a snapshot (tunecheck/snapshot/1) where the status
    is ok, else empty; ``reason`` says in one line why there is none. ``seconds``: how long the box took. ``reached``:
    ssh got through, so a status of timeout is a box that is slow."""

    host: str
    group: str
    status: Status
    content: bytes = b""
    reason: str = ""
    seconds: float = 0.0
    reached: bool = False


@dataclass(frozen=True)
class Change:
    """A run of our own roles on the box, out of its receipt: changes at that time were intended. ``at`` in seconds
    since 1970 by the box's clock."""

    run: str
    at: float
    state: str = ""


@dataclass(frozen=True)
class Incident:
    """An incident of what is served, as the box's own journal tells it: when it began and how it ended (see
    parsers/text/incidents.py), in seconds since 1970 by the box's clock; None: that told no time."""

    id: str
    begun: float | None
    ended: float | None
    step: str
    why: str = ""
    unit: str = ""
    codes: tuple[str, ...] = ()
    xids: tuple[int, ...] = ()
    rank: int | None = None
    gpu: str = ""


@cache
def _faults() -> Mapping[tuple[str, str], str]:
    from tunecheck.rules.index import CHECKS  # a list of one host loads no check

    return {(check.id, code): check.one_fault[0] for check in CHECKS for code in check.one_fault}


def fault_of(check: str, code: str) -> str:
    """The code by which a fault is known over time, told with or without its cause (Check.one_fault)."""
    return _faults().get((check, code), code)


@cache
def codes_of(check: str, code: str) -> tuple[str, ...]:
    """All codes with which that fault is told."""
    fault = fault_of(check, code)
    return tuple(dict.fromkeys((code, fault, *(other for (its, other), own in _faults().items()
                                               if (its, own) == (check, fault)))))


#: Check, key of the subject (subject_key), what is found of it (Problem.found).
Thing = tuple[str, str, str]

_NUMBERED = regex(r"GPU\d+ ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


def subject_key(subject: str) -> str:
    """What a subject is found again by: of "GPU6 0000:d1:00.0" the address. A GPU that is lost, or comes, gives the
    ones behind it another number, and what is said of them is the same as before."""
    numbered = _NUMBERED.fullmatch(subject)
    return f"GPU {numbered[1]}" if numbered else subject


@lru_cache(maxsize=4096)
def _parts(subjects: str) -> tuple[str, ...]:
    """Most hosts of a fleet have the same addresses, and each finding is asked for its subjects several times."""
    return tuple(dict.fromkeys(subjects.split(", ")))


@lru_cache(maxsize=4096)
def _keys(subjects: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(subject_key, _parts(subjects))))


@dataclass(frozen=True)
class Problem:
    """A finding of a rule on a box that is neither pass nor skip: as in tunecheck/report/1. ``code`` is empty where it
    was stored by a version that kept none. ``source``: of what is unknown, the file or command that tells nothing;
    empty where the check names none. ``puts`` and ``takes``: as in Remedy. ``place``: where its remedy is carried
    out, of a check among whose facts one takes hands or a firmware to put back; else empty."""

    check: str
    subject: str
    outcome: Literal["fail", "warn", "unknown"]
    text: str
    expected: str = ""
    remedy: str = ""
    tags: tuple[str, ...] = ()
    needs_reboot: bool = False
    commands: tuple[Command, ...] = ()
    code: str = ""
    observed: str = ""
    absence: str = ""
    source: str = ""
    puts: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    place: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, one by one: a finding on "GPU0 0000:01:00.0, GPU1 0000:02:00.0" is one on each, and since
        when is a matter of each."""
        return _parts(self.subject)

    @property
    def keys(self) -> tuple[str, ...]:
        """Its subjects, a GPU by its address alone: see subject_key."""
        return _keys(self.subject)

    @property
    def found(self) -> str:
        """What is found of its subjects: the code, of one fault always the same (fault_of). A check may find several
        things of one subject, each with a since of its own. That something is unknown is one thing, whatever the reason
        is: nothing is found."""
        return "" if self.outcome == "unknown" else fault_of(self.check, self.code)

    @property
    def things(self) -> list[Thing]:
        """What a since is kept of: one for each of its subjects."""
        return [(self.check, key, self.found) for key in self.keys]

    def plain(self) -> dict[str, Any]:
        """As dataclasses.asdict, which copies whatever is inside and takes ten times as long."""
        return {**vars(self), "commands": [{"argv": each.argv, "where": each.where} for each in self.commands]}


@dataclass(frozen=True)
class Seen:
    """One host in one audit, ready for the store and the judges.

    ``key`` is what the box is, not what it is called (machine id and board serial, hashed); None where it did not
    answer or does not tell. ``hardware``: what the box is and has (facts/registry/hardware.py).
    ``known`` holds config, identity and secret facts; ``volatile`` gauges, counters and times, of which only the
    newest is kept. ``unknown`` is as in registry.Flat. ``outcomes`` counts every finding by check family for the grid:
    {"acs": "fail", "gpu": "pass"}, the worst of each. ``untold``: checks that told nothing, or not of everything, so
    that what they found before may still be so; ``dark``: of each of these why, and what to do about it where the check
    says that. ``unasked``: those that no specification asks for; ``skipped``: all that did not apply, these
    among them, each with the code of the skip. ``spec`` is the digest of the specification by which it was judged, the
    inventory's or its own; None where there was none. ``incidents``, oldest first, have times of their own.
    ``document`` is the snapshot itself.
    """

    host: str
    group: str
    status: Status
    reason: str = ""
    key: str | None = None
    hardware: str = ""
    tunecheck: str = ""
    spec: str | None = None
    boot_id: str | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    volatile: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    untold: tuple[str, ...] = ()
    dark: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    unasked: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    incidents: tuple[Incident, ...] = ()
    document: bytes = b""


@dataclass(frozen=True)
class AuditHead:
    """An audit as a whole. Times are the control node's, in seconds since 1970. ``asked`` is how many hosts the
    inventory and its limit named; ``scope`` says which (inventory and limit, in words). ``catalogue`` is the registry's
    version. ``finished`` is None while it runs, and where it was killed. ``rebaselined``: hosts answered that were last
    read with another catalogue, so their values were taken over and not counted as changes."""

    id: int
    started: float
    scope: str
    asked: int
    tunecheck: str
    catalogue: int
    finished: float | None = None
    trigger: Literal["pull", "push"] = "pull"
    note: str = ""
    rebaselined: bool = False


@dataclass(frozen=True)
class Claim:
    """What a role's dry run says about one failing check of one host.

    ``verdict``: "same", the roles would change nothing; "change", they would; "failed", "timeout" and "silent" (every
    task was skipped, as commands are in check mode) say nothing. ``tasks``: those that said so, "role : task".
    """

    host: str
    check: str
    verdict: Literal["same", "change", "failed", "timeout", "silent"]
    tasks: tuple[str, ...] = ()
    reason: str = ""
