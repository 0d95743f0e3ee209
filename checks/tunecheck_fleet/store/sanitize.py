"""What the database gets: values as canonical JSON, and text of strangers made fit for every database."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii
from typing import Any

__all__ = ["canonical", "plain"]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_WORDS = {None: "null", True: "true", False: "false"}


def canonical(value: Any) -> str:
    """Equal values give equal text, in ASCII. ValueError, TypeError or RecursionError for what is no JSON."""
    kind = type(value)      # most facts need no encoder, which is half of what reading a host costs
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is int:
        return repr(value)
    return _WORDS[value] if value is None or kind is bool else _ENCODER.encode(value)


def plain(text: str, most: int) -> str:
    """No NUL, no half characters, no endless names: PostgreSQL takes no NUL and neither database takes lone surrogates;
    both come out as visible escapes."""
    if not isinstance(text, str):
        text = str(text)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    return text if len(text) <= most else text[:most - 1] + "…"
