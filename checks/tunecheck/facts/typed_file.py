"""A JSON file that holds one typed value under its schema: a pass, a recipe, a lock."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..errors import Flaw, UsageError
from ..util import safe_files
from . import codec

__all__ = ["read_typed", "typed_text"]

_MAX_BYTES = 16 << 20


def typed_text(schema: str, kind: Any, value: Any, **more: Any) -> str:
    """Return the JSON text ``{"schema": ..., "<word>": value}``, sorted. The word is the schema's: tunecheck/lock/1 ->
    lock."""
    document = {"schema": schema, _word(schema): codec.encode(kind, value), **more}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def read_typed(path: str | Path, schema: str, kind: Any, again: str, ours: bool = False, first: str = ""
               ) -> tuple[Any, dict[str, Any]]:
    """Return the value and the whole document. UsageError says why the file is not usable; ``again`` says how a good
    one is made, ``first`` where there was none yet, if that is not said in the same words. ``ours``:
    it must be no link, and nothing that others than root and who asks may have written."""
    try:
        # The plays hand a recipe in by standard input, so that nothing is written before it is judged.
        content = sys.stdin.buffer.read(_MAX_BYTES) if str(path) == "/dev/stdin" and not ours else safe_files.read(
            str(path), _MAX_BYTES, follow=not ours, ours=ours)
    except safe_files.UnsafeFileError as error:
        if ours:
            raise UsageError(f"{path}: is not to be trusted ({error.strerror}); {_way_out(path, error.danger, again)}",
                             Flaw.UNTRUSTED) from None
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {again}", Flaw.UNREAD) from None
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path}: does not exist; {first or again}", Flaw.MISSING) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {again}", Flaw.UNREAD) from None
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON; {again}", Flaw.NOT_JSON) from None
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise UsageError(f"{path}: is not a {schema}; {again}", Flaw.OTHER_KIND)
    try:
        return codec.decode(kind, document.get(_word(schema))), document
    except ValueError as error:
        raise UsageError(f"{path}: is not a usable {_word(schema)} ({error}); {again}", Flaw.WRONG_TYPE) from None


def _way_out(path: str | Path, danger: safe_files.Danger, again: str) -> str:
    """Return what to do about a file that is not to be trusted. A device, as /dev/null, must not be removed."""
    if danger is safe_files.Danger.FOLDER:
        return "name a file in a folder that nobody but root may write"
    if danger is safe_files.Danger.NOT_REGULAR and Path(path).is_relative_to("/dev"):
        return "name a regular file"
    return f"remove it, then {again}"


def _word(schema: str) -> str:
    return schema.split("/")[1]
