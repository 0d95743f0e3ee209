"""What a database's error means for an operator."""

from __future__ import annotations

__all__ = ["sentence"]

#: A piece of SQLite's or PostgreSQL's message -> what is wrong, and what to do.
_MEANING = (
    ("is not a database", "is no SQLite database; name the history's own file, or a new one"),
    ("malformed", "is damaged; restore it from a backup, or move it away to begin a new history"),
    ("database is locked", "is locked by another process for longer than 30 s; end that process, then run this again"),
    ("is full", "the disk is full; free some space, then run this again (what was kept so far is whole)"),
    ("readonly", "cannot be written; run as the user who audits, or name another file"),
    ("read-only", "cannot be written; name a server or file that can"),
    ("unable to open", "cannot be opened; check that the folder exists and belongs to this user"),
    ("disk i/o error", "the disk cannot be read or written; check it (dmesg), then run this again"),
    ("password authentication failed", "the server refuses the user or the password; check the URL"),
    ("no pg_hba.conf entry", "the server lets this user or machine not in; ask who runs it for a pg_hba.conf entry"),
    ("does not exist", "the server has no such database or user; create it: createdb tunecheck"),
    ("permission denied", "this user may not do that there; give it the rights, or use another user"),
    ("connection", "the server does not answer; check the URL and that it runs"),
)


def sentence(where: str, error: BaseException) -> str:
    """``/x/fleet.db: is no SQLite database; ...``; the first line of the database's own words where we know none."""
    said = " ".join(str(error).split()) or type(error).__name__
    for piece, meaning in _MEANING:
        if piece in said.lower():
            return f"{where}: {meaning}" + ("" if where.startswith("/") else f" ({said[:200]})")
    return f"{where}: the history cannot be used: {said[:300]}"
