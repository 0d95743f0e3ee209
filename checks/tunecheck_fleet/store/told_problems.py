"""What hosts told of their problems in each audit, in their own words, so that an older audit is told again as it was.

Kept as spans: a problem that a host tells every night has one row. Other words alone begin none: where a problem has a
code, its text is the one that was told first. What it observed is kept each time, as causes are told apart by it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, product
from json import loads
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from ..model import Problem, subject_key
from .audit_queries import parts
from .sanitize import canonical, plain
from .schema import host, newest, problem_span
from .sql.compiled_statements import Hot
from .sql.within import within
from .told import HOST, Told

if TYPE_CHECKING:
    from .identify import Box
    from .open_history import OpenHistory

__all__ = ["Over", "apart", "each_host", "last_told", "read", "write"]

#: Characters of a text that a host told, and of all else of a problem: it cannot make the history larger.
_TEXT, _HEAD = 4_000, 1 << 16
_OPEN = Hot(select(problem_span.c.problem_id, problem_span.c.words_id, problem_span.c.from_audit).where(
    problem_span.c.host_id == bindparam("number"), problem_span.c.until_audit.is_(None)))
_END = Hot(update(problem_span).where(
    problem_span.c.host_id == bindparam("number"), problem_span.c.problem_id == bindparam("about"),
    problem_span.c.words_id == bindparam("said"), problem_span.c.from_audit == bindparam("begun")).values(
    until_audit=bindparam("ended")))
_BEGIN = Hot(insert(problem_span))
#: In the order of the primary key, so that nothing has to be sorted.
_EVERY = Hot(select(problem_span).order_by(
    problem_span.c.host_id, problem_span.c.problem_id, problem_span.c.words_id, problem_span.c.from_audit))
_NEWEST = select(newest.c.problems).where(newest.c.host_id == bindparam("number"))


class Over(NamedTuple):
    """A finding that was over in the audit ``until``."""

    host_id: int
    check: str
    subject: str
    code: str
    outcome: str
    until: int


def apart(problem: Problem) -> tuple[str, ...]:
    """What makes it another problem than the one of the night before. Its other parts follow from these."""
    return (problem.check, problem.subject, problem.outcome, problem.code or problem.text, problem.observed,
            problem.absence, problem.remedy)


def write(store: OpenHistory, connection: Connection, row: Box, audit_id: int, problems: Sequence[Problem]) -> int:
    """Which begin and which end. Returns since which audit the host's problems are kept; of a host of an older history
    that is its last answer, the words of which are there."""
    begun = row.told_from
    if begun is None and row.answered_audit is not None:
        begun = row.answered_audit
        told = Told()
        before = [told.problem(row.name, each) for text in connection.execute(_NEWEST, {"number": row.id}).scalars()
                  for each in loads(text or "[]")]
        _begin(connection, row.id, begun, _numbers(store, connection, row.name, before).values())
    now = _numbers(store, connection, row.name, problems)
    rows = _OPEN(connection, {"number": row.id})
    said = store.interned.decoded(connection, [words for _, words, _ in rows])
    held = {(about, said[words][0]): (words, since) for about, words, since in rows}
    ends = [{"number": row.id, "about": key[0], "said": words, "begun": since, "ended": audit_id}
            for key, (words, since) in held.items() if key not in now]
    if ends:
        _END(connection, ends)
    _begin(connection, row.id, audit_id, [pair for key, pair in now.items() if key not in held])
    return audit_id if begun is None else begun


def _begin(connection: Connection, host_id: int, audit_id: int, pairs: Collection[tuple[int, int]]) -> None:
    if pairs:
        _BEGIN(connection, [{"host_id": host_id, "problem_id": about, "words_id": words, "from_audit": audit_id,
                             "until_audit": None} for about, words in pairs])


def _numbers(store: OpenHistory, connection: Connection, name: str,
             problems: Iterable[Problem]) -> dict[tuple[int, str], tuple[int, int]]:
    """(number of the problem, what it observed) -> the numbers of the problem and of its words."""
    found: dict[tuple[int, str], tuple[int, int]] = {}
    play = re.compile(rf" -l {re.escape(name)}(?![\w.-])")
    for problem in problems:
        parts_of = problem.plain()
        observed = str(parts_of.pop("observed"))[:_TEXT]
        text = str(parts_of["text"])[:_TEXT]
        if problem.code:
            del parts_of["text"]
        for unknown in ("source", "puts", "takes", "place"):
            if not parts_of[unknown]:
                del parts_of[unknown]       # as versions kept it that knew none
        if play.search(problem.remedy):
            parts_of["remedy"] = play.sub(f" -l {HOST}", problem.remedy)
            parts_of["commands"] = [{**each, "argv": [HOST if part == name else part for part in each["argv"]]}
                                    for each in parts_of["commands"]]
        head = canonical(parts_of)
        if len(head) <= _HEAD:
            about = store.interned.value(connection, head)
            if (about, observed) not in found:
                words = store.interned.value(connection, canonical([observed, text]))
                found[about, observed] = about, words
    return found


def read(store: OpenHistory, connection: Connection, told: Told, names: Mapping[int, str],
         number: int) -> dict[int, tuple[Problem, ...]]:
    """Host -> the problems that it told in that audit, or last before it; of hosts that tell theirs since before it.
    ``names``: what the hosts were called then."""
    kept = {host_id for part in parts(names) for host_id in connection.execute(select(host.c.id).where(
        host.c.id.in_(part), host.c.told_from <= number)).scalars()}
    rows = [tuple(row) for part in parts(kept) for row in connection.execute(
        select(problem_span.c.host_id, problem_span.c.problem_id, problem_span.c.words_id).where(
            problem_span.c.host_id.in_(part), problem_span.c.from_audit <= number,
            or_(problem_span.c.until_audit.is_(None), problem_span.c.until_audit > number)))]
    texts = store.interned.texts(connection, {each for row in rows for each in row[1:]})
    found: dict[int, list[Problem]] = {host_id: [] for host_id in kept}
    for host_id, about, words in rows:
        found[host_id].append(told.again(names[host_id], texts[about], texts[words]))
    return {host_id: tuple(problems) for host_id, problems in found.items()}


def each_host(store: OpenHistory, connection: Connection,
              checks: Collection[str]) -> Iterator[tuple[int, tuple[tuple[Any, ...], ...]]]:
    """Every host with what it ever told of these checks: the numbers of each problem and of its words, from which audit
    until which one. Hosts with the same numbers told the same, but for the text of what has a code and the host's name
    in its plays."""
    numbers = set(connection.execute(select(problem_span.c.problem_id).distinct()).scalars())
    texts = store.interned.texts(connection, numbers)
    wanted = {number for number in numbers if plain(loads(texts[number])["check"], 200) in checks}
    for host_id, rows in groupby(chain.from_iterable(_EVERY.parts(connection, {})), key=itemgetter(0)):
        if told := tuple([row[1:] for row in rows if row[1] in wanted]):
            yield host_id, told


_ENDED = Hot(
    select(problem_span.c.host_id, problem_span.c.problem_id, problem_span.c.words_id, problem_span.c.until_audit,
           host.c.name).join(host, host.c.id == problem_span.c.host_id)
    .where(within(problem_span.c.host_id, "hosts"), problem_span.c.until_audit > bindparam("after"),
           problem_span.c.until_audit <= bindparam("upto")).order_by(problem_span.c.until_audit))


def last_told(store: OpenHistory, connection: Connection, findings: Collection[Over],
              after: int | None) -> dict[Over, Problem]:
    """How the host told these findings the last time, as far as that is kept. Mostly until they were over, which is
    after the audit ``after``; earlier where the check could not tell any more."""
    found: dict[Over, Problem] = {}
    told = Told()
    upto = max((each.until for each in findings), default=0)
    for first in (after or 0, 0):
        left = [each for each in findings if each not in found]
        ended: dict[tuple[int, str, str, str, str], list[tuple[int, Problem]]] = {}
        for part in parts({each.host_id for each in left}):
            rows = _ENDED(connection, {"hosts": part, "after": first, "upto": upto})
            texts = store.interned.texts(connection, {each for row in rows for each in row[1:3]})
            for host_id, about, words, until, name in rows:
                problem = told.again(name, texts[about], texts[words])
                # Without a code it is a finding of a version that kept none, whatever was found.
                for subject, code in product(problem.subjects, {plain(problem.found, 200), ""}):
                    ended.setdefault((host_id, plain(problem.check, 200), subject_key(plain(subject, 500)), code,
                                      problem.outcome), []).append((until, problem))
        for each in left:
            key = each.host_id, each.check, subject_key(each.subject), each.code, each.outcome
            last = [problem for until, problem in ended.get(key, ()) if until <= each.until]
            if last:
                found[each] = last[-1]
    return found
