"""The key under which words that look like secrets are kept: as HMACs, so that a change shows and the word does not."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.interrupt import held
from tunecheck.util.left_behind import wrote

if TYPE_CHECKING:
    from .store import Store

__all__ = ["VARIABLE", "fleet_key"]

#: Names the file of a history in PostgreSQL: several control nodes need the same one, or each would see drift.
VARIABLE = "TUNECHECK_FLEET_KEY"
_BYTES = 32


def fleet_key(store: Store) -> bytes | None:
    """Made at the first audit, as fleet.key beside the history's file, mode 0600. None for a history elsewhere, where
    $TUNECHECK_FLEET_KEY names no file; then such words are unknown. UsageError where it cannot be used."""
    named = os.environ.get(VARIABLE)
    if named is None and not store.db.sqlite:
        return None
    path = Path(named) if named else Path(store.where).with_name("fleet.key")
    try:
        if named is None:
            _make(path)
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the fleet's key cannot be used ({error.strerror}); it belongs to the user who "
                         "audits, mode 0600", Misuse.UNREADABLE) from None
    if len(content) < _BYTES:
        raise UsageError(f"{path}: holds {len(content)} bytes, a fleet's key has at least {_BYTES}; restore it, or "
                         "take it away: then every secret counts as new once", Misuse.MALFORMED)
    return content


def _make(path: Path) -> None:
    """Whole or not at all: link(2) fails where another audit was faster, whose key counts."""
    if path.exists():
        return
    mine = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
            handle.write(secrets.token_bytes(_BYTES))
            handle.flush()
            os.fsync(handle.fileno())
        try:
            with held():
                os.link(mine, path)
                wrote(str(path))
        except FileExistsError:
            return
    finally:
        mine.unlink(missing_ok=True)
