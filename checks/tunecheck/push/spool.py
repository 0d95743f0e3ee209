"""The spool: snapshots that the receiver has not taken yet. They are a few small files, the oldest first."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import zstandard

from ..errors import Misuse, UsageError
from ..util.whole_file import PRIVATE, write_file

__all__ = ["Spool"]

#: The time in ns, so that names sort by age, and the content's digest.
_NONCE = re.compile(r"[0-9a-f.-]{10,99}")
_NAME = re.compile(r"\d{20}-[0-9a-f]{16}\.json\.zst")


class Spool:
    """A folder that only this client writes. At most ``count`` files and ``size`` bytes: a receiver that is gone for a
    week must not fill the disk of a box that serves."""

    def __init__(self, folder: Path, count: int = 48, size: int = 32 << 20) -> None:
        self.folder, self._count, self._size = folder, count, size

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the spool for one client at a time. The context gives False where another one has it. UsageError where
        there can be no such folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot be used ({error.strerror}); nothing was spooled",
                             Misuse.UNWRITABLE) from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    def put(self, content: bytes) -> int:
        """Keep a snapshot, packed. Return how many old ones had to go for it. UsageError where the disk is full."""
        packed = zstandard.ZstdCompressor(level=9, write_checksum=True).compress(content)
        name = f"{time.time_ns():020}-{hashlib.sha256(content).hexdigest()[:16]}.json.zst"
        # Before it is written: on a disk that is full of them, the newest counts.
        dropped = self._shrink(self._count - 1, self._size - len(packed))
        write_file(str(self.folder / name), packed, PRIVATE, "snapshot")
        return dropped

    def nonce(self) -> str:
        """Return what the receiver gave for the next snapshot, or "" where it gave none."""
        try:
            found = (self.folder / "nonce").read_bytes()[:200].decode("ascii", "replace").strip()
        except OSError:
            return ""
        return found if _NONCE.fullmatch(found) else ""

    def keep_nonce(self, nonce: str) -> None:
        """Keep the nonce for the next snapshot. The receiver goes by a snapshot's own time where it has no nonce."""
        if _NONCE.fullmatch(nonce):
            with suppress(UsageError):
                write_file(str(self.folder / "nonce"), nonce.encode(), PRIVATE, "nonce")

    def waiting(self) -> list[Path]:
        """Return the files of the waiting snapshots, the oldest first."""
        try:
            return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        except OSError:
            return []

    def _shrink(self, count: int, size: int) -> int:
        files = [(path, _size(path)) for path in self.waiting()]
        dropped = 0
        while files and (len(files) > count or sum(each for _, each in files) > size):
            files.pop(0)[0].unlink(missing_ok=True)
            dropped += 1
        # What a kill left in the middle of a write.
        for path in self.folder.glob(".*.json.zst.*"):
            path.unlink(missing_ok=True)
        return dropped


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
