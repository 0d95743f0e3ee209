"""What was found of a host before, thing by thing, beside what it tells now. A thing is what a check finds of a
subject: of one subject it may find several, which come and go each by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert

from ..schema import finding_span
from ..sql.compiled_statements import Hot

if TYPE_CHECKING:
    from ..identify import Box
    from ..open_history import OpenHistory

__all__ = ["Held", "Thing", "over", "with_codes"]

_AWAY = Hot(delete(finding_span).where(
    finding_span.c.host_id == bindparam("number"), finding_span.c.finding_id == bindparam("found"),
    finding_span.c.from_audit == bindparam("begun")))
_AGAIN = Hot(insert(finding_span))


class Thing(NamedTuple):
    """``subject``: its key. ``code``: as in Problem.found."""

    check: str
    subject: str
    code: str

    @property
    def of(self) -> tuple[str, str]:
        return self.check, self.subject


class Held(NamedTuple):
    """A span of it that is open: the finding's number, and as in the table."""

    number: int
    outcome: str
    begun: int
    after: int | None


def over(held: Mapping[Thing, Held], now: Mapping[Thing, str], unknown_checks: Collection[str],
         dark: Collection[str]) -> Iterator[Held]:
    """Those of ``held`` that end where the host tells ``now``; ``dark``: as in findings.write."""
    said: dict[tuple[str, str], set[str]] = {}
    for thing, outcome in now.items():
        said.setdefault(thing.of, set()).add(outcome)
    unknown = {thing.check for thing, outcome in now.items() if outcome == "unknown"}
    for thing, each in held.items():
        told, others, check = now.get(thing), said.get(thing.of, set()), thing.check
        if told == each.outcome:
            continue
        blind = check in unknown_checks
        if each.outcome == "unknown":
            # It is so no more where the check has something else in its place that cannot be told: another unknown,
            # or, where it could not tell before either, the words in which any other host is told of that.
            elsewhere = check in (unknown if each.after is not None else {*unknown, *dark})
            ends = bool(others) or not blind or elsewhere
        elif told not in (None, "unknown"):
            ends = True
        elif "unknown" in others:
            ends = False
        else:
            # A subject of which the check finds another thing was looked at, whatever it cannot tell of other ones;
            # not where it does not say of what it told nothing.
            ends = not blind or (bool(others) and check in unknown)
        if ends:
            yield each


def with_codes(store: OpenHistory, connection: Connection, row: Box, now: Mapping[Thing, str],
               named: Mapping[Thing, str], held: dict[Thing, Held]) -> dict[Thing, Held]:
    """``held``, where what a version of before kept without a code is what is found of its subject now, since it was
    found first."""
    for thing in [thing for thing, each in held.items() if not thing.code and each.outcome != "unknown"
                  and thing not in now]:
        each = held[thing]
        same = [other for other, outcome in now.items()
                if other.of == thing.of and outcome == each.outcome and other not in held]
        if not same:
            continue
        del held[thing]
        _AWAY(connection, {"number": row.id, "found": each.number, "begun": each.begun})
        for other in same:
            held[other] = each._replace(number=store.interned.finding(
                connection, other.check, named[other], other.code))
        _AGAIN(connection, [{"host_id": row.id, "finding_id": held[other].number, "from_audit": each.begun,
                             "until_audit": None, "outcome": each.outcome, "after_audit": each.after}
                            for other in same])
    return held
