"""Recordings of the first format, read only: gzip'd JSON: schema, reads {path: base64}, errors, lists, realpaths, runs.

A recording may come from a stranger: it is size-capped and every part checked before use.
"""

from __future__ import annotations

import zlib
from typing import Any

from ..model.absence import Reason
from ..parsers.text.bounds import json_of
from ..parsers.text.damage import Damage, DamagedError
from . import bundle_schema
from .absence_of_text import stored_reason
from .answers import Answers
from .base import Completed

__all__ = ["unpack", "unpack_plain"]

_SCHEMA = "tunecheck/record/1"
#: The largest that was ever made had 3 MiB.
_MAX_UNPACKED = 32 * 1024 * 1024


def unpack(packed: bytes) -> Answers:
    """Return the answers in the content of such a file. ValueError says what is wrong with it."""
    return unpack_plain(_unpack(packed))


def _unpack(packed: bytes) -> Any:
    unpacker = zlib.decompressobj(31)
    try:
        text = unpacker.decompress(packed, _MAX_UNPACKED)
    except zlib.error:
        raise DamagedError(Damage.PACKING, "not gzip, or damaged") from None
    if unpacker.unconsumed_tail:
        raise DamagedError(Damage.TOO_LARGE, f"larger than {_MAX_UNPACKED >> 20} MiB unpacked")
    if not unpacker.eof:
        raise DamagedError(Damage.CUT_SHORT, "cut short")
    return json_of(text, _MAX_UNPACKED, "its content")


def unpack_plain(document: Any) -> Answers:
    """Return the answers in the document itself. ValueError says what is wrong with it."""
    if not isinstance(document, dict):
        raise DamagedError(Damage.NO_TABLE, "it holds no table")
    bundle_schema.check_schema(document, 1)
    extra = set(document) - {"schema", "reads", "lists", "realpaths", "errors", "absences", "runs", "nvml"}
    if extra:
        raise DamagedError(Damage.UNKNOWN_PART, f"unknown part {min(extra)[:60]!r}")
    return Answers(bundle_schema.contents(document), bundle_schema.lists(document),
                   bundle_schema.texts(document, "realpaths"), bundle_schema.reasons(document), _runs(document),
                   bundle_schema.table(document, "nvml"))


def _runs(document: dict[str, Any]) -> dict[tuple[str, ...], Completed | Reason]:
    result: dict[tuple[str, ...], Completed | Reason] = {}
    for number, (argv, run) in enumerate(bundle_schema.commands(document)):
        code, stdout, stderr = run.get("returncode"), run.get("stdout"), run.get("stderr")
        if isinstance(run.get("error"), str):
            result[argv] = stored_reason(run["error"], run.get("absence"))
        elif type(code) is int and isinstance(stdout, str) and isinstance(stderr, str):
            result[argv] = Completed(argv, code, stdout, stderr)
        else:
            raise DamagedError(Damage.NO_RESULT, f"runs[{number}] has neither a result nor an error")
    return result
