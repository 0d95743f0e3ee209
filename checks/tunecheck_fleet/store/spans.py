"""A host's facts against its open spans: which end, which begin, and what is a change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from tunecheck.util.at_first_use import dataclass

from .audit_queries import ANSWERED
from .schema import audit, snap, span
from .sql.compiled_statements import Hot

if TYPE_CHECKING:
    from .identify import Box
    from .open_history import Open, OpenHistory

__all__ = ["AnswerFacts", "Past", "covered", "families", "write"]

_OPEN = Hot(select(span.c.fact_id, span.c.value_id, span.c.from_audit).where(
    span.c.host_id == bindparam("number"), span.c.until_audit.is_(None)))
_END = Hot(update(span).where(span.c.host_id == bindparam("number"), span.c.fact_id == bindparam("named"),
                          span.c.from_audit == bindparam("begun")).values(until_audit=bindparam("ended")))
_BEGIN = Hot(insert(span))
_SNAPS = Hot(select(snap.c.to_audit, snap.c.about_id).where(
    snap.c.host_id == bindparam("number"), or_(*(snap.c.status == bindparam(each) for each in ANSWERED)))
    .order_by(snap.c.from_audit.desc()))
_STATUS = dict(zip(ANSWERED, ANSWERED, strict=True))
_CATALOGUE = Hot(select(audit.c.catalogue).where(audit.c.id == bindparam("number")))

What = Literal["first", "unchanged", "changed", "baseline"]


@dataclass(frozen=True)
class AnswerFacts:
    """An answer as the store keeps it: ``known`` name -> canonical JSON ("null" left out), ``absent`` names reported to
    be absent, ``unknown`` name or family -> reason, ``reported`` known and absent names of a family that is unknown.
    ``whole``: everything known could be kept."""

    known: dict[str, str]
    absent: frozenset[str]
    unknown: dict[str, str]
    reported: tuple[str, ...]
    unknown_checks: tuple[str, ...]
    whole: bool = True


class PastAnswer(NamedTuple):
    """An audit that the host answered in a row of like ones; ``last`` is the newest of them. ``reported``: as in
    AnswerFacts."""

    last: int
    catalogue: int
    tunecheck: str
    unknown: dict[str, str]
    reported: frozenset[str]
    checks: frozenset[str]


class Past:
    """What the host's earlier answers could tell, newest first; read as far as it is needed."""

    def __init__(self, store: OpenHistory, connection: Connection, row: Box) -> None:
        self._store, self._connection, self._row = store, connection, row
        self._read: list[PastAnswer] = []
        self._more = self._rows()

    def fact(self, name: str) -> PastAnswer | None:
        """The last time that the fact was no unknown one; None: never."""
        return next((each for each in self if name in each.reported or not covered(name, each.unknown)), None)

    def check(self, name: str) -> PastAnswer | None:
        return next((each for each in self if name not in each.checks), None)

    def __iter__(self) -> Iterator[PastAnswer]:
        yield from self._read
        for past_answer in self._more:
            self._read.append(past_answer)
            yield past_answer

    def _rows(self) -> Iterator[PastAnswer]:
        if self._row.answered_audit is None:
            return
        for ended, about in _SNAPS(self._connection, {"number": self._row.id, **_STATUS}):
            last = ended if ended is not None else self._row.last_audit
            known = json.loads(self._store.interned.texts(self._connection, [about])[about])
            (catalogue,), = _CATALOGUE(self._connection, {"number": last})
            yield PastAnswer(last, catalogue, known["tunecheck"], known["unknown"], frozenset(known.get("told", ())),
                             frozenset(known["checks"]))


def covered(name: str, unknown: Iterable[str]) -> bool:
    """Nothing is known of the fact: by its name, or by the family that it is of."""
    return name in unknown or name.startswith(families(unknown))


def families(unknown: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that stand for every fact that begins so."""
    return tuple(name for name in unknown if name.endswith("."))


def write(store: OpenHistory, connection: Connection, row: Box, opened: Open, tunecheck: str,
          facts: AnswerFacts) -> tuple[What, int, bool]:
    """What it was, how many facts changed, and whether values were taken over from another catalogue."""
    interned = store.interned
    ids = interned.fact_ids(connection, facts.known)
    current = {fact: (value, begun) for fact, value, begun in _OPEN(connection, {"number": row.id})}
    texts = interned.texts(connection, {value for value, _ in current.values()})
    steps: list[tuple[str, int, str]] = []      # name, number, new text
    for name, text in facts.known.items():
        held = current.get(ids[name])
        if held is None or texts[held[0]] != text:
            steps.append((name, ids[name], text))
    known_ids = {ids[name] for name in facts.known}
    for fact, (value, _) in current.items():
        if fact not in known_ids and texts[value] != "null":
            name = interned.name(connection, fact)
            if name in facts.absent or not covered(name, facts.unknown):
                steps.append((name, fact, "null"))
    if not steps:
        return ("first" if row.answered_audit is None else "unchanged"), 0, False
    return _step(store, connection, row, opened, tunecheck, steps, current)


def _step(store: OpenHistory, connection: Connection, row: Box, opened: Open, tunecheck: str,
          steps: list[tuple[str, int, str]], current: dict[int, tuple[int, int]]) -> tuple[What, int, bool]:
    past = Past(store, connection, row)
    ends, begins = [], []
    changed = 0
    rebaselined = False
    for name, fact, text in steps:
        held = current.get(fact)
        past_answer = past.fact(name)
        baseline, after = _judge(past_answer, held, opened.catalogue, tunecheck, text)
        changed += not baseline
        rebaselined |= past_answer is not None and past_answer.catalogue != opened.catalogue
        if held is not None:
            ends.append({"number": row.id, "named": fact, "begun": held[1], "ended": opened.id})
        begins.append({"host_id": row.id, "fact_id": fact, "from_audit": opened.id, "until_audit": None,
                       "baseline": baseline, "value_id": store.interned.value(connection, text), "after_audit": after,
                       "before_id": None if held is None else held[0]})
    if ends:
        _END(connection, ends)
    _BEGIN(connection, begins)
    what: What = "first" if row.answered_audit is None else "changed" if changed else "baseline"
    return what, changed, rebaselined


def _judge(past_answer: PastAnswer | None, held: tuple[int, int] | None, catalogue: int, tunecheck: str,
           text: str) -> tuple[bool, int | None]:
    """(no change but a baseline, the last audit that knew the fact)."""
    if past_answer is None:
        return True, None       # the first time that anything is known of it
    if past_answer.catalogue != catalogue:
        return True, past_answer.last     # the same box may be told in other words
    if past_answer.tunecheck != tunecheck and (held is None or text == "null"):
        return True, past_answer.last     # another version on the box tells other facts: only common ones are compared
    return False, past_answer.last
