"""Which commands a report has on its lines, and which of its lines are wider than the terminal for no command."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tunecheck.host.imported import outputs
from tunecheck.model.finding import Finding

__all__ = ["broken", "commands", "too_wide"]


def commands(findings: Iterable[Finding]) -> set[str]:
    """Every command that their remedies give, and the pages of their checks."""
    given = {each.shown for finding in findings if finding.remedy for each in finding.remedy.commands}
    return given | {f"tunecheck explain {finding.id}" for finding in findings}


def too_wide(text: str, findings: Iterable[Finding], width: int) -> list[str]:
    """Only a command may be wider than the terminal; then nothing else is in its line."""
    whole = commands(findings) | {command for _, command in outputs._OUTPUTS}
    return [line for line in text.splitlines() if len(line) > width and line.strip() not in whole]


def broken(text: str, findings: Iterable[Finding]) -> list[str]:
    """The commands that are there in pieces."""
    flat, lines = " ".join(text.split()), "\n".join(line.strip() for line in text.splitlines())
    # Most are not there at all, which a search for the bare text tells a hundred times sooner.
    words = {each: re.compile(rf"(?<![^\s(]){re.escape(each)}(?![\w-])") for each in commands(findings) if each in flat}
    return [each for each, found in words.items() if len(found.findall(flat)) > len(found.findall(lines))]
