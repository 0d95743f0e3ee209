"""The fact registry: every drift fact by name, with its class, unit, fix level and normaliser. Drift, pins and docs
read this one list."""

from __future__ import annotations

from .entry import Entry, Flat

__all__ = ["Entry", "Flat"]
