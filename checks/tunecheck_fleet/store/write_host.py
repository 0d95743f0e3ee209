"""One host's answer goes into the history: nothing where it says what it said before, else what changed."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, insert, update

from ..model import Seen
from . import audits, spans, told_problems
from .audit_queries import ANSWERED
from .found import findings
from .identify import Box, identify
from .rows import Stored
from .sanitize import canonical, plain
from .schema import audit, host, newest, snap
from .spans import AnswerFacts
from .sql.compiled_statements import Hot

if TYPE_CHECKING:
    from .open_history import OpenHistory

__all__ = ["put"]

#: A host cannot make the history larger than this: facts, characters of a value, problems, runs of its
#: receipt and incidents of its journal.
FACTS, VALUE, PROBLEMS, RUNS = 20_000, 1 << 16, 2_000, 100

_HOST = Hot(update(host).where(host.c.id == bindparam("number")).values(
    grp=bindparam("group"), hardware=bindparam("hard"), last_audit=bindparam("now"),
    answered_audit=bindparam("answered"), snap_from=bindparam("begun"), status=bindparam("how"),
    about_id=bindparam("about"), state=bindparam("digest"),
    told_from=bindparam("told")))
_END_SNAP = update(snap).where(snap.c.host_id == bindparam("number"), snap.c.from_audit == bindparam("begun")).values(
    to_audit=bindparam("ended"))
_SNAP = insert(snap)
_NEWEST = Hot(update(newest).where(newest.c.host_id == bindparam("number")).values(
    audit_id=bindparam("now"), boot_id=bindparam("boot"), volatile=bindparam("volatile_json"),
    problems=bindparam("problems_json"), outcomes=bindparam("grid"), document=bindparam("content")))
_FIRST_NEWEST = insert(newest)
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_REBASELINED = update(audit).where(audit.c.id == bindparam("number")).values(rebaselined=True)


def put(store: OpenHistory, audit_id: int, seen: Seen) -> Stored:
    with store.turn:
        try:
            with store.db.write() as connection:
                return _put(store, connection, audit_id, seen)
        except BaseException:
            store.interned.forget()     # numbers given out in what was undone
            raise


def _put(store: OpenHistory, connection: Connection, audit_id: int, seen: Seen) -> Stored:
    opened = audits.open_audit(store, connection, audit_id)
    name, group = plain(seen.host, 255), plain(seen.group, 255)
    answered = seen.status in ANSWERED
    key = plain(seen.key, 255) if answered and seen.key else None
    row, note = identify(connection, opened, name, group, key)
    if row.last_audit >= audit_id:
        return Stored(name, "repeated")
    state = _state(opened.catalogue, seen) if answered else row.state
    same = answered and bool(state) and state == row.state
    facts = _facts(seen, same, store.interned.known_names) if answered else AnswerFacts({}, frozenset(), {}, (), ())
    if not facts.whole:
        state = b""     # something of it could not be kept, which has to be found out again each time
    about = store.interned.value(connection, canonical({
        "group": group, "hardware": plain(seen.hardware, 300), "tunecheck": plain(seen.tunecheck, 100),
        "spec": None if seen.spec is None else plain(seen.spec, 100), "reason": plain(seen.reason, 500),
        "unknown": facts.unknown, "checks": facts.unknown_checks,
        **({"told": facts.reported} if facts.reported else {}),
        **({"dark": {plain(check, 200): [plain(text, 500) for text in why]
                     for check, why in sorted(seen.dark.items())}} if answered and seen.dark else {}),
        **({"unasked": sorted(plain(check, 200) for check in seen.unasked)} if answered and seen.unasked else {}),
        **({"skipped": {plain(check, 200): plain(code, 200) for check, code in sorted(seen.skipped.items())}}
           if answered and seen.skipped else {})}))
    stored = Stored(name, "silent" if not answered else "unchanged", 0, note)
    if answered and not same:
        what, changed, rebaselined = spans.write(store, connection, row, opened, plain(seen.tunecheck, 100), facts)
        findings.write(store, connection, row, audit_id, seen.problems, facts.unknown_checks, seen.dark)
        row = row._replace(told_from=told_problems.write(store, connection, row, audit_id, seen.problems[:PROBLEMS]))
        if seen.changes:
            findings.receipts(connection, row.id, audit_id, seen.changes[-RUNS:])
        if seen.incidents:
            findings.incidents(connection, row.id, audit_id, seen.incidents[-RUNS:])
        if rebaselined:
            connection.execute(_REBASELINED, {"number": audit_id})
        stored = Stored(name, what, changed, note)
    _snap(connection, row, audit_id, group, seen, about, state, answered)
    if answered:
        _newest(store, connection, row, audit_id, seen)
    audits.beat(store, connection, opened)
    return stored


def _state(catalogue: int, seen: Seen) -> bytes:
    """Equal where nothing of the history can have changed; empty where it cannot be told. Not sorted, which is a third
    of it: who tells the same in another order is read in full, and found to be unchanged."""
    try:
        text = _ENCODER.encode([catalogue, seen.tunecheck, dict(seen.known), sorted(seen.unknown),
                          [told_problems.apart(problem) for problem in seen.problems],
                          sorted(seen.untold), sorted(seen.dark), sorted(seen.unasked),
                          [(run.run, run.at, run.state) for run in seen.changes],
                          *(vars(each) for each in seen.incidents)])
    except (ValueError, TypeError, RecursionError):
        return b""
    return blake2b(text.encode(), digest_size=16).digest()


def _facts(seen: Seen, same: bool, clean: Container[str]) -> AnswerFacts:
    """Without the known facts where they are the ``same`` as before. ``clean``: names that need no look."""
    known: dict[str, str] = {}
    absent = set()
    unknown = {plain(name, 300): plain(reason, 300) for name, reason in list(seen.unknown.items())[:FACTS]}
    reported = _reported(seen.known, unknown)
    not_kept: dict[str, str] = {}
    for name, value in () if same else seen.known.items():
        if name not in clean:
            name = plain(name, 300)
        try:
            text = canonical(value)
        except (ValueError, TypeError, RecursionError) as error:
            not_kept[name] = f"its value cannot be kept ({type(error).__name__})"
            continue
        if text == "null":
            absent.add(name)
        elif len(text) > VALUE:
            not_kept[name] = f"its value is too large to be kept: {len(text)} characters, at most {VALUE}"
        elif len(known) >= FACTS:
            not_kept[name] = f"the host tells more than {FACTS} facts"
        else:
            known[name] = text
    checks = {plain(check, 200) for check in (
        *seen.untold, *(problem.check for problem in seen.problems if problem.outcome == "unknown"))}
    return AnswerFacts(known, frozenset(absent), {**unknown, **not_kept}, tuple(sorted(reported - not_kept.keys())),
                       tuple(sorted(checks)), whole=not not_kept)


def _reported(names: Iterable[str], unknown: dict[str, str]) -> set[str]:
    """What is known is not unknown, whatever else is told; the names where only the family says so."""
    if not unknown:
        return set()
    families = tuple(start for start in unknown if start.endswith("."))
    reported = set()
    for name in names:
        name = plain(name, 300)
        unknown.pop(name, None)
        if families and name.startswith(families):
            reported.add(name)
    return reported


def _snap(connection: Connection, row: Box, audit_id: int, group: str, seen: Seen, about: int,
          state: bytes | None, answered: bool) -> None:
    begun = row.snap_from
    new = not row.status
    if new or row.last_audit != audit_id - 1 or row.status != seen.status or row.about_id != about:
        begun = audit_id
        if not new:
            connection.execute(_END_SNAP, {"number": row.id, "begun": row.snap_from, "ended": row.last_audit})
        connection.execute(_SNAP, {"host_id": row.id, "from_audit": begun, "status": seen.status, "about_id": about})
    _HOST(connection, {
        "number": row.id, "group": group, "hard": plain(seen.hardware, 300) if answered else row.hardware,
        "now": audit_id, "answered": audit_id if answered else row.answered_audit, "begun": begun, "how": seen.status,
        "about": about, "digest": state, "told": row.told_from})


def _newest(store: OpenHistory, connection: Connection, row: Box, audit_id: int, seen: Seen) -> None:
    problems = [problem.plain() for problem in seen.problems[:PROBLEMS]]
    values = {"volatile": _text(seen.volatile), "problems": canonical(problems), "outcomes": _text(seen.outcomes),
              "document": store.pack(seen.document),
              "boot_id": None if seen.boot_id is None else plain(seen.boot_id, 100)}
    if row.answered_audit is None:
        connection.execute(_FIRST_NEWEST, {"host_id": row.id, "audit_id": audit_id, **values})
    else:
        _NEWEST(connection, {"number": row.id, "now": audit_id, "boot": values["boot_id"],
                                     "volatile_json": values["volatile"], "problems_json": values["problems"],
                                     "grid": values["outcomes"], "content": values["document"]})


def _text(mapping: Mapping[str, Any]) -> str:
    """As JSON; a value that is none is left out."""
    try:
        return canonical(dict(mapping))
    except (ValueError, TypeError, RecursionError):
        kept = {}
        for name, value in mapping.items():
            try:
                canonical(value)
            except (ValueError, TypeError, RecursionError):
                continue
            kept[str(name)] = value
        return canonical(kept)
