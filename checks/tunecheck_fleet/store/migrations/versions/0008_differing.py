"""Since when a host differs from most of its group, and by what that began. What was told before has none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table("differing", sa.Column("host_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("fact_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("from_audit", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("until_audit", sa.Integer), sa.Column("seen_audit", sa.Integer),
                    sa.Column("after_audit", sa.Integer), sa.Column("began", sa.Text, nullable=False),
                    sqlite_with_rowid=False)
    op.create_table("compared", sa.Column("audit_id", sa.Integer, primary_key=True, autoincrement=False))
