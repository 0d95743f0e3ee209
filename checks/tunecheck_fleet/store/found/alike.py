"""Which hosts have the same findings: a report of one host reads one of them for all."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, select

from .. import told_problems
from ..sanitize import canonical
from ..schema import finding, host
from ..sql.compiled_statements import Hot
from .open_findings import each_host

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["alike"]

#: What hosts say of themselves, of those whose newest answer is that audit's, and whose problems are kept one by one.
_THEMSELVES = Hot(select(host.c.id, host.c.about_id).where(
    host.c.answered_audit == bindparam("then"), host.c.last_audit == bindparam("then"), host.c.told_from.is_not(None)))


def alike(store: OpenHistory, connection: Connection, number: int, checks: Collection[str]) -> list[list[int]]:
    """Every host with a finding of these checks as of that audit. Those together that have the same ones since the same
    audits, told the same problems of these checks in the same audits and say the same of themselves, in whichever group
    they are; alone those of which that audit does not have the newest answer."""
    only = {each for each, check in connection.execute(select(finding.c.id, finding.c.check)) if check in checks}
    # Numbers in place of what the hosts told: most have the same, and ten thousand copies of it are large.
    same: dict[Hashable, int] = {}
    found = {each: same.setdefault(rows, len(same)) for each, rows in each_host(connection, number, only)}
    told = {each: same.setdefault(rows, len(same)) for each, rows in told_problems.each_host(store, connection, checks)}
    themselves: dict[int, int] = dict(iter(_THEMSELVES(connection, {"then": number})))
    abouts = {about: same.setdefault(canonical({**told_there, "group": ""}), len(same)) for about, told_there in (
        store.interned.decoded(connection, themselves.values()).items()) if about is not None}
    groups: dict[Hashable, list[int]] = {}
    for each, rows in found.items():
        key = (abouts[themselves[each]], rows, told.get(each)) if each in themselves else each
        groups.setdefault(key, []).append(each)
    return list(groups.values())
