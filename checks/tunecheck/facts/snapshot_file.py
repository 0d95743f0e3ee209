"""A snapshot as a file, tunecheck/snapshot/1: all parsed facts of one host at one time, with the spec of that host."""

from __future__ import annotations

import json
import time
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import Flaw, Misuse, SpecError, UsageError
from ..parsers.text.bounds import json_of
from ..parsers.text.damage import Damage, DamagedError
from ..spec.frozen import Frozen, Spec, load_frozen
from ..util.at_first_use import dataclass
from .codec import decode, encode
from .plausible import check
from .snapshot import Snapshot
from .spec_file import usable

__all__ = ["SCHEMA", "Stored", "load", "packed", "same_boot", "unpack"]

SCHEMA = "tunecheck/snapshot/1"
#: The snapshot of eight GPUs behind 40 ports is 270 KB.
MAX_BYTES = 8 << 20


@dataclass(frozen=True)
class Stored:
    """A snapshot with what is stored beside it. ``frozen`` is the spec that the host had, or was read with;
    ``tunecheck`` is the version that wrote it."""

    snapshot: Snapshot
    frozen: Frozen | None
    tunecheck: str = field(default=__version__, compare=False)

    def judged_with(self, given: Frozen | None) -> Frozen | None:
        """Return the spec to judge with: ``given``, from the command line, else its own. UsageError where the snapshot
        is about other accelerators. Parameters of modules that nobody asked for when it was made are not in it:
        module-parameter calls them unknown."""
        if given is None or self._has_accelerators_of(given.spec):
            return given or self.frozen
        raise UsageError("this snapshot was made with other accelerators than --spec names, so their facts are not in "
                         "it; give a recording (tunecheck record), or leave --spec away", Misuse.DOES_NOT_BELONG)

    def _has_accelerators_of(self, spec: Spec) -> bool:
        wanted = spec.accelerators.pci_ids
        own = self.frozen.spec.accelerators.pci_ids if self.frozen else ()
        if own:
            # It holds facts about the boards of its own specification alone. Where these are all that are wanted, no
            # board of another id is missing; where they are too few, it cannot be told whether others are there.
            count = spec.accelerators.count
            return set(own) == set(wanted) or (set(own) < set(wanted) and count is not None
                                               and len(self.snapshot.topology.devices) >= count)
        # Made without any ids, it has all display and 3D controllers of NVIDIA's (facts/pci/devices.py, accelerators).
        return all(each.startswith("10de:") for each in wanted) and all(
            device.ids in wanted for device in self.snapshot.topology.devices)

    def seen_by(self, verb: str) -> Snapshot:
        """Return the snapshot as the verb ``verb`` would have read it."""
        return replace(self.snapshot, host=None) if verb == "topo" else self.snapshot


def packed(stored: Stored, created: float | None = None, nonce: str = "") -> bytes:
    """Return the content of a snapshot's file. ``created`` is in seconds since 1970, by default now; ``nonce`` is what
    the receiver of pushes gave for it."""
    document = {
        "schema": SCHEMA, "tunecheck": __version__,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
        **({"nonce": nonce} if nonce else {}), "spec": stored.frozen.to_plain() if stored.frozen else None,
        "snapshot": encode(Snapshot, stored.snapshot),
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def load(path: str) -> Stored:
    """Read a snapshot's file. UsageError says what is wrong with it."""
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB; no snapshot of tunecheck is", Flaw.TOO_LARGE)
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", Flaw.UNREAD) from None
    try:
        return unpack(content)
    except ValueError as error:
        raise UsageError(f"{path}: not a usable snapshot: {error}", getattr(error, "damage", None)) from None


def unpack(content: bytes) -> Stored:
    """Return the facts and the spec in the content of a snapshot's file. DamagedError says what is wrong with it."""
    document = json_of(content, MAX_BYTES)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        said = "it states no schema" if found is None else f"its schema is {str(found)[:60]!r}"
        raise DamagedError(Damage.OTHER_SCHEMA, f"{said}; this tunecheck ({__version__}) reads {SCHEMA}")
    extra = set(document) - {"schema", "tunecheck", "created", "nonce", "spec", "snapshot"}
    if extra:
        raise DamagedError(Damage.UNKNOWN_PART, f"unknown part {min(extra)[:60]!r}")
    try:
        snapshot: Snapshot = decode(Snapshot, document.get("snapshot"))
        check(snapshot)
        return Stored(snapshot, _spec(document.get("spec")), str(document.get("tunecheck") or "")[:40])
    except (ValueError, RecursionError) as error:
        made_by = document.get("tunecheck")
        other = f" (made by tunecheck {str(made_by)[:20]}, this is {__version__})" if made_by != __version__ else ""
        if made_by is None:
            other = " (it does not say which tunecheck made it)"
        raise DamagedError(getattr(error, "damage", Damage.WRONG_TYPE), f"{error}{other}") from None


def _spec(plain: Any) -> Frozen | None:
    if plain is None:
        return None
    # The boxes of a fleet have few different ones, but for the name of the box, which is not part of the digest.
    host = plain.get("host") if isinstance(plain, dict) else None
    try:
        if isinstance(host, str):
            same = _frozen(json.dumps({**plain, "host": ""}))
            found = replace(same, host=host)
            vars(found)["digest"] = same.digest     # a cached property; it does not depend on the name
            return found
        return _frozen(json.dumps(plain))
    except SpecError as error:
        raise DamagedError(Damage.SPEC, error.problems[0]) from None


@lru_cache(64)
def _frozen(text: str) -> Frozen:
    return usable(load_frozen(text.encode()), "its spec")


def same_boot(before: Snapshot, now: Snapshot) -> Snapshot:
    """Return ``before`` with the boot id of ``now``, if its own is the placeholder that a recording without names has
    for that one. Otherwise return it unchanged."""
    from ..parsers.text.redact import boot_placeholder

    if before.boot_id.value is None or before.boot_id.value != boot_placeholder(now.boot_id.value or ""):
        return before
    host = before.host
    if host is not None:
        host = replace(host, kernel=replace(host.kernel, boot_id=now.boot_id))
    return replace(before, boot_id=now.boot_id, host=host)
