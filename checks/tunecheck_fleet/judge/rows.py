"""One verdict on one host, and how many of them become one cause."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from tunecheck.model.command import Command
from tunecheck.util.host_names import fold

from ..fixes import Step, fixes_of, said
from ..fleet_report import Authority, Cause, Decision, LastHeard, Since, Waived, Wave
from ..own_command import own_command
from ..store.sanitize import plain as stored
from .view import canon

__all__ = ["OVER", "RANK", "Row", "cannot_be_told", "causes", "decided_as", "later", "named_as", "plain", "widest"]

#: What is said of a finding that is over, where nothing better is known.
OVER = "the check finds this no more"
_NOT_NOW = "cannot be told now: "
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
#: Of the names of hosts.
_OWN = 60
#: A hostile box may tell a long story: a cause is a line.
_TEXT = 2000


def cannot_be_told(why: str, was: str) -> str:
    """What is said of a finding whose evidence is gone. ``was``: the outcome when it last could be told."""
    if why.startswith(_NOT_NOW):
        return why
    return f"{_NOT_NOW}{why}" + (f"; it was {was} when it last could" if was != "unknown" else "")


def _last_known(why: str) -> str:
    """The same of a value that is told as it was read last."""
    return f"{_NOT_NOW}{why}; it was so when it last could"


@lru_cache(4096)
def plain(text: str) -> str:
    """The text without what differs between boxes in the same state."""
    def short(found: re.Match[str]) -> str:
        word = found[0]
        return _SHORT.get("" if word.startswith("GPU-") else word[:3]) or ("0x*" if word[:2] == "0x" else "*")
    return _VARYING.sub(short, text[:_TEXT])


def decided_as(told: Row | Cause) -> str:
    """The name under which a decision about it is kept. A check judges several things of a host, and who is at work on
    one of them has said nothing of the others; however many GPUs it names, and with which numbers, it is one thing."""
    if told.authority not in ("desired", "role"):
        return told.fact
    return named_as(told.fact, told.subject)


def named_as(check: str, subject: str) -> str:
    """The same of what a check says of a subject."""
    return f"{check}/{_name_of(subject)}"


@lru_cache(4096)
def _name_of(subject: str) -> str:
    parts = {_DECIMAL.sub("#", plain(part)) for part in subject.split(", ")}
    return stored(", ".join(sorted(parts)), _SUBJECT)


class Row(NamedTuple):
    """As a Cause, of one host. A tuple, as there are half a million of them and an object with attributes is larger.
    ``same``: what makes two rows one cause, beside authority, fact, code, group and state. ``code``: of the finding,
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
    #: The change is what the specification asks for.
    asked: bool = False
    #: Of a desired row the one fact that its check judges, where it is one: a waiver may name either.
    about: str = ""
    #: Of a host that is silent: the audit that heard it last, and when.
    heard: tuple[int, float] | None = None
    #: Why the value cannot be read now, where it is the one last known.
    unread: str = ""
    #: As in Cause.
    was: str = ""
    #: Of what is over: when it ended. Values and ``since`` are those that it had while it was open.
    ended: Since | None = None
    #: As in Problem.
    absence: str = ""
    source: str = ""
    #: Outcome, code and ``same`` that it had while it could be told: it keeps the id of then.
    named: tuple[str, ...] = ()

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
        return self._identity(self.outcome, self.code, self.same, self.was, *self.named)

    def _identity(self, *told: str) -> tuple[str, ...]:
        return (self.authority, self.group, self.fact, *told, str(self.unjudged), str(self.state == "resolved"),
                str(self.intended), str(self.standing), str(self.waived and self.waived.id),
                str(self.approved is not None))

    def name(self, whole: bool) -> str:
        """What it is called, whatever becomes of it. Numbers that a check observes may be other ones every night, and
        a value that differs from the others is the same finding when too many have it for that; with ``whole`` all of
        it counts, where two causes would be called the same else."""
        authority = self.authority
        outcome, code, same = self.named or (self.outcome, self.code, self.same)
        if not whole and authority in ("desired", "role"):
            same = _ANY_NUMBER.sub("#", same)
        elif not whole and authority in ("majority", "previous"):
            authority, same = "previous", canon(self.value)
        # What was known once, and what never was, are two causes of one check.
        known = [f"known {self.was}"] if whole and self.outcome == "unknown" and not self.unjudged else []
        text = "\0".join((authority, self.group, self.fact, outcome, *filter(None, (code,)), same, *known))
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def causes(rows: Iterable[Row], about: str | None = None) -> tuple[Cause, ...]:
    """Rows with one destination as one cause; worst first, then by hosts, then the oldest. ``about``: those of this
    host alone, with its own words, since and decisions; what they are called depends on all rows."""
    piles = _piled(rows)
    named = {key: pile[0].name(False) for key, pile in piles.items()}
    # What is over may have the id of what is open, and none of the others that are over.
    alike: dict[tuple[str, bool], list[tuple[str, ...]]] = {}
    for key, pile in piles.items():
        alike.setdefault((named[key], pile[0].state == "resolved"), []).append(key)
    for keys in alike.values():     # the one that is still told, else the one that was there first, keeps its name
        keys.sort(key=lambda key: (bool(piles[key][0].named), _age(widest(row.since for row in piles[key])), key))
        named.update({key: piles[key][0].name(True) for key in keys[1:]})
    if about is not None:
        # Whose identity it shares, it says of all of them.
        own = {key: [row for row in pile if row.host == about] for key, pile in piles.items()}
        piles = {key: piles[key] if pile[0].authority == "identity" else pile for key, pile in own.items() if pile}
    found = [_cause(sorted(pile, key=lambda row: (row.host, row.subject)), named[key]) for key, pile in piles.items()]
    return tuple(sorted(found, key=_rank))


