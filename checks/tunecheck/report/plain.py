"""What the JSON documents of boxes and of fleets have in common: commands as plain data, and plain data as text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from ..model.command import Command

__all__ = ["commands", "to_text"]


def commands(given: Iterable[Command]) -> list[dict[str, Any]]:
    """Return each command as plain data: its words, the line for a shell that the text holds, where it is run, whether
    as root, and what is filled in first."""
    return [{"argv": list(each.argv), "shown": each.shown, "where": each.where, "as_root": each.as_root,
             "fill_in": list(each.fill_in)}
            for each in given]


def to_text(data: dict[str, Any]) -> str:
    """Return the data as JSON: indented, ending in a newline, plain ASCII. So it passes through any terminal, log and
    Ansible unharmed."""
    text = io.StringIO()        # not a list of parts: a fleet's document has a million of them
    text.writelines(json.JSONEncoder(indent=2).iterencode(data))
    return text.getvalue() + "\n"
