"""Since when a check fails on a host, the runs of our own roles there, and the incidents of what it serves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, bindparam, insert, or_, select, update

from ...fleet_report import Since
from ...model import Change, Incident, Problem, fault_of, subject_key
from .. import audit_queries, audits
from ..audit_queries import parts
from ..history import receipt, runs
from ..identify import Box
from ..rows import ProblemSince
from ..sanitize import canonical, plain
from ..schema import finding, finding_span, host, identity, incident, journal
from ..spans import Past
from ..sql.compiled_statements import Hot
from ..told_problems import Over, last_told
from .gpu_warnings import with_gpus
from .resumed import resume
from .things import Held, Thing, over, with_codes

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["during", "ended_with_machine", "incidents", "receipts", "resolved", "since", "write"]

_WORST = ("fail", "warn", "unknown")
#: Findings of one host: it cannot make the history larger.
_MOST = 2_000
_OPEN = Hot(select(finding.c.check, finding.c.subject, finding.c.code, finding_span.c.finding_id,
               finding_span.c.outcome, finding_span.c.from_audit, finding_span.c.after_audit).join(
    finding, finding.c.id == finding_span.c.finding_id).where(
    finding_span.c.host_id == bindparam("number"), finding_span.c.until_audit.is_(None)))
_END = Hot(update(finding_span).where(
    finding_span.c.host_id == bindparam("number"), finding_span.c.finding_id == bindparam("found"),
    finding_span.c.from_audit == bindparam("begun")).values(until_audit=bindparam("ended")))
_BEGIN = Hot(insert(finding_span))
_RUNS = select(journal.c.run, journal.c.at, journal.c.state).where(journal.c.host_id == bindparam("number"))
_RUN = insert(journal)
_RAN = update(journal).where(journal.c.host_id == bindparam("number"), journal.c.run == bindparam("called")).values(
    at=bindparam("when"), state=bindparam("how"), last_audit=bindparam("seen"))
_INCIDENTS = select(incident.c.name, incident.c.told).where(incident.c.host_id == bindparam("number"))
_INCIDENT = insert(incident)
_TOLD = update(incident).where(
    incident.c.host_id == bindparam("number"), incident.c.name == bindparam("called")).values(told=bindparam("content"))


def _problems(until: ColumnElement[int | None]) -> Select[Any]:
    return select(
        host.c.id, host.c.name, host.c.grp, finding.c.check, finding.c.subject, finding.c.code,
        finding_span.c.outcome, finding_span.c.from_audit, finding_span.c.after_audit, until
    ).join(finding, finding.c.id == finding_span.c.finding_id).join(
        host, host.c.id == finding_span.c.host_id).order_by(
        host.c.name, finding.c.check, finding.c.subject, finding.c.code, host.c.id, finding_span.c.from_audit)


_PROBLEM, _OF_MACHINE = _problems(finding_span.c.until_audit), _problems(host.c.retired_audit)


def write(store: OpenHistory, connection: Connection, row: Box, audit_id: int, problems: Sequence[Problem],
          unknown_checks: Sequence[str], dark: Iterable[str]) -> None:
    """A check that could not be judged ends no finding: it may well still fail. Where there was none, that nothing is
    known has a since and an end of its own. What only an audit of another inventory has ended goes on. ``dark``: checks
    that say themselves why they tell nothing, or not of everything."""
    now: dict[Thing, str] = {}
    named: dict[Thing, str] = {}
    for check, subject, code, outcome in islice(_each(problems), _MOST):
        thing = Thing(plain(check, 200), subject_key(plain(subject, 500)), plain(code, 200))
        named.setdefault(thing, plain(subject, 500))
        now[thing] = min(outcome, now.get(thing, outcome), key=_WORST.index)
    spans: dict[Thing, list[Held]] = {}
    for check, subject, code, *rest in _OPEN(connection, {"number": row.id}):
        spans.setdefault(Thing(check, subject_key(subject), fault_of(check, code)), []).append(Held(*rest))
    # What a version of before kept as several things goes on as the one that was found first.
    oldest = {thing: sorted(several, key=lambda each: (each.begun, each.number)) for thing, several in spans.items()}
    doubled = [each for several in oldest.values() for each in several[1:]]
    held = with_codes(store, connection, row, now, named, {thing: several[0] for thing, several in oldest.items()})
    ends = [{"number": row.id, "found": each.number, "begun": each.begun, "ended": audit_id}
            for each in (*doubled, *over(held, now, unknown_checks, {plain(check, 200) for check in dark}))]
    past = Past(store, connection, row)
    first = row.state is None       # never looked at before, so not known to be new
    begins: list[dict[str, Any]] = []
    partly = {thing.check for thing, each in held.items() if each.outcome == "unknown"}
    # What is unknown of these is whether that is still so, which has a since.
    untold = {thing.of for thing, each in held.items() if each.outcome != "unknown"
              and now.get(thing, "unknown") == "unknown"}
    for thing, outcome in now.items():
        if (thing not in held and thing.of not in untold) if outcome == "unknown" else (
                thing not in held or held[thing].outcome != outcome):
            heard = None if first else past.check(thing.check)
            if heard is not None and outcome == "unknown" and thing.check in partly:
                heard = next(iter(past))        # which told what else it could not judge, and not this
            begins.append({"host_id": row.id, "finding_id": held[thing].number if thing in held
                           else store.interned.finding(connection, thing.check, named[thing], thing.code),
                           "from_audit": audit_id, "outcome": outcome, "until_audit": None,
                           "after_audit": heard.last if heard else None})
    if ends:
        _END(connection, ends)
    again = resume(connection, row, audit_id, {(each["finding_id"], each["outcome"]) for each in begins}) if (
        begins and not first) else set()
    begins = [each for each in begins if each["finding_id"] not in again]
    if begins:
        _BEGIN(connection, begins)


def _each(problems: Sequence[Problem]) -> Iterator[tuple[str, str, str, str]]:
    return ((problem.check, subject, problem.found, problem.outcome)
            for problem in problems for subject in problem.subjects)


def receipts(connection: Connection, host_id: int, audit_id: int, changes: Sequence[Change]) -> None:
    """Runs that were not told before, or went on since."""
    held = {run: (at, state) for run, at, state in connection.execute(_RUNS, {"number": host_id})}
    for change in {plain(change.run, 200): change for change in changes}.values():
        run, state = plain(change.run, 200), plain(change.state, 100)
        if run not in held:
            connection.execute(_RUN, {"host_id": host_id, "run": run, "at": change.at, "state": state,
                                      "first_audit": audit_id, "last_audit": audit_id})
        elif held[run] != (change.at, state):
            connection.execute(_RAN, {"number": host_id, "called": run, "when": change.at, "how": state,
                                      "seen": audit_id})


def incidents(connection: Connection, host_id: int, audit_id: int, told: Sequence[Incident]) -> None:
    """Incidents that were not told before, or went on since."""
    held = dict(iter(connection.execute(_INCIDENTS, {"number": host_id})))
    for name, each in {plain(each.id, 100): each for each in told}.items():
        content = canonical(vars(each))
        if name not in held:
            connection.execute(_INCIDENT, {"host_id": host_id, "name": name, "told": content, "first_audit": audit_id})
        elif held[name] != content:
            connection.execute(_TOLD, {"number": host_id, "called": name, "content": content})


def since(store: OpenHistory, audit_id: int | None, checks: Collection[str] | None = None,
          hosts: Collection[str] | None = None) -> list[ProblemSince]:
    """Only of ``checks``, and of ``hosts``, where they are given. What was found on a machine ends with it: another
    one that has its name now is not found to be so, and one that told under two names is told once."""
    number = audits.head(store, audit_id).id
    wanted = _PROBLEM.where(during(number), or_(host.c.retired_audit.is_(None), host.c.retired_audit > number))
    if checks is not None:
        wanted = wanted.where(finding.c.check.in_(sorted(checks)))
    if checks is not None and not checks:
        return []
    return _of_hosts(store, wanted, hosts, number)


def _of(names: Collection[str]) -> Any:
    """Spans of these hosts. By number, which is how they lie there: by name, SQLite reads those of all hosts."""
    return finding_span.c.host_id.in_(select(host.c.id).where(host.c.name.in_(names)))


def during(audit_id: Any) -> Any:
    """Spans of findings that held at that audit."""
    return (finding_span.c.from_audit <= audit_id) & or_(
        finding_span.c.until_audit.is_(None), finding_span.c.until_audit > audit_id)


def resolved(store: OpenHistory, after_audit: int | None, upto_audit: int | None,
             names: Collection[str] | None = None, told: bool = False,
             of: Literal["thing", "subject", "span"] = "thing") -> list[ProblemSince]:
    """``told``: with how each was told the last time. A finding that only went from fail to warn has a span that begins
    where the other ends: it is not resolved, and only told as a "span". As of a "subject" what ended is told where the
    check found nothing else of that."""
    ended = audit_queries.between(finding_span.c.until_audit, after_audit, upto_audit)
    wanted = _PROBLEM.where(*ended)
    next_one, same = finding_span.alias(), finding.alias()
    if of == "thing":
        wanted = wanted.where(~select(next_one.c.host_id).where(
            next_one.c.host_id == finding_span.c.host_id, next_one.c.finding_id == finding_span.c.finding_id,
            next_one.c.from_audit == finding_span.c.until_audit).exists())
    elif of == "subject":
        wanted = wanted.where(~select(next_one.c.host_id).join(same, same.c.id == next_one.c.finding_id).where(
            next_one.c.host_id == finding_span.c.host_id, same.c.check == finding.c.check,
            same.c.subject == finding.c.subject, next_one.c.from_audit <= finding_span.c.until_audit,
            or_(next_one.c.until_audit.is_(None), next_one.c.until_audit > finding_span.c.until_audit)).exists())
    return _of_hosts(store, wanted, names, upto_audit, (after_audit or 0) if told else None)


def ended_with_machine(store: OpenHistory, name: str) -> list[ProblemSince]:
    """What was found on machines that had the name before, and was so until another one had it."""
    fresh = host.alias()
    replaced = select(identity.c.audit_id).where(
        fresh.c.id == identity.c.host_id, fresh.c.name == host.c.name, identity.c.kind == "replaced",
        identity.c.audit_id == host.c.retired_audit).correlate(host).exists()
    wanted = _OF_MACHINE.where(host.c.name == name, finding_span.c.until_audit.is_(None), replaced)
    return _listed(store, wanted, {}, None)


def _of_hosts(store: OpenHistory, wanted: Select[Any], names: Collection[str] | None,
              number: int | None, after: int | None = None) -> list[ProblemSince]:
    """Of these hosts, as they were called in that audit (None: the newest). ``after``: as in _listed."""
    with store.db.read() as connection:
        called = audit_queries.earlier_names(connection, number) if number is not None else {}
    if names is None:
        return _listed(store, wanted, called, after)
    those = [number for number, name in called.items() if name in names]
    found = [row for part in parts(names) for row in _listed(store, wanted.where(
        _of(part) | finding_span.c.host_id.in_(those) if those else _of(part)), called, after)]
    return [row for row in dict.fromkeys(found) if row.host in names] if called else found


def _listed(store: OpenHistory, wanted: Select[Any], called: Mapping[int, str],
            after: int | None) -> list[ProblemSince]:
    """``after``: with how findings that were over after that audit were told the last time."""
    with store.db.read() as connection:
        when = audit_queries.times(store, connection)
        rows = connection.execute(wanted.add_columns(finding_span.c.finding_id)).all()
        ran = runs(connection, {number for number, *_, after, _, _ in rows if after is not None})
        # Thousands of hosts have the same ones since the same audit: each text and interval is there once.
        once = dict[str, str]().setdefault
        gpus = with_gpus(connection, [(number, found, begun) for number, *_, outcome, begun, after, _, found in rows
                                      if outcome == "warn" and after is not None])
        age = cache(lambda begun, after: audit_queries.since(when, begun, after))
        told = {} if after is None else last_told(store, connection, [
            _over(number, check, subject, code, outcome, until)
            for number, _, _, check, subject, code, outcome, _, _, until, _ in rows], after)
        ends = {} if after is None else _ends(connection, when, {(number, until) for number, *_, until, _ in rows})
        return [ProblemSince(called.get(number) or once(name, name), once(group, group), once(check, check),
                             once(subject, subject), once(outcome, outcome), age(begun, after), until,
                             after is not None and receipt(ran, number, begun) is not None,
                             (number, found, begun) in gpus and outcome == "warn",
                             gpus.get((number, found, begun), False),
                             told.get(_over(number, check, subject, code, outcome, until)) if told else None,
                             ends.get((number, until)), once(code, fault_of(check, code)))
                for number, name, group, check, subject, code, outcome, begun, after, until, found in rows]


def _over(number: int, check: str, subject: str, code: str, outcome: str, until: int) -> Over:
    return Over(number, check, subject, fault_of(check, code), outcome, until)


def _ends(connection: Connection, when: dict[int, float],
          over: Collection[tuple[int, int]]) -> dict[tuple[int, int | None], Since]:
    """(host, the audit in which something was over) -> when that was: after the last answer before."""
    hosts: dict[int, set[int]] = {}
    for host_id, until in over:
        hosts.setdefault(until, set()).add(host_id)
    found: dict[tuple[int, int | None], Since] = {}
    for until, those in hosts.items():
        last = {host_id: min(ended, until - 1) for host_id, ended, _ in audit_queries.last_answers(
            connection, those, until - 1)}
        for host_id in those:
            found[host_id, until] = audit_queries.since(when, until, last.get(host_id))
    return found
