"""Outcomes and suspects as plain data and back: what crosses the wall of a container is JSON, never pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..heartbeat import State
from ..supervisor import Outcome, Stall, Suspect

__all__ = ["outcome_of", "plain", "suspect_of"]


def plain(found: Outcome | Suspect) -> dict[str, Any]:
    """Return an outcome or a suspect as plain data for JSON; keys that are numbers become text there."""
    return asdict(found)


def suspect_of(found: Mapping[str, Any]) -> Suspect:
    """Return the suspect that plain data holds. KeyError, TypeError or ValueError where it is none."""
    return Suspect(int(found["worker"]), int(found["pid"]), str(found["role"]), str(found["why"]),
                   State(**found["state"]), str(found["process_state"]), found.get("runs") is True)


def outcome_of(found: Mapping[str, Any]) -> Outcome:
    """Return the outcome that plain data holds. KeyError, TypeError, ValueError or AttributeError where it is none."""
    stall = found["stall"]
    return Outcome(tuple(tuple(dict(result) for result in results) for results in found["results"]),
                   tuple(None if code is None else int(code) for code in found["codes"]),
                   stall and Stall(str(stall["phase"]), float(stall["after"]),
                                   tuple(suspect_of(each) for each in stall["suspects"]), dict(stall["evidence"])),
                   {int(pid): str(text) for pid, text in found["abandoned"].items()},
                   tuple(str(text) for text in found["errors"]), float(found["seconds"]),
                   found.get("out_of_time") is True, float(found.get("paused", 0.0)))
