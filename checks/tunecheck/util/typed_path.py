"""A path as it stands in a command that a reader pastes."""

from __future__ import annotations

import shlex

__all__ = ["typed_path"]


def typed_path(path: str) -> str:
    """Return the path as one word for a shell. One that begins with a dash would be an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") and path != "-" else path)
