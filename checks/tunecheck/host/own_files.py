"""A recording or a snapshot of this program at a place where it is not read: packed, in a folder, on standard input.
Says what it is, and the command that makes it readable."""

from __future__ import annotations

import io
from pathlib import Path

from ..util.typed_path import typed_path

__all__ = ["how_to_give", "is_packed_recording", "own_document", "zstd_head"]

#: How a packed file begins, and what unpacks it to standard output or, in an archive, into this directory.
_UNPACK = ((b"\x1f\x8b", "zcat"), (b"\xfd7zXZ\x00", "xzcat"), (b"BZh", "bzcat"), (b"\x28\xb5\x2f\xfd", "zstdcat"))
_ARCHIVES = ((b"PK\x03\x04", "unzip"), (b"ustar", "tar -xf"))
_HEAD = 4096
_MANIFEST = b"manifest.json\0"
_MAX_WINDOW = 8 << 20


def own_document(head: str) -> str:
    """Return what a text is by how it begins: "a snapshot of tunecheck", "a part of a recording of tunecheck", "" for
    all others."""
    head = head[:_HEAD]
    if not head.lstrip("\ufeff \t\r\n").startswith("{"):
        return ""
    if '"tunecheck/snapshot/' in head:
        return "a snapshot of tunecheck"
    return "a part of a recording of tunecheck" if '"tunecheck/record/' in head else ""


def zstd_head(content: bytes) -> bytes:
    """Return how the content of a zstd file begins, unpacked; b"" where it is damaged."""
    import zstandard  # start-up time

    try:
        with zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(io.BytesIO(content)) as stream:
            return stream.read(_HEAD)
    except zstandard.ZstdError:
        return b""


def is_packed_recording(content: bytes) -> bool:
    """Return whether the content of a zstd file begins as a recording does."""
    return zstd_head(content).startswith(_MANIFEST)


def how_to_give(path: str, origin: str, document: str) -> str:
    """Return how to give ``document`` (as of own_document), which was found in ``path`` ("-": standard input) below the
    name ``origin``."""
    if "recording" in document:
        return f"{document}; give the recording itself, the .tar.zst: --from box.tar.zst"
    if path == "-":
        return f"{document}, which is read from a file; save it, not packed, and give that: --from snapshot.json"
    folder = Path(path).is_dir()
    file = f"{path.rstrip('/')}/{origin}" if folder else path
    command = _unpacking(file)
    if not command:
        return f"{document}, which is given by itself: --from {typed_path(file)}" if folder and Path(file).is_file() \
            else f"{document}, packed; unpack it first, and give it by itself: --from snapshot.json"
    given = "" if ">" in command else f", and give {origin} by itself: --from FILE"
    return f"{document}, packed; unpack it first: {command}{given or '; then give --from snapshot.json'}"


def _unpacking(file: str) -> str:
    """Return the command that unpacks a file, by how it begins; "" where it is not packed or cannot be read."""
    try:
        with open(file, "rb") as stream:
            head = stream.read(512)
    except (OSError, ValueError):
        return ""
    quoted = typed_path(file)
    for magic, command in _ARCHIVES:
        if head.startswith(magic) or (magic == b"ustar" and head[257:262] == magic):
            return f"{command} {quoted}"
    return next((f"{command} {quoted} > snapshot.json" for magic, command in _UNPACK if head.startswith(magic)), "")
