"""The parts of a recording's JSON, checked one by one: it may come from a stranger. ValueError says what is wrong."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import Any

from ..model.absence import Reason
from ..parsers.text.bounds import json_of
from ..parsers.text.damage import Damage, DamagedError
from .absence_of_text import stored_reasons

__all__ = ["OtherVersionError", "check_schema", "commands", "contents", "lists", "parse", "reasons", "table",
           "texts"]


#: As long as any member of a bundle.
_MOST = 17 << 20


class OtherVersionError(DamagedError):
    """The document is a recording, but not one that this version reads. The message is a whole sentence."""


def parse(text: bytes, what: str) -> Any:
    """Parse JSON that may hold anything, but only so much of it. ``what`` names the document in the error."""
    return json_of(text, _MOST, what)


def check_schema(document: dict[str, Any], version: int) -> None:
    """Refuse everything but "tunecheck/record/<version>". OtherVersionError for another version, ValueError for
    anything else."""
    schema = document.get("schema")
    found = re.fullmatch(r"tunecheck/record/([1-9]\d{0,5})", schema) if isinstance(schema, str) else None
    if not found:
        raise DamagedError(Damage.OTHER_SCHEMA, f"its schema is {str(schema)[:60]!r}, not 'tunecheck/record/{version}'")
    if int(found[1]) > version:
        raise OtherVersionError(Damage.NEWER, f"made by a newer tunecheck (record/{found[1]}); update tunecheck")
    if int(found[1]) < version:
        raise OtherVersionError(Damage.OLDER, f"made by an older tunecheck (record/{found[1]}); record it again with "
                                "this one")


def texts(document: dict[str, Any], part: str) -> dict[str, str]:
    """Return the part of the document that is a table of texts. It is empty where the document has no such part."""
    value = document.get(part, {})
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise DamagedError(Damage.WRONG_TYPE, f"{part} is not a table of texts")
    return value


def reasons(document: dict[str, Any]) -> dict[str, Reason]:
    """Return ``errors``: the reason by what was asked, with the codes of ``absences``, which an old recording has
    not."""
    return stored_reasons(texts(document, "errors"), document.get("absences"))


def contents(document: dict[str, Any]) -> dict[str, bytes]:
    """Return ``reads``: the content of each file by its path, decoded from base64."""
    result = {}
    for path, text in texts(document, "reads").items():
        try:
            result[path] = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
        except ValueError:
            raise DamagedError(Damage.NOT_BASE64, f"the content of {path[:200]!r} is not base64") from None
    return result


def lists(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return ``lists``: the names in each directory, by its path."""
    value = document.get("lists", {})
    if not isinstance(value, dict) or not all(_are_texts(names) for names in value.values()):
        raise DamagedError(Damage.WRONG_TYPE, "lists is not a table of lists of names")
    return value


def table(document: dict[str, Any], part: str) -> dict[str, Any] | None:
    """Return the part of the document that is a table of anything. None where the document has no such part."""
    value = document.get(part)
    if value is not None and not isinstance(value, dict):
        raise DamagedError(Damage.WRONG_TYPE, f"{part} is not a table")
    return value


def commands(document: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield ``runs``: every command with what is said about it."""
    value = document.get("runs", [])
    if not isinstance(value, list):
        raise DamagedError(Damage.WRONG_TYPE, "runs is not a list")
    for number, run in enumerate(value):
        if not isinstance(run, dict) or not _are_texts(run.get("argv")) or not run["argv"]:
            raise DamagedError(Damage.NO_COMMAND, f"runs[{number}] names no command")
        yield tuple(run["argv"]), run


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
