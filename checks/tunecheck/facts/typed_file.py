"""A JSON file that holds one typed value under its schema: a pass, a recipe, a lock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import UsageError
from . import codec

__all__ = ["read_typed", "typed_text"]

_MAX_BYTES = 16 << 20


def typed_text(schema: str, kind: Any, value: Any, **more: Any) -> str:
    """``{"schema": ..., "<word>": value}``, sorted; the word is the schema's: tunecheck/lock/1 -> lock."""
    document = {"schema": schema, _word(schema): codec.encode(kind, value), **more}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def read_typed(path: str | Path, schema: str, kind: Any, again: str, regular: bool = False
               ) -> tuple[Any, dict[str, Any]]:
    """The value and the whole document. UsageError says why it is none; ``again``: how a good one is made. ``regular``:
    nothing but a file on disk: opening a FIFO would wait for ever."""
    if regular and Path(path).exists() and not Path(path).is_file():
        raise UsageError(f"{path}: is no regular file; remove it, then {again}")
    try:
        with open(path, "rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {again}") from None
    if len(content) > _MAX_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_BYTES >> 20} MiB, which no {_word(schema)} is; {again}")
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON; {again}") from None
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise UsageError(f"{path}: is not a {schema}; {again}")
    try:
        return codec.decode(kind, document.get(_word(schema))), document
    except ValueError as error:
        raise UsageError(f"{path}: is not a usable {_word(schema)} ({error}); {again}") from None


def _word(schema: str) -> str:
    return schema.split("/")[1]