def _piled(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    piles: dict[tuple[str, ...], list[Row]] = {}
    dark: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        (dark if row.named else piles).setdefault(row.identity, []).append(row)
    for key, those in dark.items():
        telling = {row.host for row in piles.get(key, ())}
        for row in those:
            piles.setdefault(row.alone if row.host in telling else key, []).append(row)
    return piles


def _cause(pile: list[Row], name: str) -> Cause:
    told = [row for row in pile if not row.was]
    dark, told = ([row for row in pile if row.was], told) if told else ([], pile)
    first = told[0]
    hosts = tuple(sorted({row.host for row in pile}))
    # Ties go to the value that sorts first, so that two runs over one store say the same.
    # A check, or a replaced box, is one cause whatever it was that moved: of several values none is that of all.
    moved = (first.authority not in ("desired", "identity")
             or len({(canon(row.before), canon(row.value)) for row in pile}) == 1)
    befores = Counter(canon(row.before) for row in pile)
    before = min(befores, key=lambda text: (-befores[text], text))
    texts = Counter(row.text for row in told)
    text = min(texts, key=lambda text: (-texts[text], text))
    if first.state == "resolved" and first.outcome and len(texts) > 1:      # each is so of its own hosts alone
        text = OVER
    else:
        text += _not_of_all(text, told, {row.host for row in told})
    unread = {row.host for row in pile if row.unread}
    if unread == set(hosts):
        text += f"{'; ' if text else ''}{_last_known(first.unread)}"
    waves = _waves(pile)
    states = {wave.state for wave in waves}
    if len(befores) > 1 and first.authority in ("previous", "majority"):
        text += f"{'; ' if text else ''}{len(befores)} different values before"
    # A change that some hosts have to take back is told as that.
    back = next((row for row in pile if row.fix != "none"), first) if first.authority == "previous" else first
    fixes = fixes_of((row.host, Step(row.remedy, row.commands)) for row in pile)
    remedy, commands = said(fixes, first.fix == "reboot")
    return Cause(
        authority=first.authority, severity=min((row.severity for row in pile), key=RANK.__getitem__), fact=first.fact,
        group=first.group, hosts=hosts, value=first.value if moved else None,
        before=next(row.before for row in pile if canon(row.before) == before) if moved else None,
        expected=back.expected, fix=back.fix, since=waves[0].since, waves=waves,
        state="grown" if len(states) > 1 else waves[0].state,
        subject=first.subject if len({row.subject for row in told}) == 1 else plain(first.subject), text=text,
        remedy=remedy, commands=commands, intended=first.intended, rollout=any(row.rollout for row in pile),
        flapping=tuple(sorted({row.host for row in pile if row.flapping})), waived=first.waived,
        outcome=first.outcome, was=first.was, code=first.code, absence=first.absence, source=first.source,
        standing=first.standing, id=name,
        approved=first.approved,
        acknowledged=max((row.acknowledged for row in pile if row.acknowledged is not None),
                         key=lambda decision: decision.id, default=None),
        covered=tuple(sorted(set(hosts) - {row.host for row in pile if row.acknowledged is None})),
        asked=tuple(sorted({row.host for row in pile if row.asked})),
        untold=tuple(sorted({row.host for row in dark} | (unread if unread < set(hosts) else set()))),
        fixes=fixes if len(fixes) > 1 or len(fixes[0].steps) > 1 else (),
        ended=_ended(pile),
        last_heard=tuple(LastHeard(*heard, tuple(sorted({row.host for row in pile if row.heard == heard})))
                         for heard in sorted({row.heard for row in pile if row.heard is not None})))


def _not_of_all(text: str, pile: Iterable[Row], hosts: Collection[str]) -> str:
    """Whose words these are, where they are not so on every host: the numbers of one are no claim about another."""
    own = sorted({row.host for row in pile if row.text == text})
    return "" if len(own) == len(hosts) or not text else (
        f" (so on {fold(own, _OWN)}; of the others: {own_command('drift --host HOST -v')})")


def _waves(pile: list[Row]) -> tuple[Wave, ...]:
    """Every host with its own since, the oldest first. A host on which it is found twice has it since the first; it is
    news there as long as one of them is."""
    own: dict[str, tuple[Since | None, Literal["new", "known", "resolved"]]] = {}
    for row in pile:
        since, state = own.get(row.host, (row.since, row.state))
        fresh = "new" in (state, row.state)
        own[row.host] = ((later if fresh else widest)((since, row.since)), "new" if fresh else state)
    piles: dict[tuple[Since | None, Literal["new", "known", "resolved"]], list[str]] = {}
    for host, about in own.items():
        piles.setdefault(about, []).append(host)
    return tuple(sorted((Wave(since, tuple(hosts), state) for (since, state), hosts in piles.items()),
                        key=lambda wave: (*_age(wave.since), wave.state != "known", wave.hosts)))


def _ended(pile: Iterable[Row]) -> dict[str, Since]:
    """Host -> when the last of it ended."""
    own: dict[str, list[Since | None]] = {}
    for row in pile:
        if row.ended is not None:
            own.setdefault(row.host, []).append(row.ended)
    return {host: last for host, each in own.items() if (last := later(each)) is not None}


def _age(since: Since | None) -> tuple[int, int, int]:
    return (0, 0, 0) if since is None else (1, since.seen, since.after or 0)


def widest(intervals: Iterable[Since | None]) -> Since | None:
    """The oldest of them: since when the first host has it."""
    known = [since for since in intervals if since is not None]
    return min(known, key=_age, default=None)


def later(intervals: Iterable[Since | None]) -> Since | None:
    """The newest of them."""
    return max((since for since in intervals if since is not None), key=_age, default=None)


def _rank(cause: Cause) -> tuple[Any, ...]:
    return (cause.state == "resolved", cause.waived is not None, RANK[cause.severity], -len(cause.hosts),
            cause.since.seen if cause.since else 0, cause.authority, cause.fact, cause.group, cause.subject,
            cause.outcome, canon(cause.value), cause.text, cause.hosts)
