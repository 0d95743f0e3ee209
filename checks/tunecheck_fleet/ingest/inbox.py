"""The newest snapshot of each host, on disk until an audit has it. One SQLite file; one thread writes at a time.

Which of two snapshots of a host is newer: a box's clock may be wrong, so its word counts only as far as ours confirms
it. With every answer a host gets a nonce, which says when it was given and that we gave it; the next snapshot carries
it, and was therefore made after that. The time that a snapshot is kept with is never before its nonce and never after
its arrival, so a clock that runs ahead keeps nothing out.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import queue
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import zstandard

from tunecheck.errors import Misuse, UsageError
from tunecheck.facts.snapshot_file import unpack
from tunecheck.host.foreign import Bounds, Confined, DefectError, ExceededError, Limit
from tunecheck.parsers.text.damage import Damage

from .limits import Limits, Refusal, Why

__all__ = ["CHECKERS", "Inbox", "Waiting"]

#: Bodies that are checked at the same time, each in a child of its own.
CHECKERS = 2
_BOUNDS = Bounds(cpu=1, most=60.0, memory=128 << 20, answer=1 << 20)

#: As packed() writes it, and nothing else that a parser of dates would take.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_TABLE = """CREATE TABLE IF NOT EXISTS newest (
    host TEXT PRIMARY KEY,
    created REAL NOT NULL,          -- as far as our clock confirms it: what an older one is refused by
    digest BLOB NOT NULL,
    waits_since REAL,               -- when the first of this window came, by ours; NULL: an audit has it
    heard REAL NOT NULL,
    content BLOB,                   -- zstd; NULL: an audit has it
    put_in INTEGER,                 -- the audit that it was put into, finished or not
    put_digest BLOB,
    nonce REAL NOT NULL DEFAULT 0   -- when the newest nonce that came back was given
) WITHOUT ROWID"""
_KEY_TABLE = "CREATE TABLE IF NOT EXISTS key (one INTEGER PRIMARY KEY CHECK (one = 1), secret BLOB NOT NULL)"

_PUT = """INSERT INTO newest (host, created, digest, waits_since, heard, content, nonce) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (host) DO UPDATE SET created = excluded.created, digest = excluded.digest, content = excluded.content,
    nonce = excluded.nonce, heard = excluded.heard, waits_since = coalesce(waits_since, excluded.waits_since)"""


@dataclass(frozen=True)
class Waiting:
    """What an audit takes."""

    digest: bytes
    content: bytes


class Inbox:
    """``folder`` is made with mode 0700. UsageError where it cannot be used."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits, self._lock = limits, threading.Lock()
        self._ending = False
        self._checkers = [Confined(_checked, replace(_BOUNDS, wall=limits.check)) for _ in range(CHECKERS)]
        self._free: queue.SimpleQueue[Confined] = queue.SimpleQueue()
        for each in self._checkers:
            self._free.put(each)
        path = folder / "inbox.db"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._db = sqlite3.connect(path, timeout=2, isolation_level=None, check_same_thread=False)
            # FULL: what was answered with 200 is on disk. An exclusive lock: two receivers would take each other's.
            for line in ("PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE,
                         _KEY_TABLE):
                self._db.execute(line)
            if "nonce" not in {row[1] for row in self._db.execute("PRAGMA table_info(newest)")}:
                self._db.execute("ALTER TABLE newest ADD COLUMN nonce REAL NOT NULL DEFAULT 0")
            self._db.execute("INSERT OR IGNORE INTO key VALUES (1, ?)", (secrets.token_bytes(32),))
            self._secret: bytes = self._db.execute("SELECT secret FROM key").fetchone()[0]
        except OSError as error:
            raise UsageError(f"{folder}: cannot be used ({error.strerror})", Misuse.UNWRITABLE) from None
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY     # of any extended kind
            raise UsageError(f"{path}: " + ("another tunecheck ingest works with it; end that one" if busy else
                                            f"not usable ({error}); move it away"),
                             Misuse.ALREADY if busy else Misuse.UNREADABLE) from None

    def close(self) -> None:
        for each in self._checkers:
            each.close()
        with self._lock:
            self._db.close()

    def hurry(self, seconds: float) -> None:
        """This process ends: what is not checked by then is given up, and its host told to come again."""
        def end() -> None:
            self._ending = True
            for each in self._checkers:
                each.abandon()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()

    def nonce(self, host: str) -> str:
        """For the host's next snapshot: when it was given, and proof that we gave it to this host."""
        at = f"{time.time():.3f}"
        return f"{at}-{self._proof(host, at)}"

    def _given(self, host: str, nonce: object, now: float) -> float:
        """When the nonce was given; 0.0 where it is none of ours or of another day."""
        at, _, proof = nonce.partition("-") if isinstance(nonce, str) and len(nonce) < 100 else ("", "", "")
        if not re.fullmatch(r"\d{1,11}\.\d{3}", at, re.ASCII) or not hmac.compare_digest(
                proof.encode("utf-8", "replace"), self._proof(host, at).encode()):
            return 0.0
        return float(at) if now - self._limits.off <= float(at) <= now + 1 else 0.0

    def _proof(self, host: str, at: str) -> str:
        return hmac.digest(self._secret, f"{at}\0{host}".encode(), "sha256")[:16].hex()

    def take(self, host: str, content: bytes) -> bool:
        """Check a snapshot and keep it. False where it is the one that is here already: an answer was lost on the way.
        Refusal where it is none, or older than what this host sent before."""
        now = time.time()
        created, given = self._created(host, content, now)
        digest = hashlib.sha256(content).digest()
        packed = zstandard.ZstdCompressor(level=3).compress(content)
        try:
            with self._lock:
                row = self._db.execute("SELECT created, digest, nonce FROM newest WHERE host = ?", (host,)).fetchone()
                if row and row[1] == digest:
                    return False
                # A second: the time in a snapshot has no parts of one.
                if row and (created + 1 <= row[0] or (given and given < row[2])):
                    raise Refusal(409, Why.REPLAYED, "this host has sent a newer snapshot before; this one was left "
                                                     "out")
                self._db.execute(_PUT, (host, created, digest, now, now, packed, given))
        except sqlite3.Error:
            raise Refusal(503, Why.NO_DISK, "the receiver cannot write now; keep the snapshot and try again", 60
                          ) from None
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

    def last_pushed(self) -> Mapping[str, float]:
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

    def _created(self, host: str, content: bytes, now: float) -> tuple[float, float]:
        """(when it was made, when its nonce was given). Checks all of it, in a child: what is no snapshot is refused
        here, where the box can still be told."""
        checker = self._free.get()
        try:
            found = json.loads(checker.ask(content))
        except ExceededError as error:
            if self._ending:
                raise Refusal(503, Why.ENDING, "the receiver is being ended; try again", 5) from None
            if error.limit in (Limit.WALL, Limit.BUSY):
                # What a body costs is processor time, which has a limit of its own.
                raise Refusal(503, Why.BUSY, f"not checked: {error}; try again", 5) from None
            raise Refusal(422, Why.TOO_COSTLY, f"refused: {error}; no box's snapshot is so costly", costly=True
                          ) from None
        except DefectError:
            raise Refusal(422, Why.NO_SNAPSHOT, "not a usable snapshot: its parts do not fit together") from None
        finally:
            self._free.put(checker)
        if "error" in found:
            raise Refusal(422, Why(found["why"]), found["error"], damage=found["damage"])
        stated, given = float(found["created"]), self._given(host, found["nonce"], now)
        created = max(given, min(stated, now))
        if created < now - self._limits.off:
            raise Refusal(409, Why.TOO_OLD, f"made more than {self._limits.off / 3600:g} h ago, or the box's clock is "
                                            "wrong; left out")
        return created, given


def _checked(content: bytes) -> bytes:
    """In a child: the time that a snapshot states, and its nonce, or what is wrong with it."""
    try:
        unpack(content)
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        # What is quoted from the body goes back to who sent it; nothing else is in the sentence.
        damage = getattr(error, "damage", Damage.WRONG_TYPE).value
        return json.dumps({"why": Why.NO_SNAPSHOT.value, "damage": damage,
                           "error": f"not a usable snapshot: {str(error)[:300]}"}).encode()
    try:
        if not _TIME.fullmatch(document.get("created")):
            raise ValueError
        created = datetime.fromisoformat(document["created"]).timestamp()
    except (ValueError, TypeError, OverflowError):
        return json.dumps({"why": Why.NO_TIME.value, "damage": "", "error": "the snapshot does not say when it was "
                                                                            "made (created: 2026-11-21T18:00:00Z)"
                           }).encode()
    return json.dumps({"created": created, "nonce": document.get("nonce")}).encode()
