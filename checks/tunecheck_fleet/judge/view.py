"""What the judges see of an audit, beside the one it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Decision, Since
from ..model import AuditHead, Problem, Thing
from ..store.groups.group_moves import GroupMove
from ..store.rows import Claim, Differing, Renamed, Volatile, Waiver
from ..store.sanitize import canonical as canon
from .view_rows import Carried, Event, FixSpan, Host, Kept, Meta, Move, Outlier, Resolved, Tally, Wording

__all__ = ["Claim", "Differing", "View", "Waiver", "canon"]

_NOTHING: Mapping[Thing, Since] = MappingProxyType({})


@dataclass(frozen=True)
class View:
    """An audit beside the one it is compared with.

    ``hosts`` of the audit, by name; ``missing`` were asked, and of them is not even a row. ``moves``: what changed
    after the previous audit. ``unapproved``: what is not as the baseline has it, and nobody approved;
    ``back``: (host, fact) that are again what they were; ``mended``: (host, check, subject, audit) of findings that
    were over then; ``contradicted``: (host, check, subject, since audit, until audit) of findings, over by now, of
    which a word of a changed fact may have been the reason (asked.py); ``fixes``: what those said that the hosts had
    whose facts changed so. ``decided``: the decision about a fact or check
    of a host; ``carried``: of lost GPUs that something else told of then (carried_on.py). ``baselines``: (host, fact)
    -> the value that was approved there, as canonical JSON. ``shared_then``: what only one host can have and
    several had at the previous audit, where that may have changed, and
    ``gone``: hosts that are not asked any more since then. ``regrouped``: who is in another group. ``events``:
    who is not who it was since the previous audit, and ``past``: since an earlier one. ``volatile``: volatile facts,
    and ``recent``: how they moved in the last audits. ``began``: host -> since when each thing that was found is there;
    ``standing``: the warnings among them that were there from the start or came with our own roles; ``found``: host ->
    check -> what it failed, or warned of, and has not ended: thing -> fail or warn. ``words``: (host, *thing) -> how
    that was told last, where it cannot be told now. ``wordings``: (host, name) -> how the host told what has this name
    (naming/names.py), of names that several things have.
    ``flaps``: (host, fact) that changed back and forth, with how often. ``claims``: hosts that tell a key which
    another one had first; ``renamed``: machines with every name that they had. ``known``: every host of the store by
    name. ``approved``: (host, fact) that a spec of the host's own asks for. ``before``: of a host that another audit
    of this inventory asked last, the audit before that one. ``differing``: (host, fact) that differed from most of its
    like at the audit before, ``last``, of the same inventory and limit, or differs in this one; ``kept``: that is put
    down of this one, and ``followed``: of the one before. ``reference``: the host to compare with, where one was asked
    for, and ``values`` everybody's. Of a view for one host, which holds no more than that takes: ``names`` of facts
    that are told by any host, and ``judged``, every (group, fact or check) of the fleet."""

    audit: AuditHead
    previous: AuditHead | None
    now: float
    hosts: tuple[Host, ...]
    moves: tuple[Move, ...] = ()
    unapproved: tuple[Move, ...] = ()
    back: frozenset[tuple[str, str]] = frozenset()
    mended: frozenset[tuple[str, str, str, int]] = frozenset()
    contradicted: frozenset[tuple[str, str, str, int, int]] = frozenset()
    fixes: tuple[FixSpan, ...] = ()
    decided: Mapping[tuple[str, str, str], Decision] = field(default_factory=dict)
    carried: Mapping[tuple[str, int], Carried] = field(default_factory=dict)
    baselines: Mapping[tuple[str, str], str] = field(default_factory=dict)
    tallies: tuple[Tally, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    shared: tuple[Kept, ...] = ()
    shared_then: tuple[Kept, ...] = ()
    gone: frozenset[str] = frozenset()
    regrouped: tuple[GroupMove, ...] = ()
    events: tuple[Event, ...] = ()
    past: tuple[Event, ...] = ()
    claims: tuple[Claim, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    in_change: frozenset[str] = frozenset()
    waivers: tuple[Waiver, ...] = ()
    flaps: Mapping[tuple[str, str], int] = field(default_factory=dict)
    began: Mapping[str, Mapping[Thing, Since]] = field(default_factory=dict)
    standing: Mapping[str, frozenset[Thing]] = field(default_factory=dict)
    found: Mapping[str, Mapping[str, Mapping[Thing, str]]] = field(default_factory=dict)
    words: Mapping[tuple[str, str, str, str], Problem] = field(default_factory=dict)
    wordings: Mapping[tuple[str, str], Sequence[Wording]] = field(default_factory=dict)
    volatile: tuple[Volatile, ...] = ()
    recent: tuple[Move, ...] = ()
    meta: Mapping[str, Meta] = field(default_factory=dict)
    timeline: tuple[tuple[int, float, int, int], ...] = ()
    known: frozenset[str] = frozenset()
    reference: str | None = None
    approved: frozenset[tuple[str, str]] = frozenset()
    before: Mapping[str, int] = field(default_factory=dict)
    differing: Mapping[tuple[str, str], Differing] = field(default_factory=dict)
    last: AuditHead | None = None
    kept: bool = False
    followed: bool = False
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    judged: frozenset[tuple[str, str]] = frozenset()

    def since(self, host: str, thing: Thing) -> Since | None:
        """Since when that is there; also where a version of before kept no code of it."""
        began = self.began.get(host, _NOTHING)
        return began.get(thing) or began.get((*thing[:2], ""))

    def had(self, host: str, since: Since | None) -> bool:
        """Whether the host had it at the audit that it is compared with."""
        prior = self.before.get(host, self.previous.id if self.previous is not None else 0)
        return since is not None and since.seen <= prior

    def was_open(self, state: Differing) -> bool:
        """Whether that was open until this audit."""
        return state.over in (None, self.audit.id)

    def differed(self, outlier: Outlier) -> Differing | None:
        """That the host differed with this value at the audit before, and since when."""
        state = self.differing.get((outlier.host, outlier.fact))
        return state if state is not None and self.was_open(state) and (
            outlier.since is None or outlier.since.seen <= state.told) else None

    @property
    def now_since(self) -> Since:
        """Between the audit before and this one."""
        last = self.last or self.previous
        return Since(self.audit.id, self.audit.started, last.id if last else None, last.started if last else None)

    def decision(self, kind: Literal["approve", "acknowledge"], host: str, name: str,
             since: Since | None) -> Decision | None:
        """The decision about it, where that was not made before it came."""
        decision = self.decided.get((kind, host, name))
        return decision if decision is not None and (since is None or since.seen <= decision.audit) else None

    def approval(self, host: str, fact: str, value: Any, since: Since | None) -> Decision | None:
        """The approval of this value: it holds whenever the host has it, also after another one."""
        if self.baselines.get((host, fact)) == canon(value):
            return self.decided.get(("approve", host, fact))
        return self.decision("approve", host, fact, since)

    def left(self, host: str, fact: str, value: Any) -> bool:
        """Whether the host had another value approved than this one."""
        approved = self.baselines.get((host, fact))
        return approved is not None and approved != canon(value)

    def returned(self, host: str, fact: str) -> bool:
        """Whether it is again as it was, and was not so, and not approved, at the audit that it is compared with."""
        if (host, fact) not in self.back:
            return False
        approval = self.decided.get(("approve", host, fact)) if (host, fact) in self.baselines else None
        prior = self.before.get(host, self.previous.id if self.previous is not None else 0)
        return approval is None or approval.audit <= prior

    @cached_property
    def called_now(self) -> dict[str, str]:
        """Silent host -> the name that answered with its key, under which it most likely is now."""
        answered = {host.host: host.answered for host in self.hosts}
        return {claim.other: claim.host for claim in self.claims
                if claim.since is None and answered.get(claim.host) and answered.get(claim.other) is False}

    def of(self, fact: str) -> Meta:
        return self.meta.get(fact, _PLAIN)


_PLAIN = Meta()
