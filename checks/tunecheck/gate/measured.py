"""The measured pass on disk: written whole or not at all, sealed with a key of this box, and read with suspicion.

The seal (HMAC-SHA256, a random key that only root reads and that never leaves the box) tells an edited file, a half one
and one of another box from a genuine one. It is no wall against root, who may do anything here."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import Flaw, Misuse, UsageError
from ..facts import codec
from ..facts.measured_pass import PATH, SCHEMA, MeasuredPass
from ..facts.typed_file import read_typed, typed_text
from ..util import safe_files
from ..util.interrupt import held
from ..util.left_behind import removed
from ..util.whole_file import write_file
from . import passed

__all__ = ["EVIDENCE", "PATH", "best", "invalidate", "make_evidence", "path_beside", "read", "steady", "write"]

#: Where a trial that hung leaves its bundle.
EVIDENCE = "/var/lib/tunecheck/evidence"
_KEY = "measured.key"
_KEY_BYTES = 32
_BEGUN = "a measurement was begun after it and did not end"
#: An audit tells of a figure that moved by more than this: pairs of one box repeat within 3 % on PCIe.
_STEADY = 0.05


def path_beside(pass_file: str) -> str:
    """Return the path of the measured pass that belongs to a pass: the usual one to the usual one, else the file beside
    it."""
    return PATH if pass_file == passed.PATH else str(Path(pass_file).with_name("measured.json"))


def write(path: str, found: MeasuredPass) -> None:
    """Replace the measured pass in one step; readable by everybody, written by root only."""
    folder = Path(path).parent
    if folder == Path(PATH).parent:
        _make(folder, 0o755)
    seal = _seal(codec.encode(MeasuredPass, found), _own_key(folder))
    write_file(path, typed_text(SCHEMA, MeasuredPass, found, seal=seal).encode(), 0o644, "measured pass")


def read(path: str, again: str = passed.again(passed.PATH)) -> MeasuredPass:
    """Return the measured pass at ``path``. UsageError says why there is none that can be believed; ``again``: how
    another one is made."""
    if not Path(path).exists():
        raise UsageError(f"no measured pass ({path} does not exist); {again}", Flaw.MISSING)
    found, document = read_typed(path, SCHEMA, MeasuredPass, again, ours=True)
    place = Path(path).parent / _KEY
    try:
        key = safe_files.read(str(place), _KEY_BYTES, follow=False, ours=True)
    except FileNotFoundError:
        key = b""
    except OSError as error:
        raise UsageError(f"{path}: cannot be verified, its key {place} cannot be read ({error.strerror}); {again}",
                         Flaw.NO_KEY) from None
    if len(key) != _KEY_BYTES:
        raise UsageError(f"{path}: cannot be verified, its key {place} is missing or damaged; {again}", Flaw.NO_KEY)
    # Over what stands in the file, not over what it was understood as: a field that was left out is an edit too.
    if not hmac.compare_digest(str(document.get("seal")), _seal(document.get("measured"), key)):
        raise UsageError(f"{path}: was altered, or was written on another box: its seal does not fit; {again}",
                         Flaw.ALTERED)
    measured: MeasuredPass = found
    return measured


def invalidate(path: str, former: MeasuredPass | None) -> None:
    """Make an older measurement invalid at the start of a new one, however that ends. The best figures that its GPUs
    once reached are kept: otherwise a start that is cut short would let a slow one after it pass."""
    if former is not None:
        with held():
            write(path, replace(former, exit_code=3, reasons=(_BEGUN,), codes=()))
            removed.append(path)
        return
    try:
        with held():
            Path(path).unlink(missing_ok=True)
            removed.append(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be replaced ({error.strerror}); run as root", Misuse.UNWRITABLE) from None


def _seal(content: Any, key: bytes) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _own_key(folder: Path) -> bytes:
    """Return the box's key, made where there is none. UsageError where it cannot be kept."""
    path = folder / _KEY
    with contextlib.suppress(OSError):
        key = safe_files.read(str(path), _KEY_BYTES, follow=False, ours=True)
        if len(key) == _KEY_BYTES:
            return key
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: is no regular file, so it cannot hold the key of the measured pass; remove it",
                         Misuse.UNWRITABLE)
    key = secrets.token_bytes(_KEY_BYTES)
    write_file(str(path), key, 0o600, "key of the measured pass")
    return key


def _make(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode=mode, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}); the measured pass is written by root",
                         Misuse.UNWRITABLE) from None


def make_evidence() -> str:
    """Return the folder for bundles, made where it is missing. UsageError where nothing can be written there."""
    _make(Path(EVIDENCE).parent, 0o755)
    _make(Path(EVIDENCE), 0o700)
    if not os.access(EVIDENCE, os.W_OK):
        raise UsageError(f"{EVIDENCE}: nothing can be written there; run as root", Misuse.UNWRITABLE)
    return EVIDENCE


def steady(now: Mapping[str, float], former: Mapping[str, float]) -> dict[str, float]:
    """Return each figure, or its former value where it moved by no more than 5 %: noise is no news, a slow decline
    is."""
    return {name: old if (old := former.get(name)) and abs(value / old - 1) <= _STEADY else value
            for name, value in now.items()}


def best(now: Mapping[str, float], former: Mapping[str, float]) -> dict[str, float]:
    """Return the best value of each figure so far, also of those that were not measured now. Later measurements of the
    same GPUs are compared with it."""
    return {**former, **{name: (max if name.endswith("gb_s") else min)(value, former.get(name, value))
                         for name, value in now.items()}}
