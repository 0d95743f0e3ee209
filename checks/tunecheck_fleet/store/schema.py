"""The tables. A span is a value that held from one audit until another; names and values are interned, so a year of a
fleet at rest costs what changed in it.

The migrations bring an older history to them; tests hold the two against each other. A partial index names its
condition for SQLite alone, and ``make`` takes it over for PostgreSQL: to name it here would load that dialect, 4 MiB,
into every process.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    false,
    insert,
    true,
)

__all__ = ["audit", "compared", "decided", "decision", "differing", "fact", "finding", "finding_span", "host",
           "identity", "incident", "journal", "make", "metadata", "newest", "problem_span", "snap", "span", "told",
           "turn", "value", "version", "waiver"]

metadata = MetaData()

#: Alembic's own table, under our name: not one of ours.
version = Table("tunecheck_version", MetaData(), Column("version_num", String(32), nullable=False),
                PrimaryKeyConstraint("version_num", name="tunecheck_version_pkc"))

audit = Table(
    "audit", metadata,
    Column("id", Integer, primary_key=True),
    Column("started", Double, nullable=False),
    Column("finished", Double),
    Column("scope", Text, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("asked_id", Integer),                # value: [[host, group], ...], for who resumes it
    Column("tunecheck", Text, nullable=False),
    Column("catalogue", Integer, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("rebaselined", Boolean, nullable=False),
    Column("pruned", Boolean, nullable=False),  # kept for its time alone
    sqlite_autoincrement=True,
)

#: Who is auditing. ``beat`` tells a live holder on another machine from one that is gone.
turn = Table(
    "turn", metadata,
    Column("name", Text, primary_key=True),
    Column("audit_id", Integer, nullable=False),
    Column("node", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("ticks", BigInteger, nullable=False),
    Column("since", Double, nullable=False),
    Column("beat", Double, nullable=False),
    sqlite_with_rowid=False,
)

#: ``key``: what the box is. ``claimed``: a key that it tells but another host had first (a cloned image). The newest
#: snap of a host has no end of its own: it ends at ``last_audit``, so an unchanged host costs one update here.
#: ``told_from``: since which audit it has rows in problem_span; None: none yet.
host = Table(
    "host", metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, unique=True),
    Column("claimed", Text),
    Column("name", Text, nullable=False),
    Column("grp", Text, nullable=False),
    Column("hardware", Text, nullable=False),
    Column("first_audit", Integer, nullable=False),
    Column("last_audit", Integer, nullable=False),
    Column("answered_audit", Integer),
    Column("snap_from", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("about_id", Integer, nullable=False),
    Column("state", LargeBinary),
    Column("retired_audit", Integer),
    Column("told_from", Integer),
    sqlite_autoincrement=True,
)
Index("host_name", host.c.name, unique=True, sqlite_where=host.c.retired_audit.is_(None))

fact = Table(
    "fact", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    sqlite_autoincrement=True,
)

#: Ids are never used twice: other processes remember them.
value = Table(
    "value", metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("json", Text, nullable=False),
    sqlite_autoincrement=True,
)

#: One row for as long as a host gives the same kind of answer in audit after audit. ``about``: group, hardware,
#: tunecheck, spec, reason and unknown facts, as an interned value.
snap = Table(
    "snap", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("from_audit", Integer, primary_key=True, autoincrement=False),
    Column("to_audit", Integer),
    Column("status", Text, nullable=False),
    Column("about_id", Integer, nullable=False),
    sqlite_with_rowid=False,
)

#: Until the audit ``until_audit`` (None: still). ``before_id`` None: it was absent, or nothing was known.
#: ``after_audit``: the last one in which the fact was known before. ``baseline``: not a change.
span = Table(
    "span", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("fact_id", Integer, primary_key=True, autoincrement=False),
    Column("from_audit", Integer, primary_key=True, autoincrement=False),
    Column("until_audit", Integer),
    Column("value_id", Integer, nullable=False),
    Column("before_id", Integer),
    Column("after_audit", Integer),
    Column("baseline", Boolean, nullable=False),
    sqlite_with_rowid=False,
)
#: Each holds whatever is asked of it, also the column that it is limited by: SQLite looks that one up in the table
#: else, row by row (0003).
Index("span_now", span.c.host_id, span.c.fact_id, span.c.value_id, span.c.after_audit, span.c.until_audit,
      sqlite_where=span.c.until_audit.is_(None))
Index("span_change", span.c.from_audit, span.c.host_id, span.c.fact_id, span.c.before_id, span.c.value_id,
      span.c.after_audit, span.c.baseline, sqlite_where=span.c.baseline == false())
Index("span_baseline", span.c.from_audit, span.c.host_id, span.c.fact_id, span.c.baseline,
      sqlite_where=span.c.baseline == true())

#: Of the newest answer only: what is too restless, or too large, for a history.
newest = Table(
    "newest", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("audit_id", Integer, nullable=False),
    Column("boot_id", Text),
    Column("volatile", Text, nullable=False),
    Column("problems", Text, nullable=False),
    Column("outcomes", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),    # zstd
)

#: Runs of our own roles, from the boxes' receipts. Audits say when: a box's clock may be wrong.
journal = Table(
    "journal", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("run", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("first_audit", Integer, nullable=False),
    Column("last_audit", Integer, nullable=False),
    sqlite_with_rowid=False,
)

#: Incidents of what a box serves, as its own journal tells them (0005): events with times of their own. ``told`` is
#: JSON.
incident = Table(
    "incident", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("told", Text, nullable=False),
    Column("first_audit", Integer, nullable=False),
    sqlite_with_rowid=False,
)

waiver = Table(
    "waiver", metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("fact", Text, nullable=False),
    Column("host", Text),
    Column("grp", Text),
    Column("value", Text),
    Column("until", Double),
    Column("reason", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("last_matched", Integer),
    sqlite_autoincrement=True,
)

identity = Table(
    "identity", metadata,
    Column("id", Integer, primary_key=True),
    Column("audit_id", Integer, nullable=False, index=True),
    Column("host_id", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("other", Text, nullable=False),
    sqlite_autoincrement=True,
)

#: Findings as spans (0002): since when a check fails. No row: it does not. ``code``: what it finds of the subject
#: (0007), each with spans of its own; empty: of what is unknown, and where a version of before kept none.
finding = Table(
    "finding", metadata,
    Column("id", Integer, primary_key=True),
    Column("check", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("code", Text, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
Index("finding_name", finding.c.check, finding.c.subject, finding.c.code, unique=True)

finding_span = Table(
    "finding_span", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("finding_id", Integer, primary_key=True, autoincrement=False),
    Column("from_audit", Integer, primary_key=True, autoincrement=False),
    Column("until_audit", Integer, index=True),
    Column("outcome", Text, nullable=False),
    Column("after_audit", Integer),
    sqlite_with_rowid=False,
)

#: What the host told of its problems (0006), so that an older audit can tell it again. ``problem_id``: a value, the
#: problem without what may be other words every night; ``words_id``: a value, [observed, text] as it was told first.
problem_span = Table(
    "problem_span", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("problem_id", Integer, primary_key=True, autoincrement=False),
    Column("words_id", Integer, primary_key=True, autoincrement=False),
    Column("from_audit", Integer, primary_key=True, autoincrement=False),
    Column("until_audit", Integer),
    sqlite_with_rowid=False,
)

#: Hosts that differ from most of their group (0008), from the audit that told it first until the one in which that was
#: over. ``seen_audit`` and ``after_audit``: since when; ``began``: by what (judge/like/began.py).
differing = Table(
    "differing", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("fact_id", Integer, primary_key=True, autoincrement=False),
    Column("from_audit", Integer, primary_key=True, autoincrement=False),
    Column("until_audit", Integer),
    Column("seen_audit", Integer),
    Column("after_audit", Integer),
    Column("began", Text, nullable=False),
    sqlite_with_rowid=False,
)
#: The audits of which that is kept.
compared = Table("compared", metadata, Column("audit_id", Integer, primary_key=True, autoincrement=False))

#: What somebody said of findings (0004). ``audit_id``: as of which audit; what came later is not covered. ``finding``:
#: the id it was named by; empty: everything, which is how a history of before begins.
decision = Table(
    "decision", metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("audit_id", Integer, nullable=False),
    Column("finding", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("ended", Double),
    sqlite_autoincrement=True,
)

#: ``name``: a fact or a check.
decided = Table(
    "decided", metadata,
    Column("host_id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("decision_id", Integer, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

#: Until which audit a webhook was told the news (0004). ``place``: a digest of its address, which is often
#: a secret, and of the inventory and limit.
told = Table(
    "told", metadata,
    Column("place", Text, primary_key=True),
    Column("audit_id", Integer, nullable=False),
    sqlite_with_rowid=False,
)


def make(connection: Connection, head: str) -> None:
    """All of it in an empty database, inside the caller's transaction, as the migrations up to ``head`` leave it."""
    if connection.dialect.name == "postgresql":
        for index in (index for table in metadata.tables.values() for index in table.indexes):
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    metadata.create_all(connection, checkfirst=False)
    version.create(connection)
    connection.execute(insert(version), {"version_num": head})
