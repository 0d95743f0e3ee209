"""The newest snapshot of each host, on disk until an audit has it. One SQLite file; one thread writes at a time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import zstandard

from ...errors import UsageError
from ...facts.stored import unpack
from .limits import Limits
from .refusal import Refusal

__all__ = ["Inbox", "Waiting"]

#: As packed() writes it, and nothing else that a parser of dates would take.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_TABLE = """CREATE TABLE IF NOT EXISTS newest (
    host TEXT PRIMARY KEY,
    created INTEGER NOT NULL,       -- by the box's clock: what an older one is refused by, also after a restart
    digest BLOB NOT NULL,
    waits_since REAL,               -- when the first of this window came, by ours; NULL: an audit has it
    heard REAL NOT NULL,
    content BLOB,                   -- zstd; NULL: an audit has it
    put_in INTEGER,                 -- the audit that it was put into, finished or not
    put_digest BLOB
) WITHOUT ROWID"""

_PUT = """INSERT INTO newest (host, created, digest, waits_since, heard, content) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (host) DO UPDATE SET created = excluded.created, digest = excluded.digest, content = excluded.content,
    heard = excluded.heard, waits_since = coalesce(waits_since, excluded.waits_since)"""


@dataclass(frozen=True)
class Waiting:
    """What an audit takes."""

    digest: bytes
    content: bytes


class Inbox:
    """``folder`` is made with mode 0700. UsageError where it cannot be used."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits, self._lock = limits, threading.Lock()
        path = folder / "inbox.db"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._db = sqlite3.connect(path, timeout=2, isolation_level=None, check_same_thread=False)
            # FULL: what was answered with 200 is on disk. An exclusive lock: two receivers would take each other's.
            for line in ("PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE):
                self._db.execute(line)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be used ({error.strerror})") from None
        except sqlite3.Error as error:
            busy = "locked" in str(error)
            raise UsageError(f"{path}: " + ("another tunecheck ingest works with it; end that one" if busy else
                                            f"not usable ({error}); move it away")) from None

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def take(self, host: str, content: bytes) -> bool:
        """Check a snapshot and keep it. False where it is the one that is here already: an answer was lost on the way.
        Refusal where it is none, or older than what this host sent before."""
        now = time.time()
        created = self._created(content, now)
        digest = hashlib.sha256(content).digest()
        packed = zstandard.ZstdCompressor(level=3).compress(content)
        try:
            with self._lock:
                row = self._db.execute("SELECT created, digest FROM newest WHERE host = ?", (host,)).fetchone()
                if row and row[1] == digest:
                    return False
                if row and created < row[0]:
                    raise Refusal(409, "this host has sent a newer snapshot before; this one was left out")
                self._db.execute(_PUT, (host, created, digest, now, now, packed))
        except sqlite3.Error:
            raise Refusal(503, "the receiver cannot write now; keep the snapshot and try again", 60) from None
        return True

    def since(self) -> float | None:
        """When the first snapshot that waits came; None where none does."""
        with self._lock:
            found: float | None = self._db.execute("SELECT min(waits_since) FROM newest").fetchone()[0]
        return found

    def hosts(self) -> set[str]:
        """Whose snapshots wait."""
        with self._lock:
            return {row[0] for row in self._db.execute("SELECT host FROM newest WHERE content IS NOT NULL")}

    def heard(self) -> Mapping[str, float]:
        """When each host was heard last."""
        with self._lock:
            return dict(self._db.execute("SELECT host, heard FROM newest"))

    def waiting(self, host: str) -> Waiting | None:
        with self._lock:
            row = self._db.execute("SELECT digest, content FROM newest WHERE host = ? AND content IS NOT NULL",
                                   (host,)).fetchone()
        if row is None:
            return None
        return Waiting(row[0], zstandard.ZstdDecompressor().decompress(row[1], max_output_size=self._limits.unpacked))

    def put(self, host: str, digest: bytes, audit: int) -> None:
        """It is in that audit, which may still be lost: what waits goes once the audit is over."""
        with self._lock:
            self._db.execute("UPDATE newest SET put_in = ?, put_digest = ? WHERE host = ?", (audit, digest, host))

    def over(self, audit: int) -> int:
        """That audit is finished. Returns how many snapshots it had. A newer one that came meanwhile opens the next
        window."""
        with self._lock:
            self._db.execute("BEGIN")
            self._db.execute("UPDATE newest SET waits_since = heard WHERE put_in = ? AND digest <> put_digest",
                             (audit,))
            self._db.execute("UPDATE newest SET content = NULL, waits_since = NULL WHERE put_in = ? "
                             "AND digest = put_digest", (audit,))
            had: int = self._db.execute("SELECT count(*) FROM newest WHERE put_in = ?", (audit,)).fetchone()[0]
            self._db.execute("COMMIT")
        return had

    def drop(self, known: set[str]) -> None:
        """Forget what waits of hosts that nobody knows any more."""
        for host in self.hosts() - known:
            with self._lock:
                self._db.execute("DELETE FROM newest WHERE host = ?", (host,))

    def _created(self, content: bytes, now: float) -> int:
        """Checks all of it: what is no snapshot is refused here, where the box can still be told."""
        try:
            unpack(content)
            stated = json.loads(content).get("created")
        except (ValueError, RecursionError) as error:
            # What is quoted from the body goes back to who sent it; nothing else is in the sentence.
            raise Refusal(422, f"not a usable snapshot: {str(error)[:300]}") from None
        try:
            if not _TIME.fullmatch(stated):
                raise ValueError
            created = int(datetime.fromisoformat(stated).timestamp())
        except (ValueError, TypeError, OverflowError):
            raise Refusal(422, "the snapshot does not say when it was made (created: 2026-11-21T18:00:00Z)") from None
        if created < now - self._limits.off:
            raise Refusal(409, f"made more than {self._limits.off / 3600:g} h ago, or the box's clock is wrong; left "
                               "out")
        if created > now + self._limits.off:
            raise Refusal(422, f"made more than {self._limits.off / 3600:g} h from now: set the box's clock")
        return created
