"""The guard of a trial boot, tunecheck-trial.service: what a commit tells it, and what it leaves for the next boot.

The guard reboots into the old entry at its deadline. A commit is told to it around the write, never instead of it:

1. hold():    the deadline is put off, so that it does not fall into the write. The file is in /run: a power cut
              forgets it.
2. (commit):  the boot loader's default entry is replaced, by one rename. Before it a reboot or a power cut boots the
              old entry, after it the new one, which is the one that this boot has proven.
3. confirm(): the guard ends, and this boot goes on.

A process that dies between two of these steps leaves the guard armed: the box reboots at the deadline, into whichever
entry is the default by then, and both are proven. A play that comes before that confirms it
(trial_boot/situation.py, Situation.unconfirmed)."""

from __future__ import annotations

import json
import time

from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.tunecheck.parsers.kernel import trial

__all__ = ["HOLD_SECONDS", "STATE", "confirm", "confirmed", "ended", "forget", "hold", "note", "recorded",
           "seconds_left"]

#: trial_guard.py reads it in every trial boot.
STATE = "/run/tunecheck/trial.json"
#: A commit runs update-grub, or grubby or kernel-install for each kernel; trial_guard.py allows 900 s at most.
HOLD_SECONDS = 600


def hold():
    """Put the deadline off for the time that a commit takes. BoxIOError where that cannot be told. Nothing is told in a
    boot that is confirmed: it would take the confirmation back."""
    if not confirmed():
        _write_state({"hold_until": time.monotonic() + HOLD_SECONDS})


def confirm():
    """Tell the guard of this boot that the trial is committed. BoxIOError where that cannot be told."""
    _write_state({"confirmed": True})


def confirmed():
    """Return whether this boot was told that its trial is committed."""
    return _read_state().get("confirmed") is True


def seconds_left(confirm_seconds):
    """Return the seconds until the guard ends this boot; ``confirm_seconds`` as its command line says."""
    held = _read_state().get("hold_until")
    end = max(confirm_seconds, held) if isinstance(held, (int, float)) else confirm_seconds
    return max(0, round(end - time.monotonic()))


def recorded():
    """Return what was recorded of a trial that ended without a commit; empty texts where nothing is or where it is
    damaged."""
    try:
        return trial.parse_ended(read_text(trial.ENDED))
    except (OSError, ValueError):
        return trial.Ended("", "", "")


def ended(boot_id, running_trial):
    """Return what recorded() does. Where nothing is recorded, return the trial whose reboot has happened and that does
    not run in this boot."""
    found = recorded()
    if found.trial_id:
        return found
    try:
        return trial.without_end(trial.parse_noted(read_text(trial.MEMORY)), boot_id, running_trial) or found
    except (OSError, ValueError):
        return found


def note(trial_id, reason, boot_id, at):
    """Write down for the next boot how a trial ended, as its guard does."""
    write_text(trial.ENDED, trial.render_ended(trial_id, reason, boot_id, at))


def forget():
    """Remove the record of how the last trial ended, at a new trial or a commit: it is history then, and the receipt
    has it."""
    remove(trial.ENDED)


def _write_state(document):
    write_text(STATE, json.dumps(document) + "\n")


def _read_state():
    try:
        document = json.loads(read_text(STATE, "{}"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
