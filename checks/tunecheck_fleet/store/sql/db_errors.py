"""What a database's error means for an operator."""

from __future__ import annotations

import os
import sqlite3
from enum import Enum
from pathlib import Path

from tunecheck.errors import UsageError

__all__ = ["Trouble", "refusal"]


class Trouble(Enum):
    """Why a history cannot be used."""

    NOT_A_FILE = "not-a-file"
    #: On a filesystem where SQLite loses data.
    NETWORK = "network"
    #: A file that is no database at all.
    NO_DATABASE = "no-database"
    DAMAGED = "damaged"
    LOCKED = "locked"
    FULL = "full"
    READ_ONLY = "read-only"
    CANNOT_OPEN = "cannot-open"
    DISK = "disk"
    #: Who we say to be is not believed, or may not come from here.
    PASSWORD = "password"
    NOT_LET_IN = "not-let-in"
    NO_SUCH_DATABASE = "no-such-database"
    NO_SUCH_USER = "no-such-user"
    NO_RIGHTS = "no-rights"
    NO_CONNECTION_LEFT = "no-connection-left"
    STARTING = "starting"
    LOST = "lost"
    NO_ANSWER = "no-answer"
    #: What the database says is nothing that we know.
    OTHER = "other"


_Meaning = tuple[Trouble, str]

_WRITE: _Meaning = Trouble.READ_ONLY, "cannot be written; run as the user who audits, or name another file"
_FULL: _Meaning = Trouble.FULL, "the disk is full; free some space, then run this again (what was kept so far is whole)"

#: SQLite's primary result code (sqlite.org/rescode.html).
_SQLITE = {
    sqlite3.SQLITE_NOTADB: (Trouble.NO_DATABASE, "is no SQLite database; name the history's own file, or a new one"),
    sqlite3.SQLITE_CORRUPT: (
        Trouble.DAMAGED, "is damaged; restore it from a backup, or move it away to begin a new history"),
    sqlite3.SQLITE_BUSY: (
        Trouble.LOCKED, "is locked by another process for longer than 30 s; end that process, then run this again"),
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _WRITE,
    sqlite3.SQLITE_CANTOPEN: (
        Trouble.CANNOT_OPEN, "cannot be opened; check that the folder exists and belongs to this user"),
    sqlite3.SQLITE_PERM: _WRITE,
    sqlite3.SQLITE_IOERR: (Trouble.DISK, "the disk cannot be read or written; check it (dmesg), then run this again"),
}
#: What SQLite also says where the file or one beside it (its log, its shared memory) does not fit on the disk.
_MAY_BE_FULL = frozenset({Trouble.DISK, Trouble.CANNOT_OPEN})
#: Less than this is no space: the shared memory alone takes 32 KiB, and the log grows by pages.
_LEAST = 256 * 1024
_SQLITE[sqlite3.SQLITE_LOCKED] = _SQLITE[sqlite3.SQLITE_BUSY]

#: PostgreSQL's SQLSTATE, or its class of two characters (postgresql.org, Appendix A).
_STATES = {
    "28P01": (Trouble.PASSWORD, "the server refuses the user or the password; check the URL"),
    "28000": (
        Trouble.NOT_LET_IN, "the server lets this user or machine not in; ask who runs it for a pg_hba.conf entry"),
    "3D000": (Trouble.NO_SUCH_DATABASE, "the server has no such database; create it: createdb tunecheck"),
    "42501": (Trouble.NO_RIGHTS, "this user may not do that there; give it the rights, or use another user"),
    "25006": (Trouble.READ_ONLY, "the server can only be read (a standby); name one that can be written"),
    "53100": (
        Trouble.FULL,
        "the server's disk is full; free some space there, then run this again (what was kept so far is whole)"),
    "53300": (
        Trouble.NO_CONNECTION_LEFT,
        "the server has no connection left for this user; end some, or raise max_connections"),
    "57P03": (Trouble.STARTING, "the server is starting or stopping; run this again in a minute"),
    "08": (Trouble.LOST, "the connection to the server was lost; check that it runs, then run this again"),
    "57": (Trouble.LOST, "the server ended this connection; check that it runs, then run this again"),
}
#: libpq gives no SQLSTATE for a connection that never came about: its text is all there is, and only this sentence
#: depends on it.
_REFUSED = (
    ("password authentication failed", _STATES["28P01"]),
    ("no pg_hba.conf entry", _STATES["28000"]),
    ("database", _STATES["3D000"]),
    ("role", (Trouble.NO_SUCH_USER, "the server has no such user; create it: createuser USER, or name another one")),
)
_NO_ANSWER: _Meaning = Trouble.NO_ANSWER, "the server does not answer; check the URL and that it runs"


def refusal(where: str, error: BaseException) -> UsageError:
    """``/x/fleet.db: is no SQLite database; ...``; the first line of the database's own words where we know none."""
    said = " ".join(str(error).split()) or type(error).__name__
    meaning = _meaning(error, said)
    if meaning is not None and meaning[0] in _MAY_BE_FULL and _no_space(where):
        meaning = _FULL
    if meaning is None:
        return UsageError(f"{where}: the history cannot be used: {said[:300]}", Trouble.OTHER)
    trouble, sentence = meaning
    return UsageError(f"{where}: {sentence}" + ("" if where.startswith("/") else f" ({said[:200]})"), trouble)


def _no_space(where: str) -> bool:
    """Return whether the file system of a history's file has no room for more. False where that cannot be told, and for
    one that is only read: that has no room by its nature."""
    for place in (where, Path(where).parent):
        try:
            found = os.statvfs(place)
        except (OSError, ValueError):
            continue
        blocks = found.f_bfree if os.geteuid() == 0 else found.f_bavail     # the rest is kept for root
        inodes = found.f_files and not (found.f_ffree if os.geteuid() == 0 else found.f_favail)
        return not found.f_flag & os.ST_RDONLY and (blocks * found.f_frsize < _LEAST or bool(inodes))
    return False


def _meaning(error: BaseException, said: str) -> _Meaning | None:
    if isinstance(error, sqlite3.Error):
        # Absent from errors that Python's module itself raises.
        return _SQLITE.get((getattr(error, "sqlite_errorcode", None) or 0) & 0xff)
    state = getattr(error, "sqlstate", None)
    if state:
        return _STATES.get(state) or _STATES.get(state[:2])
    if type(error).__name__ in ("OperationalError", "ConnectionTimeout"):
        # The server answered where it says FATAL; else nobody did.
        refused = (meaning for piece, meaning in _REFUSED if "FATAL" in said and piece in said)
        return next(refused, _NO_ANSWER)
    return None
