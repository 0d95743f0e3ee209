"""The history: audits, hosts, facts, values, spans; waivers; whose turn it is."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    integer, text, double = sa.Integer, sa.Text, sa.Double

    def serial() -> sa.Column[int]:
        return sa.Column("id", integer, primary_key=True)

    def part(name: str, kind: type[Any] = sa.Integer) -> sa.Column[Any]:
        return sa.Column(name, kind, primary_key=True, autoincrement=False)

    def must(name: str, kind: type[Any]) -> sa.Column[Any]:
        return sa.Column(name, kind, nullable=False)

    op.create_table("audit", serial(), must("started", double), sa.Column("finished", double), must("scope", text),
                    must("asked", integer), sa.Column("asked_id", integer), must("tunecheck", text),
                    must("catalogue", integer), must("trigger", text), must("note", text),
                    must("rebaselined", sa.Boolean), must("pruned", sa.Boolean), sqlite_autoincrement=True)
    op.create_table("turn", part("name", text), must("audit_id", integer), must("node", text), must("pid", integer),
                    must("ticks", sa.BigInteger), must("since", double), must("beat", double), sqlite_with_rowid=False)
    op.create_table("host", serial(), sa.Column("key", text, unique=True), sa.Column("claimed", text),
                    must("name", text), must("grp", text), must("hardware", text), must("first_audit", integer),
                    must("last_audit", integer), sa.Column("answered_audit", integer), must("snap_from", integer),
                    must("status", text), must("about_id", integer), sa.Column("state", sa.LargeBinary),
                    sa.Column("retired_audit", integer), sqlite_autoincrement=True)
    active = sa.text("retired_audit IS NULL")
    op.create_index("host_name", "host", ["name"], unique=True, sqlite_where=active, postgresql_where=active)
    op.create_table("fact", serial(), sa.Column("name", text, nullable=False, unique=True), sqlite_autoincrement=True)
    op.create_table("value", serial(), sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
                    must("json", text), sqlite_autoincrement=True)
    op.create_table("snap", part("host_id"), part("from_audit"), sa.Column("to_audit", integer), must("status", text),
                    must("about_id", integer), sqlite_with_rowid=False)
    op.create_table("span", part("host_id"), part("fact_id"), part("from_audit"), sa.Column("until_audit", integer),
                    must("value_id", integer), sa.Column("before_id", integer), sa.Column("after_audit", integer),
                    must("baseline", sa.Boolean), sqlite_with_rowid=False)
    baseline = sa.column("baseline", sa.Boolean)
    for name, columns, where in (
        ("span_now", ["host_id", "fact_id", "value_id"], sa.column("until_audit").is_(None)),
        ("span_change", ["from_audit", "host_id", "fact_id", "before_id", "value_id"], baseline == sa.false()),
        ("span_baseline", ["from_audit"], baseline == sa.true()),
    ):
        op.create_index(name, "span", columns, sqlite_where=where, postgresql_where=where)
    op.create_table("newest", part("host_id"), must("audit_id", integer), sa.Column("boot_id", text),
                    must("volatile", text), must("problems", text), must("outcomes", text),
                    must("document", sa.LargeBinary))
    op.create_table("journal", part("host_id"), part("run", text), must("at", double), must("state", text),
                    must("first_audit", integer), must("last_audit", integer), sqlite_with_rowid=False)
    op.create_table("waiver", serial(), must("kind", text), must("fact", text), sa.Column("host", text),
                    sa.Column("grp", text), sa.Column("value", text), sa.Column("until", double), must("reason", text),
                    must("author", text), must("created", double), sa.Column("last_matched", integer),
                    sqlite_autoincrement=True)
    op.create_table("identity", serial(), must("audit_id", integer), must("host_id", integer), must("kind", text),
                    must("other", text), sqlite_autoincrement=True)
    op.create_index("ix_identity_audit_id", "identity", ["audit_id"])
