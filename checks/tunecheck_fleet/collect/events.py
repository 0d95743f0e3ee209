"""Ansible's events of one host, as an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tunecheck.util.at_first_use import dataclass
from tunecheck_fleet.model import Answer, Status

from .protocol import CAP, one_line, unframed

__all__ = ["Event", "answer_of", "event_of"]

_KINDS = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_on_skipped")
#: ssh's own words -> status. Anything else that ssh ends with is unreachable.
_REFUSED = ("permission denied", "host key verification failed", "too many authentication failures",
            "no mutual signature", "identification has changed", "invalid/incorrect password",
            "no matching host key", "publickey")
#: What Ansible says before ssh's own words.
_ANSIBLES = re.compile(r"^(?:\s*Task failed:)?\s*Failed to connect to the host via ssh:")
_TIMEOUT = ("timed out", "timeout, server", "not responding")


@dataclass(frozen=True)
class Event:
    """What is kept of an event: as little as possible, for every one waits in memory for its turn."""

    host: str
    unreachable: bool
    late: bool
    stdout: str
    error_text: str
    seconds: float


def event_of(data: Mapping[str, Any]) -> Event | None:
    """None for the events that say nothing about a host."""
    if data.get("event") not in _KINDS:
        return None
    about = data.get("event_data") or {}
    result = about.get("res") or {}
    return Event(str(about.get("host")), bool(result.get("unreachable")) or data["event"] == "runner_on_unreachable",
                 bool(result.get("timedout")), str(result.get("stdout") or ""),
                 str(result.get("stderr") or result.get("msg") or ""), float(about.get("duration") or 0))


def answer_of(event: Event, group: str, nonce: str, cap: int = CAP) -> Answer:
    """The host's answer. Never raises: whatever is wrong with it becomes a status and a reason."""
    status: Status
    if event.unreachable:
        error_text = event.error_text.lower()
        status = ("refused" if any(phrase in error_text for phrase in _REFUSED)
                  else "timeout" if any(phrase in error_text for phrase in _TIMEOUT) else "unreachable")
        reason = one_line(_ANSIBLES.sub("", event.error_text).strip())
        return Answer(event.host, group, status, reason=reason or "ssh ended without a word", seconds=event.seconds)
    if event.late:
        return Answer(event.host, group, "timeout", reason=f"no answer within {event.seconds:.0f} s",
                      seconds=event.seconds, reached=True)
    status, content, reason = unframed(event.stdout, nonce, cap)
    if status == "garbled" and not event.stdout.strip() and event.error_text.strip():
        reason = f"no snapshot in its answer: {one_line(event.error_text)}"
    return Answer(event.host, group, status, content, reason, event.seconds, True)
