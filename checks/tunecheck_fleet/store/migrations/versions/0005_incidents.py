"""Incidents of what a box serves, as its own journal tells them: events with times of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table("incident", sa.Column("host_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("name", sa.Text, primary_key=True), sa.Column("told", sa.Text, nullable=False),
                    sa.Column("first_audit", sa.Integer, nullable=False), sqlite_with_rowid=False)
