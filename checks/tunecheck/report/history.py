"""What happened before this boot, as lines for people and as data: `--history`."""

from __future__ import annotations

from typing import Any

from ..facts.past import Past, PastBoot, PastEvent
from ..model.fact import Fact
from ..parsers.nvidia.driver_failures import KINDS
from ..parsers.nvidia.xid_catalog import CATALOG

__all__ = ["history_document", "history_lines"]


def history_lines(found: Fact[Past]) -> list[str]:
    """Return the events before this boot as lines: a heading, one line for each boot, and below it one for each event,
    oldest boot first."""
    if found.value is None:
        return [f"Before this boot: not read: {found.why()}"]
    boots = [boot for boot in found.value.boots if boot.events]
    quiet = len(found.value.boots) - len(boots)
    number = len(found.value.boots)
    if not number and not found.value.cut:
        return ["Before this boot: there is no earlier boot in " + (
            "the journal; journald keeps earlier boots where the folder /var/log/journal exists"
            if found.source == "journalctl" else "these texts; add: sudo journalctl -k -b -1")]
    if not boots and not found.value.cut:
        return [f"Before this boot ({found.source}): {number} earlier boot{'s' * (number != 1)}, without an event"]
    lines = [f"Before this boot ({found.source}: {number} earlier boot{'s' * (number != 1)}, {quiet} without an event);"
             " nothing of it is judged as this boot's:"]
    for boot in boots:
        lines += [f"  {_heading(boot)}", *(f"    {_event(event)}" for event in boot.events)]
    return [*lines, *(["  not all of it is here: the middle was left out"] if found.value.cut else [])]


def _heading(boot: PastBoot) -> str:
    span = f"{boot.first} to {boot.last}" if boot.first and boot.last else "no date in its lines"
    return f"boot {boot.name}: {span}"


def _event(event: PastEvent) -> str:
    where = f"{event.device} " if event.device else ""
    times = f" {event.count} times, from {event.first} to {event.last}" if event.count > 1 and event.first else (
        f" {event.count} times" if event.count > 1 else f" at {event.last}" if event.last else "")
    return f"{where}{_what(event)}{times}"


def _what(event: PastEvent) -> str:
    if event.kind == "xid":
        known = CATALOG.get(event.code)
        return f"Xid {event.code} ({known.meaning if known else 'unknown code'})"
    if event.kind == "sxid":
        return f"SXid {event.code}: {event.text}"
    return event.text if event.kind == "fallen" else KINDS.get(event.kind, event.kind)


def history_document(found: Fact[Past]) -> dict[str, Any] | None:
    """Return the events before this boot as plain data; None where they were not read."""
    if found.value is None:
        return None
    return {"source": found.source, "cut": found.value.cut, "boots": [{
        "name": boot.name, "first": boot.first, "last": boot.last, "lines": boot.lines, "events": [{
            "kind": event.kind, "device": event.device, "code": event.code or None, "count": event.count,
            "first": event.first, "last": event.last, "text": event.text} for event in boot.events]}
        for boot in found.value.boots]}
