"""Measurements: each prints a table, both sides in one run where there are two."""
