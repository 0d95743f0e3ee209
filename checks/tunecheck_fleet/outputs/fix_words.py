"""Where each part of a fix is run: on the hosts of the cause, or on the control node, which has the plays."""

from __future__ import annotations

from tunecheck.model.command import pieces
from tunecheck.util.host_names import fold

from ..fleet_report import Cause

__all__ = ["placed"]

#: Characters of host names.
_FIT = 60
_RUN = "run: "


def placed(cause: Cause) -> str:
    """The fix, with where its parts are run. A play alone says it itself, and so does a text that tells each host its
    own fix; of what cannot be told the fix is an output to add."""
    places = {command.where for command in cause.commands}
    if not cause.remedy or "box" not in places or len(cause.fixes) > 1 or cause.outcome == "unknown":
        return cause.remedy
    said: list[str] = []
    for text, command in pieces(cause.remedy, cause.commands):
        if command is not None and command.where == "control" and said and said[-1].endswith(_RUN):
            said[-1] = f"{said[-1][:-len(_RUN)]}on the control node {_RUN}"
        said.append(text)
    return f"on {fold(cause.hosts, _FIT)}: {''.join(said)}"
