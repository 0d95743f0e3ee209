"""Lists that are given when a statement runs: the rows that ``in_`` finds, and by an index where the column has one."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from pkgutil import walk_packages

import pytest
from sqlalchemy import bindparam, insert, or_, select

from tunecheck_fleet import store as package
from tunecheck_fleet.store.schema import host
from tunecheck_fleet.store.sql.compiled_statements import Hot
from tunecheck_fleet.store.sql.within import Listed, within

from .stores import Makes

_NAMES = ("a", "b'", 'c"d', "e,f", "[g]", "\u00fc", "h%s", "i:names")
_HERE = Hot(select(host.c.name).where(within(host.c.name, "names")).order_by(host.c.id))
_ELSE = Hot(select(host.c.name).where(host.c.id > bindparam("least"), ~within(host.c.name, "names"))
            .order_by(host.c.id))
_BOTH = Hot(select(host.c.id).where(or_(within(host.c.name, "names"), within(host.c.id, "hosts"))).order_by(host.c.id))
#: Of the whole fleet: nothing leads from a fact to its spans.
_BY_FACT = {"tunecheck_fleet.store.history._HELD"}
_LARGE = ("span", "problem_span", "finding_span", "newest")


def _every() -> dict[str, Hot]:
    found = {}
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if ".migrations" not in module.name:
            for name, each in vars(import_module(module.name)).items():
                if isinstance(each, Hot):
                    found[f"{module.name}.{name}"] = each
    return found


@pytest.mark.parametrize("names", [(), ("a",), {"b'", 'c"d'}, frozenset(_NAMES), dict.fromkeys(["h%s", "none"]),
                                   [*_NAMES, *(f"n{number}" for number in range(40_000))]])
def test_a_list_of_any_kind_and_length(makes: Makes, names: Collection[str]) -> None:
    store = makes.fresh()
    with store.db.write() as connection:
        connection.execute(insert(host), [{"name": name, "grp": "g", "hardware": "", "first_audit": 1, "last_audit": 1,
                                           "snap_from": 1, "status": "ok", "about_id": 1} for name in _NAMES])
    with store.db.read() as connection:
        assert [name for name, in _HERE(connection, {"names": names})] == [each for each in _NAMES if each in names]
        rest = [name for name, in _ELSE(connection, {"names": names, "least": 0})]
        assert rest == [each for each in _NAMES if each not in names]
        numbers = {name: number for number, name in connection.execute(select(host.c.id, host.c.name))}
        wanted = sorted({numbers["a"], *(numbers[each] for each in _NAMES if each in names)})
        assert [number for number, in _BOTH(connection, {"names": names, "hosts": {numbers["a"]}})] == wanted


def test_such_a_list_is_looked_up_by_its_index(makes: Makes) -> None:
    """A statement that reads every row says so: of 10,000 hosts that is 1.5 million spans."""
    store, looked_at = makes.fresh(), 0
    if not store.db.sqlite:
        return      # its plans follow how large the tables are
    for name, hot in _every().items():
        statement = hot._statement.compile(dialect=store.db.engine.dialect)     # type: ignore[attr-defined]
        lists = [each for each, bind in statement.binds.items() if isinstance(bind.type, Listed)]
        if not lists or name in _BY_FACT:
            continue
        with store.db.read() as connection:
            compiled = hot._compile(connection)
            values = dict.fromkeys(statement.binds, 1) | {each: [1] for each in lists}
            cursor = connection.connection.cursor()
            cursor.execute(f"EXPLAIN QUERY PLAN {compiled.text}", compiled.bound(values))
            plan = [row[3] for row in cursor.fetchall()]
        assert [step for step in plan if step.startswith("SCAN") and step.split()[1] in _LARGE] == [], (name, plan)
        looked_at += 1
    assert looked_at > 15
