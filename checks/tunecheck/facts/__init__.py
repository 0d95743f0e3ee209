"""Read only: one file per subject turns what a host says into typed facts. Nothing here judges or writes."""

from __future__ import annotations

from ..model.fact import Fact
from .snapshot import Snapshot, gather

__all__ = ["Fact", "Snapshot", "gather"]
