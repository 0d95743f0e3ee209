"""What does a year of a fleet's history cost, on disk and to ask? 1,000 hosts x 365 audits x 150 facts.

    PYTHONPATH=checks:. python -m lab.bench.store [--hosts 1000] [--audits 365] [--facts 150] [--postgres]

The year is written by a bulk path of this file (put, one host at a time, would take minutes); the same rows come out of
both, which is checked at the beginning on a small fleet. Then the questions and the cost of put on top of that year:
the best of several runs is judged, as other work on the machine can only add to it; the median is told beside it.
--postgres does the same on a PostgreSQL of Debian's package. Exit code 1: a goal was missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from tests.unit.fleet.store.postgres import Server

from lab.bench.lines import Line, at_most, shown
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import canonical, open_store, schema
from tunecheck_fleet.store.store import Store

RATE = 0.001
SIZE_MIB, ASK_MS, OUTLIERS_MS, SAME_MS, CHANGE_MS = 30.0, 30.0, 800.0, 0.1, 0.5
GROUPS = (400, 300, 150, 90, 40, 12, 5, 3)
DAY = 86_400.0


class Year:
    """Who says what in which audit: the same for both ways of writing it."""

    def __init__(self, hosts: int, audits: int, facts: int, seed: int = 1) -> None:
        self.hosts, self.audits, self.facts = hosts, audits, facts
        self.random = random.Random(seed)
        self.names = [f"kernel.setting_{number:03d}" for number in range(facts)]
        self.groups = [self._group(number) for number in range(hosts)]
        self.values = [[f"value-{fact}" for fact in range(facts)] for _ in range(hosts)]

    def _group(self, number: int) -> str:
        place = number * sum(GROUPS) / self.hosts
        for index, size in enumerate(GROUPS):
            if place < size:
                return f"group{index}"
            place -= size
        return "group0"

    def changes(self) -> Iterator[tuple[int, int, int, str]]:
        """(audit, host, fact, value); the first audit has none. A third of the changes goes back to the usual."""
        cells = self.hosts * self.facts
        for audit in range(2, self.audits + 1):
            for cell in sorted(self.random.sample(range(cells), max(1, round(cells * RATE)))):
                host, fact = divmod(cell, self.facts)
                usual = f"value-{fact}"
                value = usual if self.random.random() < 1 / 3 else f"value-{fact}-{self.random.randrange(40)}"
                if value != self.values[host][fact]:
                    self.values[host][fact] = value
                    yield audit, host, fact, value

    def seen(self, host: int, document: bytes = b"") -> Seen:
        return Seen(f"gpu{host:04d}", self.groups[host], "ok", key=f"key{host}", hardware="h200 x8", tunecheck="1",
                    known=dict(zip(self.names, self.values[host], strict=True)), document=document,
                    volatile={"temperature": 40}, outcomes={"acs": "pass", "gpu": "pass"})


def by_put(store: Store, year: Year) -> None:
    changes: dict[int, list[tuple[int, int, str]]] = {}
    plan = Year(year.hosts, year.audits, year.facts)
    for audit, host, fact, value in plan.changes():
        changes.setdefault(audit, []).append((host, fact, value))
    for audit in range(1, year.audits + 1):
        for host, fact, value in changes.get(audit, ()):
            year.values[host][fact] = value
        store.begin("bench", [(f"gpu{host:04d}", year.groups[host]) for host in range(year.hosts)])
        for host in range(year.hosts):
            store.put(audit, year.seen(host))
        store.finish(audit)


def in_bulk(store: Store, year: Year, document: bytes = b"") -> None:
    """The first audit by put; then only what the others change: spans, values, and how far each host was heard of."""
    asked = [(f"gpu{host:04d}", year.groups[host]) for host in range(year.hosts)]
    store.begin("bench", asked)
    for host in range(year.hosts):
        store.put(1, year.seen(host, document))
    store.finish(1)
    with store.db.read() as connection:
        hosts = {name: number for number, name in connection.execute(select(schema.host.c.id, schema.host.c.name))}
        facts = {name: number for number, name in connection.execute(select(schema.fact.c.id, schema.fact.c.name))}
        first = connection.execute(select(schema.audit).where(schema.audit.c.id == 1)).one()._asdict()
        newest = {(host, fact): (1, value) for host, fact, value in connection.execute(
            select(schema.span.c.host_id, schema.span.c.fact_id, schema.span.c.value_id))}
    spans: dict[tuple[int, int, int], dict[str, Any]] = {}
    ends: list[dict[str, int]] = []
    with store.db.write() as connection:
        for audit, host, fact, text in year.changes():
            where = hosts[f"gpu{host:04d}"], facts[year.names[fact]]
            value = store.interned.value(connection, canonical(text))
            begun, before = newest[where]
            if begun == 1:
                ends.append({"h": where[0], "f": where[1], "until": audit})
            else:
                spans[*where, begun]["until_audit"] = audit
            newest[where] = audit, value
            spans[*where, audit] = {
                "host_id": where[0], "fact_id": where[1], "from_audit": audit, "until_audit": None, "value_id": value,
                "before_id": before, "after_audit": audit - 1, "baseline": False}
        table = schema.span
        connection.execute(update(table).where(table.c.host_id == bindparam("h"), table.c.fact_id == bindparam("f"),
                                               table.c.from_audit == 1).values(until_audit=bindparam("until")), ends)
        connection.execute(insert(table), [spans[where] for where in sorted(spans, key=lambda where: where[2])])
        connection.execute(insert(schema.audit), [
            {**first, "id": audit, "started": first["started"] + (audit - 1) * 1.0, "finished": first["finished"]}
            for audit in range(2, year.audits + 1)])
        connection.execute(update(schema.host).values(last_audit=year.audits, answered_audit=year.audits, state=b""))
        connection.execute(update(schema.newest).values(audit_id=year.audits))
        if not store.db.sqlite:
            connection.exec_driver_sql("SELECT setval('audit_id_seq', (SELECT max(id) FROM audit))")


def same_rows(folder: Path) -> None:
    """Both ways, a small fleet: everything but states and times is equal."""
    found = []
    for name, write in (("put", by_put), ("bulk", in_bulk)):
        with open_store(str(folder / f"{name}.db"), catalogue=1) as store:
            write(store, Year(20, 30, 30))
            with store.db.read() as connection:
                values = dict(iter(connection.execute(select(schema.value.c.id, schema.value.c.json))))
                spans = {(*row[:4], values[row[4]], values.get(row[5]), *row[6:])
                         for row in connection.execute(select(schema.span))}
                snaps = set(map(tuple, connection.execute(select(schema.snap.c.host_id, schema.snap.c.from_audit,
                                                                 schema.snap.c.to_audit, schema.snap.c.status))))
                hosts = set(map(tuple, connection.execute(select(schema.host.c.id, schema.host.c.last_audit))))
            found.append((spans, snaps, hosts))
    if found[0] != found[1]:
        raise SystemExit("bench_store: the bulk path does not write what put writes")


def measure(store: Store, part: str, year: Year) -> list[Line]:
    last, host, fact = year.audits, "gpu0100" if year.hosts > 100 else "gpu0001", year.names[7]
    middle = max(1, last - 65)
    spans = len(store.changes(None))
    lines = [
        _asked(part, "host now", lambda: store.current(host), ASK_MS),
        _asked(part, "since when, one fact of one host", lambda: store.blame(fact, host), ASK_MS),
        _asked(part, "blame: what the last audit brought", lambda: store.changes(last - 1, last), ASK_MS),
        _asked(part, "host at an audit in the middle", lambda: store.at(host, last // 2), ASK_MS),
        _asked(part, "fleet diff of the last two audits", lambda: store.diff(last - 1, last), ASK_MS),
        _asked(part, f"fleet diff of audits {middle} and {last}", lambda: store.diff(middle, last), ASK_MS),
        _asked(part, "outliers of the whole fleet", store.outliers, OUTLIERS_MS),
        _asked(part, "census of the newest audit", store.census, None),
        _asked(part, "hosts of the newest audit", store.hosts, None),
        _asked(part, "timeline of all audits", lambda: store.timeline(None), None),
        _asked(part, f"all {spans} changes", lambda: store.changes(None), None),
        _asked(part, "volatility of the last 10 audits", store.volatility, None),
        _asked(part, "flaps", lambda: store.flaps(30), None),
    ]
    return lines


def puts(store: Store, part: str, year: Year, document: bytes, hosts: int = 300) -> list[Line]:
    """CPU of this process for each host, in the best block of 20: read in full once, unchanged, then one change."""
    hosts = min(hosts, year.hosts)
    spent = []
    for turn in range(4):
        head = store.begin("bench", [(f"gpu{host:04d}", "") for host in range(hosts)])
        if turn >= 2:
            for host in range(hosts):
                year.values[host][3] = f"changed-{turn}"
        answers = [year.seen(host, document) for host in range(hosts)]
        blocks = []
        for start in range(0, hosts, 20):
            block = answers[start:start + 20]
            begun = time.process_time()
            for answer in block:
                store.put(head.id, answer)
            blocks.append((time.process_time() - begun) / len(block) * 1e3)
        spent.append((min(blocks), statistics.median(blocks)))
        store.finish(head.id)
    return [at_most(part, f"put, {what}, CPU", best, "ms", goal, note=f"median block {median:.2f} ms")
            for what, goal, (best, median) in (("unchanged host", SAME_MS, spent[1]),
                                               ("one fact changed", CHANGE_MS, spent[3]))]


def _asked(part: str, what: str, ask: Callable[[], Any], goal: float | None, runs: int = 11) -> Line:
    ask()
    taken, rows = [], 0
    for _ in range(runs):
        begun = time.perf_counter()
        answer = ask()
        taken.append((time.perf_counter() - begun) * 1e3)
        rows = len(answer)
    return at_most(part, what, min(taken), "ms", goal, note=f"{rows} rows, median {statistics.median(taken):.1f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--audits", type=int, default=365)
    parser.add_argument("--facts", type=int, default=150)
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL instead of SQLite")
    args = parser.parse_args()
    document = b"".join(b'{"name":"%d","value":"%d"},' % (number, number * 7919) for number in range(600))
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        same_rows(folder)
        server = Server() if args.postgres else None
        try:
            part, place = "sqlite", str(folder / "fleet.db")
            if server is not None:
                part, place = "postgresql", server.url("bench")
                server.sql("CREATE DATABASE bench")
            with open_store(place, catalogue=1) as store:
                year = Year(args.hosts, args.audits, args.facts)
                begun = time.process_time()
                in_bulk(store, year, document)
                print(f"written in {time.process_time() - begun:.0f} CPU s", file=sys.stderr)
                if server is None:
                    with store.db.engine.connect() as connection:
                        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
                    size = Path(place).stat().st_size / 2**20
                    lines.append(at_most(part, "the file", size, "MiB", SIZE_MIB))
                else:
                    server.sql("VACUUM ANALYZE")
                    with store.db.engine.connect() as connection:
                        connection.exec_driver_sql("ANALYZE")
                        connection.commit()
                        size = connection.exec_driver_sql("SELECT pg_database_size('bench')").scalar_one() / 2**20
                    lines.append(at_most(part, "the database", size, "MiB", None))
                lines += measure(store, part, year)
                lines += puts(store, part, year, document)
        finally:
            if server is not None:
                server.stop()
    print("\n".join(shown(line) for line in lines))
    return int(any(line.good is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
