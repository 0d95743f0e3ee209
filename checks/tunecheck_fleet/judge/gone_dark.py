"""What is said of a finding whose evidence is gone: that it may still be so."""

from __future__ import annotations

__all__ = ["cannot_be_told"]

_NOT_NOW = "cannot be told now: "


def cannot_be_told(why: str, was: str) -> str:
    """``was``: the outcome when it last could be told."""
    if why.startswith(_NOT_NOW):
        return why
    return f"{_NOT_NOW}{why}" + (f"; it was {was} when it last could" if was != "unknown" else "")
