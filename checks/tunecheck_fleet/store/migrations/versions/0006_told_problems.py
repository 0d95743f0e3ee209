"""What a host told of its problems, for as long as it told it: code, words and fix. What was found before has none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table("problem_span", sa.Column("host_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("problem_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("words_id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("from_audit", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("until_audit", sa.Integer), sqlite_with_rowid=False)
    op.add_column("host", sa.Column("told_from", sa.Integer))
    # The next answer is read in full, so that its problems are kept. Not NULL: the host was looked at before.
    op.execute(sa.update(sa.table("host", sa.column("state", sa.LargeBinary))).where(
        sa.column("state", sa.LargeBinary).is_not(None)).values(state=b""))
