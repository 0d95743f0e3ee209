"""Indexes that hold everything that is asked of them: the difference of two audits is read in a third of the time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    baseline = sa.column("baseline", sa.Boolean)
    for name, columns, where in (
        ("span_now", ["host_id", "fact_id", "value_id", "after_audit", "until_audit"],
         sa.column("until_audit").is_(None)),
        ("span_change", ["from_audit", "host_id", "fact_id", "before_id", "value_id", "after_audit", "baseline"],
         baseline == sa.false()),
        ("span_baseline", ["from_audit", "host_id", "fact_id", "baseline"], baseline == sa.true()),
    ):
        op.drop_index(name, "span")
        op.create_index(name, "span", columns, sqlite_where=where, postgresql_where=where)
