"""The receipt of this box: what the plays found and what they did. It explains and undoes; no check rests on it."""

from __future__ import annotations

import json
import time

from ansible.module_utils.box_io import read_text, write_text

__all__ = ["RECEIPT", "load", "now", "remember", "save"]

RECEIPT = "/var/lib/tunecheck/receipt.json"
_EMPTY = {"schema": "tunecheck/receipt/1", "state": "clean", "before": None, "history": []}


def load():
    """Return the receipt; empty where there is none or where it is damaged, and then it is written anew."""
    try:
        found = json.loads(read_text(RECEIPT, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def save(receipt):
    """Write the receipt. BoxIOError where that fails."""
    write_text(RECEIPT, json.dumps(receipt, indent=2, sort_keys=True) + "\n")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def remember(receipt, subject, found, boot_id, at):
    """Return the receipt with ``before.<subject>`` as found; what was found the first time stays. Pure."""
    new = {**_EMPTY, **receipt}
    before = dict(new["before"] or {"boot_id": boot_id, "taken": at})
    before.setdefault(subject, found)
    new["before"] = before
    return new
