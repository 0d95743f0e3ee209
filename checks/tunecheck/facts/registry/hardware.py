"""Which boxes can be compared with each other, and how one box is recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...spec.boards import board, board_named
from ...util.at_first_use import dataclass
from ..identity import digest
from .flatten import clean
from .selectors import tallied

if TYPE_CHECKING:
    from ...model.fact import Fact
    from ..snapshot_file import Stored

__all__ = ["Parts", "hardware", "key", "parts"]

#: Between what a box is and what of it can be lost.
_BETWEEN = ": "


def hardware(stored: Stored) -> str:
    """Return what a box is as one text: product, processor, architecture; and, after a colon, what of it can be lost:
    accelerators x count, memory. Accelerators are told by PCI ids, which are there also without a driver, and by the
    driver where nothing shows the PCI tree; what is not known is "?". Never raises."""
    host = stored.snapshot.host
    own = host.identity.value if host else None
    found = stored.snapshot.topology.accelerators
    names = [_name(device.ids) for device in found.value or ()] if found.known else _told_by_driver(stored)
    boards = " + ".join(f"{count} x {name}" for name, count in tallied(names).items()) or (
        "no accelerator" if found.known else "?")
    core = [_text(fact) for fact in ((own.product, own.cpu_model, own.arch) if own else (None,) * 3)]
    size = [boards, _text(own.memory_gib if own else None, " GiB")]
    return str(clean(f"{', '.join(core)}{_BETWEEN}{', '.join(size)}"))


@dataclass(frozen=True)
class Parts:
    """The two parts of such a text: ``core`` is what stands before the colon; ``models`` are those of the accelerators,
    None where they are not known."""

    core: str
    models: frozenset[str] | None


def parts(text: str) -> Parts:
    """Take apart a text that ``hardware`` gave. Any other text is all core."""
    core, found, size = text.rpartition(_BETWEEN)
    if not found:
        return Parts(text, frozenset())
    boards = size.rpartition(", ")[0]
    return Parts(core, None if boards == "?" else frozenset(
        name for each in boards.split(" + ") if (name := each.partition(" x ")[2])))


def _told_by_driver(stored: Stored) -> list[str]:
    """Return what each GPU is that the driver has, by the name that its PCI ids would give it. What a GPU does not tell
    is left out: a class of boxes is made of what is known."""
    found = stored.snapshot.nvml.value
    names = []
    for gpu in found.gpus if found is not None else ():
        ids, called = gpu.values.get("ids"), gpu.values.get("name")
        if isinstance(ids, str) and ids:
            names.append(_name(ids))
        elif isinstance(called, str) and called:
            known = board_named(called)
            names.append(known.name if known else called)
    return names


def _name(ids: str) -> str:
    known = board(ids)
    return known.name if known else ids


def _text(fact: Fact[Any] | None, unit: str = "") -> str:
    if fact is None or fact.value is None:
        return "no name" if fact is not None and fact.missing else "?"
    return f"{fact.value}{unit}"


def key(stored: Stored) -> str | None:
    """Return 32 hex digits over machine id and board, by which a box is recognised, whatever it is called. Clones of
    one image, which share a machine id, differ by their boards. None where one of both cannot be told (read without
    root, or no machine id): a key that leaves one out would be another key the next day."""
    host = stored.snapshot.host
    own = host.identity.value if host else None
    if own is None or own.machine.value is None or not (own.board.known or own.board.missing):
        return None
    return digest("tunecheck host", own.machine.value, own.board.value or "")
