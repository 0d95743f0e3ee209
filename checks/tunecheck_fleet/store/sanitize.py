"""Text of strangers, made fit for every database: no NUL, no half characters, no endless names."""

from __future__ import annotations

__all__ = ["plain"]


def plain(text: str, most: int) -> str:
    """PostgreSQL takes no NUL and neither database takes lone surrogates; both come out as visible escapes."""
    if not isinstance(text, str):
        text = str(text)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    return text if len(text) <= most else text[:most - 1] + "…"
