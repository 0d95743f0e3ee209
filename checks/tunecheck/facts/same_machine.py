"""Whether two snapshots are of one machine, as far as they tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..util.at_first_use import regex
from ..util.text import some

if TYPE_CHECKING:
    from .snapshot import Snapshot

__all__ = ["STANDS_FOR", "not_compared", "other_machine"]

#: What stands in a recording for a name or number that was taken out (parsers/text/redact.py).
STANDS_FOR = regex(r"host-?\d*|(?:GPU-)?0{8}-0{4}-.*|(?:GPU-)?[0-9a-f]{4}0{4}-0000-4000-8000-.*")


def other_machine(before: Snapshot, now: Snapshot) -> str:
    """Return a text that says what differs although one machine has only one of it. "" where nothing does, and for two
    snapshots of one boot."""
    if before.boot_id.value is not None and before.boot_id.value == now.boot_id.value:
        return ""
    then, here = (_boards(snapshot) for snapshot in (before, now))
    if then and here and not (then <= here or here <= then):
        return f"its accelerators are {_shown(then - here)}, here are {_shown(here - then)}"
    old, new = (_uuids(snapshot) for snapshot in (before, now))
    if old and new and not old & new:
        return "none of its GPUs is here, by their UUIDs"
    names = [name for snapshot in (before, now)
             if (name := snapshot.hostname.value) and not STANDS_FOR.fullmatch(name)]
    return f"it is of {names[0][:64]!r}, this is {names[1][:64]!r}" if len(set(names)) == 2 else ""


def not_compared(before: Snapshot, now: Snapshot) -> str:
    """Return why no counter of ``now`` is compared with an earlier one: counters begin again at every boot. "" where
    they are."""
    then, here = before.boot_id.value, now.boot_id.value
    if then is not None and then == here:
        return ""
    boards = [len(snapshot.topology.devices) for snapshot in (before, now)]
    whole = all(snapshot.topology.accelerators.known for snapshot in (before, now))
    other = f"; it has {boards[0]} GPUs, and here are {boards[1]}: is it of this machine?" \
        if whole and 0 in boards and any(boards) else ""
    if then is not None and here is not None:
        return f"it is of another boot, and the counters began again{other}"
    which = "it does not" if then is None else "what is judged does not"
    return f"{which} tell of which boot it is{', as a recording does' if here is None else ''}{other}"


def _boards(snapshot: Snapshot) -> set[str]:
    return {f"{device.bdf} [{device.ids}]" for device in snapshot.topology.devices}


def _shown(boards: set[str]) -> str:
    return some(sorted(boards), 3)


def _uuids(snapshot: Snapshot) -> set[str]:
    said = snapshot.nvml.value
    found = {str(gpu.values["uuid"]) for gpu in (said.gpus if said else ()) if gpu.values.get("uuid")}
    return {uuid for uuid in found if not STANDS_FOR.fullmatch(uuid)}
