"""Until when a host told what it cannot tell now: a value, or what a check found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, select

from ...model import subject_key
from ..audit_queries import ANSWERED
from ..hosts import find
from ..sanitize import plain
from ..schema import problem_span, snap
from ..spans import covered
from ..told import Told

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["LastKnown", "of_facts", "of_findings"]


class LastKnown(NamedTuple):
    """The newest audit that told it (None: that is not kept), and the first one after it that could not."""

    known: int | None
    dark: int | None


class _Answers(NamedTuple):
    """Audits ``first`` to ``last`` that the host answered alike, and what it said of itself in them."""

    first: int
    last: int
    about: Mapping[str, Any]


def of_facts(store: OpenHistory, name: str, facts: Collection[str]) -> dict[str, LastKnown]:
    """Those of the facts that the host could not tell when it answered last."""
    found: dict[str, LastKnown] = {}
    with store.db.read() as connection:
        answers = _answers(store, connection, name)
    for fact in facts:
        since = last = None
        for each in answers:
            if not covered(fact, each.about["unknown"]) or fact in each.about.get("told", ()):
                last = each.last
                break
            since = each.first
        if since is not None:
            found[fact] = LastKnown(last, since)
    return found


def of_findings(store: OpenHistory, name: str, findings: Collection[tuple[str, str, str, str]]
                ) -> dict[tuple[str, str, str, str], LastKnown]:
    """Of (check, subject, code, outcome) that is open on the host and cannot be told now."""
    wanted = {(check, subject_key(subject), code, outcome): (check, subject, code, outcome)
              for check, subject, code, outcome in findings}
    over: dict[tuple[str, str, str, str], int] = {}
    if not wanted:
        return {}
    with store.db.read() as connection:
        answers = _answers(store, connection, name)
        rows = [tuple(row) for row in connection.execute(select(
            problem_span.c.problem_id, problem_span.c.words_id, problem_span.c.until_audit).where(
                problem_span.c.host_id == find(store, connection, name).id, problem_span.c.until_audit.is_not(None)))]
        texts = store.interned.texts(connection, {each for row in rows for each in row[:2]})
    told = Told()
    for about, words, until in rows:
        problem = told.again(name, texts[about], texts[words])
        # Without a code it is a finding of a version that kept none.
        for subject, code in product(problem.subjects, {plain(problem.found, 200), ""}):
            key = plain(problem.check, 200), subject_key(plain(subject, 500)), code, str(problem.outcome)
            if key in wanted:
                over[wanted[key]] = max(until, over.get(wanted[key], 0))
    return {each: LastKnown(_last_before(answers, over[each]), over[each]) if each in over else LastKnown(None, None)
            for each in wanted.values()}


def _last_before(answers: Sequence[_Answers], audit_id: int) -> int | None:
    return next((min(each.last, audit_id - 1) for each in answers if each.first < audit_id), None)


def _answers(store: OpenHistory, connection: Connection, name: str) -> list[_Answers]:
    """The newest first."""
    row = find(store, connection, name)
    rows = [tuple(each) for each in connection.execute(
        select(snap.c.from_audit, snap.c.to_audit, snap.c.about_id).where(
            snap.c.host_id == row.id, snap.c.status.in_(ANSWERED)).order_by(snap.c.from_audit.desc()))]
    abouts = store.interned.decoded(connection, {about for _, _, about in rows})
    return [_Answers(first, row.last_audit if last is None else last, abouts[about]) for first, last, about in rows]
