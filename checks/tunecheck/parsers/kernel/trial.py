"""What a trial boot leaves on the disk: which trial the next boot takes, and how the last one ended without a commit.

The roles write both documents, and in a trial boot its guard the second (roles/kernel_cmdline/files/trial_guard.py)."""

from __future__ import annotations

import json
import re
from typing import Any

from ...util.at_first_use import dataclass

__all__ = ["BOOT_ID", "ENDED", "ENDED_SCHEMA", "MEMORY", "MEMORY_SCHEMA", "REASONS", "Ended", "Noted",
           "parse_ended", "parse_noted", "render_ended", "without_end"]

BOOT_ID = "/proc/sys/kernel/random/boot_id"
ENDED = "/var/lib/tunecheck/trial-ended.json"
MEMORY = "/var/lib/tunecheck/trial-boot.json"
ENDED_SCHEMA = "tunecheck/trial-ended/1"
MEMORY_SCHEMA = "tunecheck/trial-boot/1"

#: not_confirmed: its deadline passed, and the box rebooted by itself. not_proven: the play saw that it does not do what
#: it is for. did_not_come_up: the old entry runs again, and the guard had noted nothing (a panic, a hang, a power
#: cycle; or emergency mode, where the root file system may stay read-only: seen in the lab, Debian 13).
REASONS = ("not_confirmed", "not_proven", "did_not_come_up")


@dataclass(frozen=True)
class Ended:
    """How a trial ended without a commit: ``reason`` of REASONS, ``at`` in UTC ("2026-11-21T05:00:00Z")."""

    trial_id: str
    reason: str
    at: str


@dataclass(frozen=True)
class Noted:
    """The trial that the next reboot takes. The note was written in the boot ``boot_id``. Texts are empty in a note of
    an earlier version."""

    trial_id: str
    boot_id: str


def render_ended(trial_id: str, reason: str, boot_id: str, at: str) -> str:
    """Return the text of the file ENDED."""
    return json.dumps({"schema": ENDED_SCHEMA, "trial_id": trial_id, "reason": reason, "boot_id": boot_id, "at": at},
                      indent=2, sort_keys=True) + "\n"


def parse_ended(text: str) -> Ended:
    """Parse the text of the file ENDED. ValueError where it is not what render_ended() or the guard writes."""
    data = _document(text, ENDED_SCHEMA)
    reason = data.get("reason")
    if reason not in REASONS:
        raise ValueError("its reason is none of %s" % ", ".join(REASONS))
    return Ended(_word(data, "trial_id"), reason, _word(data, "at"))


def without_end(noted: Noted, boot_id: str, running_trial: str | None) -> Ended | None:
    """Return how a noted trial ended when nobody recorded it: a reboot took it since (another boot id), and this boot
    is not that trial, so it did not come up. None while it waits for its reboot, or runs."""
    if not noted.trial_id or not noted.boot_id or noted.boot_id == boot_id or noted.trial_id == running_trial:
        return None
    return Ended(noted.trial_id, "did_not_come_up", "")


def parse_noted(text: str) -> Noted:
    """Parse the note of what a trial boots. ValueError where it is no such note."""
    data = _document(text, MEMORY_SCHEMA)
    return Noted(_word(data, "trial_id"), _word(data, "boot_id"))


def _document(text: str, schema: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict) or data.get("schema") != schema:
        raise ValueError("not a " + schema)
    return data


def _word(data: dict[str, Any], key: str) -> str:
    """Return a short word of a document that somebody may have damaged, or "" where it is none."""
    value = data.get(key)
    return value if isinstance(value, str) and re.fullmatch(r"[0-9A-Za-z:.-]{1,64}", value) else ""
