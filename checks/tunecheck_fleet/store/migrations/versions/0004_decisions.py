"""What somebody said of findings: approved, acknowledged. Everything that a history of before holds is approved: its
changes were told on their nights, and thousands of them at once would be news to nobody."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    text = [sa.Column(name, sa.Text, nullable=False) for name in ("finding", "title", "author", "owner", "link",
                                                                  "note")]
    op.create_table("decision", sa.Column("id", sa.Integer, primary_key=True),
                    sa.Column("kind", sa.Text, nullable=False), sa.Column("audit_id", sa.Integer, nullable=False),
                    *text, sa.Column("created", sa.Double, nullable=False), sa.Column("ended", sa.Double),
                    sqlite_autoincrement=True)
    op.create_table("decided", sa.Column("host_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("name", sa.Text, primary_key=True),
                    sa.Column("decision_id", sa.Integer, primary_key=True, autoincrement=False),
                    sqlite_with_rowid=False)
    op.create_table("told", sa.Column("place", sa.Text, primary_key=True, autoincrement=False),
                    sa.Column("audit_id", sa.Integer, nullable=False), sqlite_with_rowid=False)
    op.execute("INSERT INTO decision (kind, audit_id, finding, title, author, owner, link, note, created) "
               "SELECT 'approve', max(id), '', 'what was there before', 'tunecheck', '', '', "
               "'this history is older than approvals', max(started) FROM audit HAVING count(*) > 0")
