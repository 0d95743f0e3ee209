"""The receipt of this box: what the plays found and what they did. It explains and undoes; no check rests on it."""

from __future__ import annotations

import json
import time

from ansible.module_utils.box_io import BoxIOError, read_text, write_text

__all__ = ["RECEIPT", "load", "now", "remember", "save"]

RECEIPT = "/var/lib/tunecheck/receipt.json"
_EMPTY = {"schema": "tunecheck/receipt/1", "state": "clean", "before": None, "history": []}
#: What these parts are where they are not damaged.
_KINDS = {"before": dict, "driver": dict, "history": list, "spec_digest": str, "state": str, "tokens": list,
          "toolkit": dict}
_TEXTS_BEFORE = ("boot_id", "taken")


def load():
    """Return the receipt; empty where there is none or where it is damaged, and then it is written anew. A part that is
    damaged is left out. BoxIOError where it cannot be read: to write it anew would lose how the box was before."""
    try:
        found = json.loads(read_text(RECEIPT, "{}"))
    except OSError as error:
        raise BoxIOError("%s cannot be read: %s; expected a regular file of at most 16 MiB. Move it away, then run the "
                         "play again." % (RECEIPT, error.strerror or error)) from error
    except (ValueError, RecursionError):
        return {}
    return _sound(found) if isinstance(found, dict) else {}


def _sound(found):
    """Return what of it is of the kind that it should be."""
    sound = {name: value for name, value in found.items() if isinstance(value, _KINDS.get(name, object))}
    if "before" in sound:
        sound["before"] = {name: value for name, value in sound["before"].items()
                           if isinstance(value, str if name in _TEXTS_BEFORE else dict)}
    if "history" in sound:
        sound["history"] = [entry for entry in sound["history"] if isinstance(entry, dict)]
    return sound


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
