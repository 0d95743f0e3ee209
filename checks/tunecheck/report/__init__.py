"""Show findings: as a document (JSON) and on a terminal."""

from __future__ import annotations
