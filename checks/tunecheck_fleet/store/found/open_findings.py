"""Which findings are open on which host, of the whole fleet. Most hosts have the same ones since the same audits: these
share one list, as ten thousand hosts with 44 findings each would need 130 MiB otherwise."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, select

from ...model import fault_of
from .. import audit_queries, audits
from ..history import receipt, runs
from ..rows import OpenFinding
from ..schema import finding, finding_span, host
from ..sql.compiled_statements import Hot
from .findings import during
from .gpu_warnings import with_gpus

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["each_host", "open_findings"]

#: In the order of the primary key, so that nothing has to be sorted.
_SPANS = Hot(select(
    finding_span.c.host_id, finding_span.c.finding_id, finding_span.c.outcome, finding_span.c.from_audit,
    finding_span.c.after_audit).where(during(bindparam("then"))).order_by(
    finding_span.c.host_id, finding_span.c.finding_id, finding_span.c.from_audit))
_MOVED = Hot(select(finding_span.c.host_id).where(
    during(bindparam("then")), finding_span.c.after_audit.is_not(None)).distinct())

#: Warnings that are open, and came after the host was first heard.
_WARNED = Hot(select(finding_span.c.host_id, finding_span.c.finding_id, finding_span.c.from_audit).where(
    during(bindparam("then")), finding_span.c.outcome == "warn", finding_span.c.after_audit.is_not(None)))
_GONE = Hot(select(host.c.id).where(host.c.retired_audit <= bindparam("then")))
_FINDINGS = Hot(select(finding.c.id, finding.c.check, finding.c.subject, finding.c.code))
_HOSTS = Hot(select(host.c.id, host.c.name))

#: Finding, outcome, since which audit, after which one, whether our own roles ran there then; and as in ProblemSince:
#: whether it came with GPUs, and again.
_Row = tuple[int, str, int, int | None, bool, bool, bool]


def open_findings(store: OpenHistory, audit_id: int | None) -> dict[str, tuple[OpenFinding, ...]]:
    """Host -> its findings as of that audit, by check, subject and code; of a name that several machines had, of the
    one that had it then: what was found on another one ended with that."""
    number = audits.head(store, audit_id).id
    same: dict[tuple[_Row, ...], tuple[_Row, ...]] = {}
    with store.db.read() as connection:
        when = audit_queries.times(store, connection)
        gone = {host_id for host_id, in _GONE(connection, {"then": number})}
        gone |= audit_queries.elsewhere(connection, number)
        of_machine = {host_id: same.setdefault(rows, rows) for host_id, rows in each_host(connection, number)
                      if host_id not in gone}
        # Afterwards: on PostgreSQL others may have put new ones meanwhile.
        named = {each: (check, subject, fault_of(check, code)) for each, check, subject, code in
                 _FINDINGS(connection)}
        called: dict[int, str] = dict(_HOSTS(connection))
        called |= audit_queries.earlier_names(connection, number)
    of_name: dict[str, tuple[_Row, ...]] = {}
    for host_id, rows in of_machine.items():
        if (name := called[host_id]) in of_name:
            rows = (*of_name[name], *rows)
            same[rows] = rows
        of_name[name] = rows
    age = cache(lambda begun, after: audit_queries.since(when, begun, after))
    # Of one finding the machine that had the name first stays first: sorting keeps that order.
    lists = {rows: tuple(OpenFinding(*named[found], outcome, age(begun, after), *more)
                         for found, outcome, begun, after, *more in sorted(rows, key=lambda row: named[row[0]]))
             for rows in same}
    return {name: lists[rows] for name, rows in of_name.items()}


def each_host(connection: Connection, number: int,
              only: Container[int] | None = None) -> Iterator[tuple[int, tuple[_Row, ...]]]:
    """Every host with its findings as of that audit; of these findings alone, where ``only`` says which."""
    ran = runs(connection, [host_id for host_id, in _MOVED(connection, {"then": number})])
    gpus = with_gpus(connection, _WARNED(connection, {"then": number}))
    every = chain.from_iterable(_SPANS.parts(connection, {"then": number}))
    for host_id, rows in groupby(every, key=itemgetter(0)):
        found = tuple([
            (found, outcome, begun, after, receipt(ran, host_id, begun) is not None,
             (host_id, found, begun) in gpus and outcome == "warn", gpus.get((host_id, found, begun), False))
            if after is not None else (found, outcome, begun, None, False, False, False)
            for _, found, outcome, begun, after in rows if only is None or found in only])
        if found:
            yield host_id, found
