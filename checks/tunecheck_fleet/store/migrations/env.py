"""Alembic's entry: the connection comes from ``database.migrate``, in the transaction that it holds."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="tunecheck_version")
context.run_migrations()
