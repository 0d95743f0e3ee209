"""The fact registry: every drift fact by name, with its class, unit, fix level and normaliser. Drift, pins and docs
read this one list."""

from __future__ import annotations

from .catalogue import CATALOGUE, ENTRIES, entry_of
from .definition import Entry, Fix, Flat, Kind, Severity
from .flatten import flatten, flatten_entries
from .hardware import hardware, key

__all__ = ["CATALOGUE", "ENTRIES", "Entry", "Fix", "Flat", "Kind", "Severity", "entry_of", "flatten",
           "flatten_entries", "hardware", "key"]
