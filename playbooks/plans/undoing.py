"""The plan of rollback.yml: what goes back to what it was, and by which receipt."""

from __future__ import annotations

from .command_line import again
from .parts import some

__all__ = ["lines"]

_RECEIPT = "/var/lib/tunecheck/receipt.json"


def lines(name, box, file, variables):
    """Return what the run would undo on this box. ``file``: the playbook; ``variables``: the host's."""
    told = [f"plan for {name} (--check: nothing was written)"]
    if box.changed:
        told.append("  would undo:")
        told += [f"    {task}{f': {some(box.details[task], 4)}' if box.details.get(task) else ''}"
                 for task in box.changed]
        told.append(f"  receipt: {_receipt(box.info.get('receipt') or {}, box.info)}")
    else:
        told.append("  would undo: " + ("not known" if box.refused else "nothing, no trace of tunecheck is on it"))
    told += [f"  stays: {each}" for each in box.notes]
    if box.refused:
        told += [f"  refused: {' '.join(box.refused.split())}", "  next: mend what is refused, then run this again"]
        return told
    told.append(f"  would reboot: {_reboot(box, variables)}")
    told.append(f"  next: {again(file, name)}" if box.changed else "  next: nothing has to be done")
    return told


def _receipt(receipt, info):
    if not info:
        return "not known, the box was not asked for its receipt"
    if not receipt:
        return "none is there; tunecheck's own files go, and packages stay as they are"
    before, history = receipt.get("before") or {}, receipt.get("history") or []
    taken = f", what was found on {before['taken']}" if before.get("taken") else ""
    last = f", last written {history[-1].get('at')}" if history and isinstance(history[-1], dict) else ""
    return f"{_RECEIPT} ({receipt.get('state', 'of no state')}{last}){taken}"


def _reboot(box, variables):
    if box.reboots:
        return "once, into what is put back"
    if not box.pending:
        return "no"
    busy = box.info.get("busy") or []
    here = str(variables.get("ansible_connection")).rpartition(".")[2] == "local"      # also by -c local
    why = (f"it is in use ({some(busy, 3)})" if busy else "it is this machine itself" if here else
           "rollback_reboot is false")
    return f"no, {why}: the running kernel keeps what was there until somebody reboots it"
