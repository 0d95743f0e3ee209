"""Since when a check fails: findings as spans. A host's open ones begin with the next audit that it answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table("finding", sa.Column("id", sa.Integer, primary_key=True),
                    sa.Column("check", sa.Text, nullable=False), sa.Column("subject", sa.Text, nullable=False),
                    sqlite_autoincrement=True)
    op.create_index("finding_name", "finding", ["check", "subject"], unique=True)
    op.create_table("finding_span", sa.Column("host_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("finding_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("from_audit", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("until_audit", sa.Integer), sa.Column("outcome", sa.Text, nullable=False),
                    sa.Column("after_audit", sa.Integer), sqlite_with_rowid=False)
    op.create_index("ix_finding_span_until_audit", "finding_span", ["until_audit"])
    op.execute("UPDATE host SET state = NULL")      # the next answer is read in full, so that its findings are kept
