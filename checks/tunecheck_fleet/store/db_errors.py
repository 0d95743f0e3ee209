"""What a database's error means for an operator."""

from __future__ import annotations

import sqlite3

__all__ = ["sentence"]

_WRITE = "cannot be written; run as the user who audits, or name another file"
_FULL = "the disk is full; free some space, then run this again (what was kept so far is whole)"

#: SQLite's primary result code (sqlite.org/rescode.html).
_SQLITE = {
    sqlite3.SQLITE_NOTADB: "is no SQLite database; name the history's own file, or a new one",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup, or move it away to begin a new history",
    sqlite3.SQLITE_BUSY: "is locked by another process for longer than 30 s; end that process, then run this again",
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _WRITE,
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that the folder exists and belongs to this user",
    sqlite3.SQLITE_PERM: _WRITE,
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; check it (dmesg), then run this again",
}
_SQLITE[sqlite3.SQLITE_LOCKED] = _SQLITE[sqlite3.SQLITE_BUSY]

#: PostgreSQL's SQLSTATE, or its class of two characters (postgresql.org, Appendix A).
_STATES = {
    "28P01": "the server refuses the user or the password; check the URL",
    "28000": "the server lets this user or machine not in; ask who runs it for a pg_hba.conf entry",
    "3D000": "the server has no such database; create it: createdb tunecheck",
    "42501": "this user may not do that there; give it the rights, or use another user",
    "25006": "the server can only be read (a standby); name one that can be written",
    "53100": "the server's disk is full; free some space there, then run this again (what was kept so far is whole)",
    "53300": "the server has no connection left for this user; end some, or raise max_connections",
    "57P03": "the server is starting or stopping; run this again in a minute",
    "08": "the connection to the server was lost; check that it runs, then run this again",
    "57": "the server ended this connection; check that it runs, then run this again",
}
#: libpq gives no SQLSTATE for a connection that never came about: its text is all there is, and only this sentence
#: depends on it.
_REFUSED = (
    ("password authentication failed", _STATES["28P01"]),
    ("no pg_hba.conf entry", _STATES["28000"]),
    ("database", _STATES["3D000"]),
    ("role", "the server has no such user; create it: createuser USER, or name another one"),
)
_NO_ANSWER = "the server does not answer; check the URL and that it runs"


def sentence(where: str, error: BaseException) -> str:
    """``/x/fleet.db: is no SQLite database; ...``; the first line of the database's own words where we know none."""
    said = " ".join(str(error).split()) or type(error).__name__
    meaning = _meaning(error, said)
    if meaning is None:
        return f"{where}: the history cannot be used: {said[:300]}"
    return f"{where}: {meaning}" + ("" if where.startswith("/") else f" ({said[:200]})")


def _meaning(error: BaseException, said: str) -> str | None:
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
