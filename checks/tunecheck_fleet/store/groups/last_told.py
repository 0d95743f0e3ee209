"""When hosts that cannot tell a fact now told it last."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from ..audit_queries import ANSWERS_UPTO, during, parts
from ..schema import span
from ..spans import families
from ..sql.compiled_statements import Hot
from ..sql.within import within

if TYPE_CHECKING:
    from ..open_history import OpenHistory

__all__ = ["last_told", "unknown_of"]


class Unknown(NamedTuple):
    """What a host does not know, as spans.covered has it: facts by their ``names`` or ``families``, but not those that
    it ``reported`` all the same."""

    names: frozenset[str]
    families: tuple[str, ...]
    reported: frozenset[str]

    def of(self, facts: Mapping[int, str]) -> frozenset[int]:
        """The numbers of those of the facts."""
        return frozenset(number for number, name in facts.items() if name not in self.reported and (
            name in self.names or name.startswith(self.families)))


def unknown_of(about: Mapping[str, Any]) -> Unknown:
    """Of what a host reported about itself."""
    names = frozenset(about["unknown"])
    return Unknown(names, families(names), frozenset(about.get("told", ())))


def last_told(store: OpenHistory, connection: Connection, number: int,
              unknown: Mapping[int, frozenset[int]]) -> dict[int, dict[int, int]]:
    """Host -> fact -> the last audit that it told it in, or told that it has none. ``unknown``: which facts the hosts
    do not know in audit ``number``; those that a host never knew are left out.

    A version that cannot tell the fact has not told that there is none: there only a value counts."""
    rows = _answers(connection, number, unknown)
    abouts = store.interned.decoded(connection, {about for of_host in rows.values() for _, about in of_host})
    facts = store.interned.facts(connection)
    dark: dict[tuple[int, frozenset[int]], frozenset[int]] = {}     # most hosts say the same of themselves
    found: dict[int, dict[int, int]] = {}
    unsure: dict[int, dict[int, int]] = {}
    for host_id, of_host in rows.items():
        left = unknown[host_id]
        version = abouts[of_host[0][1]]["tunecheck"]
        for ended, about in of_host:
            if (about, left) not in dark:
                dark[about, left] = unknown_of(abouts[about]).of({fact: facts[fact] for fact in left})
            told = left - dark[about, left]
            if told:
                same = abouts[about]["tunecheck"] == version
                (found if same else unsure).setdefault(host_id, {}).update(dict.fromkeys(told, ended))
            left -= told
            if not left:
                break
    for host_id, fact in _held(connection, number, unsure):
        found.setdefault(host_id, {})[fact] = unsure[host_id][fact]
    return found


_HAVING = Hot(select(span.c.host_id, span.c.fact_id).where(
    within(span.c.host_id, "hosts"), within(span.c.fact_id, "facts"), during(bindparam("then"))))


def _answers(connection: Connection, number: int, hosts: Collection[int]) -> dict[int, list[tuple[int, int]]]:
    """Host -> (last audit, what it reported about itself) of all its answers up to that audit, the newest first."""
    found: dict[int, list[tuple[int, int]]] = {}
    for part in parts(hosts):
        for host_id, ended, about in reversed(ANSWERS_UPTO(connection, {"hosts": part, "upto": number})):
            found.setdefault(host_id, []).append((min(ended, number), about))
    return found


def _held(connection: Connection, number: int, wanted: Mapping[int, Mapping[int, int]]) -> list[tuple[int, int]]:
    """Those (host, fact) that have a value."""
    facts = {fact for of_host in wanted.values() for fact in of_host}
    return [(host_id, fact) for part in parts(wanted) for host_id, fact in _HAVING(
        connection, {"hosts": part, "facts": facts, "then": number}) if fact in wanted[host_id]]
