"""Since when and until when hosts told their problems in which words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from ...model import Problem
from ..audit_queries import parts
from ..schema import host, problem_span
from ..sql.compiled_statements import Hot
from ..sql.within import within
from ..told import Told

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["told_spans"]


_SPANS = Hot(
    select(host.c.name, problem_span.c.problem_id, problem_span.c.words_id, problem_span.c.from_audit,
           problem_span.c.until_audit).join(host, host.c.id == problem_span.c.host_id)
    # By number, as they lie there: by name, SQLite reads those of all hosts.
    .where(problem_span.c.host_id.in_(select(host.c.id).where(within(host.c.name, "names"))),
           problem_span.c.from_audit <= bindparam("upto")))


def told_spans(store: OpenHistory, wanted: Mapping[str, Collection[str]],
               audit_id: int) -> list[tuple[str, Problem, int, int | None]]:
    """(host, problem, from audit, until audit), as of that audit. ``wanted``: host -> checks."""
    found: list[tuple[str, Problem, int, int | None]] = []
    told = Told()
    with store.db.read() as connection:
        for part in parts(wanted):
            rows = _SPANS(connection, {"names": part, "upto": audit_id})
            texts = store.interned.texts(connection, {each for row in rows for each in row[1:3]})
            for name, about, words, seen, until in rows:
                problem = told.again(name, texts[about], texts[words])
                if problem.check in wanted[name]:
                    found.append((name, problem, seen, None if until is None or until > audit_id else until))
    return found
