"""What a check finds of a subject, each with spans of its own: a code tells them apart. Of what was found before it
comes from what the host told of it. All that is open keeps its since; what was told no more while something else of the
subject was is over since then. What nobody told, or an older version without a code, has none: it gets that of what is
told next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import loads
from typing import Any, NamedTuple

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

#: Hosts that are read at a time.
_HOSTS = 500
#: As model.subject_key has it in this version.
_NUMBERED = re.compile(r"GPU\d+ ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")

_host = sa.table("host", *map(sa.column, ("id", "told_from", "state")))
_newest = sa.table("newest", *map(sa.column, ("host_id", "audit_id", "problems")))
_finding = sa.table("finding", *map(sa.column, ("id", "check", "subject", "code")))
_span = sa.table("finding_span", *map(sa.column, ("host_id", "finding_id", "from_audit", "until_audit", "outcome",
                                                  "after_audit")))
_problem = sa.table("problem_span", *map(sa.column, ("host_id", "problem_id", "from_audit", "until_audit")))
_value = sa.table("value", *map(sa.column, ("id", "json")))
_AWAY = sa.delete(_span).where(_span.c.host_id == sa.bindparam("of"), _span.c.finding_id == sa.bindparam("found"),
                               _span.c.from_audit == sa.bindparam("begun"))


class _Told(NamedTuple):
    code: str
    outcome: str
    begun: int
    until: int | None


#: (check, key of the subject) -> what a host told of it.
_ToldOf = dict[tuple[str, str], list[_Told]]


def upgrade() -> None:
    op.add_column("finding", sa.Column("code", sa.Text, nullable=False, server_default=""))
    op.drop_index("finding_name", "finding")
    op.create_index("finding_name", "finding", ["check", "subject", "code"], unique=True)
    connection = op.get_bind()
    findings = {number: (check, subject) for number, check, subject in connection.execute(
        sa.select(_finding.c.id, _finding.c.check, _finding.c.subject))}
    made: dict[tuple[str, str, str], int] = {}
    hosts = sorted(connection.execute(sa.select(_host.c.id)).scalars()) if findings else []
    for start in range(0, len(hosts), _HOSTS):
        within = hosts[start], hosts[start:start + _HOSTS][-1]
        told = _told(connection, *within)
        away, again = [], []
        for host_id, number, begun, until, outcome, after in connection.execute(
                sa.select(_span).where(_span.c.host_id.between(*within))).all():
            check, subject = findings[number]
            parts = list(_parts(told.get(host_id, {}).get((check, _key(subject)), ()), begun, until, outcome))
            if not parts:
                continue
            away.append({"of": host_id, "found": number, "begun": begun})
            for each in parts:
                found = number if not each.code else _numbered(connection, made, (check, subject, each.code))
                again.append({"host_id": host_id, "finding_id": found, "from_audit": begun, "until_audit": each.until,
                              "outcome": each.outcome, "after_audit": after})
        if away:
            connection.execute(_AWAY, away)
            connection.execute(sa.insert(_span), again)
    # The next answer is read in full. Not NULL: the host was looked at before.
    op.execute(sa.update(sa.table("host", sa.column("state", sa.LargeBinary))).where(
        sa.column("state", sa.LargeBinary).is_not(None)).values(state=b""))


def _key(subject: str) -> str:
    numbered = _NUMBERED.fullmatch(subject)
    return f"GPU {numbered[1]}" if numbered else subject


def _numbered(connection: sa.Connection, made: dict[tuple[str, str, str], int], name: tuple[str, str, str]) -> int:
    if name not in made:
        values = dict(zip(("check", "subject", "code"), name, strict=True))
        made[name] = connection.execute(sa.insert(_finding).values(values).returning(_finding.c.id)).scalar_one()
    return made[name]


def _told(connection: sa.Connection, first: int, last: int) -> dict[int, _ToldOf]:
    """Host -> what it told, as far as that is kept; of a host of a history of before 0006 its newest answer."""
    found: dict[int, _ToldOf] = {}
    rows = connection.execute(sa.select(_problem).where(_problem.c.host_id.between(first, last))).all()
    numbers = sorted({row.problem_id for row in rows})
    heads: dict[int, Any] = {}
    for start in range(0, len(numbers), _HOSTS):
        heads |= {number: loads(json) for number, json in connection.execute(
            sa.select(_value.c.id, _value.c.json).where(_value.c.id.in_(numbers[start:start + _HOSTS])))}
    for host_id, number, begun, until in rows:
        _add(found.setdefault(host_id, {}), heads[number], begun, until)
    for host_id, audit_id, problems in connection.execute(
            sa.select(_newest).join(_host, _host.c.id == _newest.c.host_id).where(
                _newest.c.host_id.between(first, last), _host.c.told_from.is_(None))):
        for problem in loads(problems or "[]"):
            _add(found.setdefault(host_id, {}), problem, audit_id, None)
    return found


def _add(found: _ToldOf, problem: Mapping[str, Any], begun: int, until: int | None) -> None:
    outcome, code = problem["outcome"], problem.get("code", "")
    if code or outcome == "unknown":
        for subject in problem["subject"].split(", "):
            found.setdefault((problem["check"], _key(subject)), []).append(
                _Told("" if outcome == "unknown" else code, outcome, begun, until))


def _parts(told: Iterable[_Told], begun: int, until: int | None, outcome: str) -> Iterator[_Told]:
    """The things that were found while the span lasted, each with its end; none: it stays as it is."""
    there = [each for each in told if _before(each.begun, until) and _before(begun, each.until)]
    codes = {each.code: each for each in sorted(there, key=_worst_last)}
    if outcome == "unknown" or not any(codes):
        return
    ends = {code: _last([each.until for each in there if each.code == code]) for code in codes}
    # What could not be told at the end was so all the same.
    last = _last([end for code, end in ends.items() if code])
    for code, each in codes.items():
        if not code and ends[code] != last:
            continue        # then there was nothing else to be told
        open_still = ends[code] == last or not _before(ends[code], until)
        yield each._replace(begun=begun, until=until if open_still else ends[code])


def _worst_last(told: _Told) -> int:
    return ("unknown", "warn", "fail").index(told.outcome)


def _last(ends: Sequence[int | None]) -> int | None:
    return None if None in ends else max(end for end in ends if end is not None)


def _before(audit_id: int | None, end: int | None) -> bool:
    """Whether it is before the end; None: never."""
    return end is None or (audit_id is not None and audit_id < end)
