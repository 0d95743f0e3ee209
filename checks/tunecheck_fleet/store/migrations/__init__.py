"""Alembic's steps from an older file to today's, run when a store is opened."""
