"""One verdict on one host, what it is called, and which others are the same thing (causes.py)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from tunecheck.model.command import Command

from ..fleet_report import Authority, Began, Cause, Decision, Since, Waived, Whose
from ..model import fault_of
from ..store.sanitize import plain as stored
from .view import canon

__all__ = ["INSTEAD", "OVER", "RANK", "VALUES", "Row", "age", "decided_as", "digest",
           "later", "name_of", "named_as", "names_as", "plain", "said_as", "widest"]

#: What is said of a finding that is over, where nothing better is known.
OVER = "the check finds this no more"
#: The same where it finds another thing of the subject: of two it may tell the worse one alone.
INSTEAD = "the check finds another thing there now, and this no more"
#: Authorities that say of a fact which value a host has, and not of a check what it finds.
VALUES = ("majority", "previous")
RANK = {"high": 0, "medium": 1, "low": 2}
#: What may differ between hosts that have the same problem: addresses, GPUs, CPUs, long hex. Not plain numbers: 8 lanes
#: instead of 16 is another state than 4 instead of 16.
_VARYING = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b|\bGPU-[0-9a-f]{8}-[0-9a-f-]{27}\b|"
                      r"\b(?:GPU|cpu|policy|nvidia)\d+\b|\b0x[0-9a-f]{5,}\b|\bpid \d+\b")
_SHORT = {"GPU": "GPU*", "cpu": "cpu*", "pol": "policy*", "nvi": "nvidia*", "pid": "pid *", "0x": "0x*"}
_ANY_NUMBER = re.compile(r"\d+")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
#: Of the name of a decision.
_SUBJECT = 200
#: A hostile box may tell a long story: a cause is a line.
_TEXT = 2000


@lru_cache(4096)
def plain(text: str) -> str:
    """The text without what differs between boxes in the same state."""
    def short(found: re.Match[str]) -> str:
        word = found[0]
        return _SHORT.get("" if word.startswith("GPU-") else word[:3]) or ("0x*" if word[:2] == "0x" else "*")
    return _VARYING.sub(short, text[:_TEXT])


def decided_as(told: Row | Cause) -> str:
    """The name under which a decision about it is kept. A check judges several things of a host, and finds several of
    one subject: who is at work on one of them has said nothing of the others. However many GPUs it names, and with
    which numbers, it is one thing."""
    if told.authority not in ("desired", "role"):
        return told.fact
    return named_as(told.fact, told.subject, told.code if told.outcome != "unknown" or told.was else "")


def said_as(told: Row | Cause) -> tuple[str, ...]:
    """The names under which something may be said of it, the newest first: by its check alone, or with the subject,
    versions of before named it."""
    return decided_as(told), named_as(told.fact, told.subject), told.fact


def named_as(check: str, subject: str, code: str = "") -> str:
    """The same of what a check finds of a subject. Without ``code`` also what versions of before wrote."""
    fault = fault_of(check, code)
    return f"{check}{f':{fault}' if fault else ''}/{_name_of(subject)}"


def names_as(name: str) -> tuple[str, str, str]:
    """Check or fact, subject and code of such a name; where versions of before named a check alone, no subject."""
    about, slash, subject = name.partition("/")
    check, _, code = about.partition(":") if slash else (about, "", "")
    return check, subject, code


@lru_cache(4096)
def _name_of(subject: str) -> str:
    parts = {_DECIMAL.sub("#", plain(part)) for part in subject.split(", ")}
    return stored(", ".join(sorted(parts)), _SUBJECT)


class Row(NamedTuple):
    """As a Cause, of one host. A tuple, as there are half a million of them and an object with attributes is larger.
    ``same``: what makes two rows one cause, beside authority, fact, code and state. In which group a host is makes no
    difference: it is the same thing in every rack, and a host that is moved takes it along. ``code``: of the finding,
    where a check judged. Its words make no difference: they may be other ones in the next version."""

    authority: Authority
    severity: Literal["low", "medium", "high"]
    fact: str
    group: str
    host: str
    expected: str
    fix: str
    value: Any = None
    before: Any = None
    #: Whose ``before`` is.
    whose: Whose = "own"
    since: Since | None = None
    state: Literal["new", "known", "resolved"] = "new"
    subject: str = ""
    text: str = ""
    remedy: str = ""
    commands: tuple[Command, ...] = ()
    outcome: str = ""
    code: str = ""
    same: str = ""
    intended: bool = False
    standing: bool = False
    rollout: bool = False
    flapping: bool = False
    waived: Waived | None = None
    approved: Decision | None = None
    acknowledged: Decision | None = None
    #: The change is what the specification asks for, or what the fixes of these checks say.
    asked: bool = False
    asked_by: tuple[str, ...] = ()
    #: Of a desired row the one fact that its check judges, where it is one: a waiver may name either.
    about: str = ""
    #: Of a host that is silent: the audit that heard it last, and when.
    heard: tuple[int, float] | None = None
    #: As in Cause.
    began: Began = ""
    #: Why the value cannot be read now, where it is the one last known.
    unread: str = ""
    #: As in Cause.
    was: str = ""
    #: Of what is over: when it ended. Values and ``since`` are those that it had while it was open.
    ended: Since | None = None
    #: As in Problem.
    absence: str = ""
    source: str = ""
    #: Outcome, ``fault`` and ``same`` that it had while it could be told: it keeps the id of then.
    named: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """The code by which it is known over time."""
        return fault_of(self.fact, self.code)

    @property
    def unjudged(self) -> bool:
        """As in Cause."""
        return self.outcome == "unknown" and self.severity == "low"

    @property
    def identity(self) -> tuple[str, ...]:
        """What cannot be told now is still the one thing that it was, and that others may still tell."""
        return self._identity(*self.named, "") if self.named else self.alone

    @property
    def alone(self) -> tuple[str, ...]:
        """The same of a host that tells one such thing, and cannot tell another."""
        return self._identity(self.outcome, self.fault, self.same, self.was, *self.named)

    def _identity(self, *told: str) -> tuple[str, ...]:
        authority: str = self.authority
        if self.state != "resolved" and authority in VALUES:
            # One value is one thing, whether most others of a host have another one or are too few to tell.
            authority, told = "value", (canon(self.value),)
        return (authority, self.fact, *told, str(self.unjudged), str(self.state == "resolved"),
                str(self.intended), str(self.standing), str(self.waived and self.waived.id),
                str(self.approved is not None))

    @property
    def counts(self) -> bool:
        """As in Cause."""
        return (self.state != "resolved" and self.waived is None and self.approved is None and not self.standing
                and not (self.intended and self.authority == "previous"))

    @property
    def name(self) -> str:
        """What it is called, whatever becomes of it. Numbers that a check observes may be other ones every night, and
        a value that differs from the others is the same finding when too many have it for that."""
        authority = self.authority
        outcome, code, same = self.told
        if authority in VALUES:
            authority, same = "previous", canon(self.value)
        return name_of(authority, self.fact, outcome, code, same)

    @property
    def told(self) -> tuple[str, ...]:
        """Outcome, ``fault`` and ``same``, of what cannot be told now those that it had."""
        return self.named or (self.outcome, self.fault, self.same)


def name_of(authority: str, fact: str, outcome: str, code: str, same: str) -> str:
    """As Row.name."""
    if authority in ("desired", "role"):
        same = _ANY_NUMBER.sub("#", same)
    return digest(authority, fact, outcome, *filter(None, (code,)), same)


def digest(*told: str) -> str:
    return hashlib.blake2b("\0".join(told).encode("utf-8", "replace"), digest_size=4).hexdigest()


def age(since: Since | None) -> tuple[int, int, int]:
    return (0, 0, 0) if since is None else (1, since.seen, since.after or 0)


def widest(intervals: Iterable[Since | None]) -> Since | None:
    """The oldest of them: since when the first host has it."""
    known = [since for since in intervals if since is not None]
    return min(known, key=age, default=None)


def later(intervals: Iterable[Since | None]) -> Since | None:
    """The newest of them."""
    return max((since for since in intervals if since is not None), key=age, default=None)
