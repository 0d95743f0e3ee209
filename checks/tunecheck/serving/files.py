"""What --judge reads: a published raw file, or an acceptance document of our own."""

from __future__ import annotations

import json

from .. import safe_files
from ..errors import UsageError
from .document import SCHEMA, measured_of
from .measured import Measured
from .published import is_published, measured_of_published

__all__ = ["read"]

_MOST = 64 << 20


def read(path: str) -> Measured:
    """What was measured. UsageError where the file is of neither kind."""
    try:
        content = safe_files.read(path, _MOST)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and data.get("schema") == SCHEMA:
        return measured_of(data, path)
    if isinstance(data, dict) and is_published(data):
        return measured_of_published(data, path)
    raise UsageError(f"{path}: neither an acceptance document nor a published benchmark; expected JSON with schema "
                     f"{SCHEMA}, or with metadata and results")
