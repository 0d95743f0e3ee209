"""Every pin of a box: what has to be the same for it to be the same box, as one flat document, tunecheck/pins/1.

A value is a text; null means that the thing does not exist there, which is an answer; what could not be read is under
"unknown", by the name of the pin or by the beginning of several ("package.": no package could be listed). No name of
the box and no time is in it: equal boxes are equal files.
"""

from __future__ import annotations

import json

from ..errors import Flaw, UsageError
from ..spec.frozen import Frozen
from ..util import safe_files
from ..util.at_first_use import dataclass
from .registry import ENTRIES, flatten_entries
from .snapshot import Snapshot
from .snapshot_file import Stored

__all__ = ["SCHEMA", "Difference", "Pins", "compare", "load", "pins"]

SCHEMA = "tunecheck/pins/1"
_MAX = 4 << 20
#: What one box has and another has not.
_MAY_LACK = ("package.", "held.", "driver.module.")


@dataclass(frozen=True)
class Pins:
    """The pins of one box. ``known`` maps names to values; ``unknown`` maps names and beginnings of names to the
    reason."""

    known: dict[str, str | None]
    unknown: dict[str, str]

    def why(self, name: str) -> str | None:
        """Return why the pin is not known. None where it is known, or where nothing of that name exists."""
        if name in self.known:
            return None
        return self.unknown.get(name) or next((reason for start, reason in self.unknown.items()
                                               if start.endswith(".") and name.startswith(start)), None)

    def to_text(self) -> str:
        """Return the text of the lock file: sorted, indented, ASCII, so that equal pins are equal files."""
        document = {"schema": SCHEMA, "pins": self.known, "unknown": self.unknown}
        return json.dumps(document, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Difference:
    """One pin that is not the same in both boxes. ``unknown``: the value of one of them cannot be told."""

    name: str
    here: str
    there: str
    unknown: bool


def pins(snapshot: Snapshot, frozen: Frozen | None) -> Pins:
    """Return every pin that the facts hold. The entries of the registry say which facts are pins."""
    assert snapshot.host is not None
    flat = flatten_entries((entry for entry in ENTRIES if entry.pin), Stored(snapshot, frozen))
    return Pins(flat.known, {name: str(why) for name, why in flat.unknown.items()})


def load(path: str) -> Pins:
    """Read a lock file. UsageError says what is wrong with it."""
    try:
        content = safe_files.read(path, _MAX)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})", Flaw.UNREAD) from None
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON; expected what `tunecheck pins` writes", Flaw.NOT_JSON) from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        said = data.get("schema") if isinstance(data, dict) else None
        raise UsageError(f"{path}: not a {SCHEMA} but {str(said)[:60] if said else 'something else'}; expected what "
                         "`tunecheck pins` writes", Flaw.OTHER_KIND)
    known, unknown = data.get("pins"), data.get("unknown")
    if not isinstance(known, dict) or not isinstance(unknown, dict) or not all(
            value is None or isinstance(value, str) for value in known.values()) or not all(
            isinstance(value, str) for value in unknown.values()):
        raise UsageError(f"{path}: its pins are not texts or null; it was altered", Flaw.ALTERED)
    return Pins(known, unknown)


def compare(here: Pins, there: Pins) -> list[Difference]:
    """Return the pins that are not the same, by name. A package that only one has is a difference: "none" stands for
    the other; a pin of another kind that only one has is unknown in the other, which a tunecheck without that pin
    wrote."""
    found = []
    for name in sorted({*here.known, *there.known, *here.unknown, *there.unknown}):
        if name.endswith("."):
            continue
        sides = [_side(pins, name) for pins in (here, there)]
        unknown = any(not known for known, _ in sides)
        if unknown or sides[0] != sides[1]:
            found.append(Difference(name, sides[0][1], sides[1][1], unknown))
    return found


def _side(pins: Pins, name: str) -> tuple[bool, str]:
    """Return whether the pin is known, and the text that shows its value or why it is unknown."""
    why = pins.why(name)
    if why is not None:
        return False, f"unknown ({why})"
    if name not in pins.known and not name.startswith(_MAY_LACK):
        return False, "unknown (not among its pins: written by another version of tunecheck)"
    value = pins.known.get(name)
    return True, "none" if value is None else value
