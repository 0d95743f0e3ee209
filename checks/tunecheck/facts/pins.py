"""Every pin of a box: what has to be the same for it to be the same box, as one flat document, tunecheck/pins/1.

A value is a text; null means that the thing does not exist there, which is an answer; what could not be read is under
"unknown", by the name of the pin or by the beginning of several ("package.": no package could be listed). No name of
the box and no time is in it: equal boxes are equal files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import UsageError
from ..spec.frozen import Frozen
from .fact import Fact
from .packages import ENGINES
from .snapshot import HostFacts, Snapshot

__all__ = ["SCHEMA", "Difference", "Pins", "compare", "load", "pins"]

SCHEMA = "tunecheck/pins/1"
_MAX = 4 << 20
_PACKAGE, _HELD, _MODULE, _ENGINE = "package.", "held.", "driver.module.", "engine."


@dataclass(frozen=True)
class Pins:
    """``known`` by name; ``unknown`` maps names and beginnings of names to the reason."""

    known: dict[str, str | None]
    unknown: dict[str, str]

    def why(self, name: str) -> str | None:
        """Why the pin is not known; None where it is, or where nothing of that name exists."""
        if name in self.known:
            return None
        return self.unknown.get(name) or next((reason for start, reason in self.unknown.items()
                                               if start.endswith(".") and name.startswith(start)), None)

    def to_text(self) -> str:
        """The lock file: sorted, indented, ASCII, so that equal pins are equal files."""
        document = {"schema": SCHEMA, "pins": self.known, "unknown": self.unknown}
        return json.dumps(document, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Difference:
    """One pin that is not the same in both; ``unknown``: one of them cannot be told."""

    name: str
    here: str
    there: str
    unknown: bool


def pins(snapshot: Snapshot, frozen: Frozen | None) -> Pins:
    """Every pin that the facts hold."""
    known: dict[str, str | None] = {"tunecheck": __version__, "spec": frozen.digest if frozen else None}
    unknown: dict[str, str] = {}
    assert snapshot.host is not None
    for name, fact in _single(snapshot.host):
        if fact.known or fact.missing:
            known[name] = fact.value
        else:
            unknown[name] = fact.why()
    _modules(snapshot.host, known, unknown)
    _packages(snapshot.host, known, unknown)
    return Pins(known, unknown)


def _single(host: HostFacts) -> Iterator[tuple[str, Fact[Any]]]:
    parts = host.driver_parts
    yield "kernel.running", host.kernel.release
    yield "kernel.next", _next(host.boot.release)
    yield "driver.loaded", host.driver.version
    yield "driver.flavour", host.driver.flavour
    for library, version in parts.libraries.items():
        yield f"driver.library.{library}", _asked(version)
    firmware = _asked(parts.firmware)
    yield "driver.firmware", Fact(" ".join(sorted(firmware.value)), firmware.source) if firmware.value else firmware


def _next(fact: Fact[str]) -> Fact[str]:
    if fact.value == "":
        return Fact(None, fact.source, "its file's name holds no version")
    # A machine whose kernel comes from outside.
    return Fact(None, fact.source, "not present") if fact.reason == "no boot loader found" else fact


def _asked(fact: Fact[Any]) -> Fact[Any]:
    """Nobody asked because there is neither a driver nor a board: nothing is there."""
    return Fact(None, fact.source, "not present") if fact.reason == "not asked for" else fact


def _modules(host: HostFacts, known: dict[str, str | None], unknown: dict[str, str]) -> None:
    for release, fact in host.driver_parts.modules.items():
        name = f"{_MODULE}{release}"
        if fact.value is not None:
            known[name] = f"{fact.value.version} {fact.value.flavour}"
        elif fact.missing:
            known[name] = None
        else:
            unknown[name] = fact.why()


def _packages(host: HostFacts, known: dict[str, str | None], unknown: dict[str, str]) -> None:
    found = host.packages
    for fact in (_asked(found.installed), found.others):
        if not (fact.known or fact.missing):
            unknown[_PACKAGE] = unknown[_HELD] = fact.why()
        for package in fact.value or ():
            known[f"{_PACKAGE}{package.name}"] = package.version
            known[f"{_HELD}{package.name}"] = "held" if package.held else "pinned" if found.pinned(package) else "no"
    if not (found.others.known or found.others.missing):
        unknown[_ENGINE] = found.others.why()
        return
    for name in ENGINES:
        engine = found.engine(name)
        known[f"{_ENGINE}{name}"] = engine.version if engine else None


def load(path: str) -> Pins:
    """Read a lock file. UsageError says what is wrong with it."""
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(_MAX + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(content) > _MAX:
        raise UsageError(f"{path}: larger than {_MAX >> 20} MiB; no lock file of tunecheck is")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON; expected what `tunecheck pins` writes") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        said = data.get("schema") if isinstance(data, dict) else None
        raise UsageError(f"{path}: not a {SCHEMA} but {str(said)[:60] if said else 'something else'}; expected what "
                         "`tunecheck pins` writes")
    known, unknown = data.get("pins"), data.get("unknown")
    if not isinstance(known, dict) or not isinstance(unknown, dict) or not all(
            value is None or isinstance(value, str) for value in known.values()) or not all(
            isinstance(value, str) for value in unknown.values()):
        raise UsageError(f"{path}: its pins are not texts or null; it was altered")
    return Pins(known, unknown)


def compare(here: Pins, there: Pins) -> list[Difference]:
    """What is not the same, by name. A package that only one has is a difference: "none" stands for the other; a pin of
    another kind that only one has is unknown in the other, which a tunecheck without that pin wrote."""
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
    """Whether it is known, and how it is shown."""
    why = pins.why(name)
    if why is not None:
        return False, f"unknown ({why})"
    if name not in pins.known and not name.startswith((_PACKAGE, _HELD, _MODULE)):
        return False, "unknown (not among its pins: written by another version of tunecheck)"
    value = pins.known.get(name)
    return True, "none" if value is None else value
