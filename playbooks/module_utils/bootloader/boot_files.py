"""Copies of what a boot loader hands to the kernel: several initramfs become one file, as GRUB makes them one in
memory."""

from __future__ import annotations

import os
import tempfile

from ansible.module_utils.box_io import UNFINISHED, BoxIOError, sync_renamed

__all__ = ["copy", "same", "size", "sync_folder"]

_CHUNK = 1 << 20
#: An initramfs begins at a multiple of it (GRUB 2.12, loader/linux.c; the kernel skips zeros in front of one).
_ALIGNED = 4


def _chunks(sources):
    """Return what the copy holds, piece by piece."""
    for number, path in enumerate(sources):
        length = 0
        with open(path, "rb") as handle:
            for chunk in iter(lambda: handle.read(_CHUNK), b""):
                length += len(chunk)
                yield chunk
        if number < len(sources) - 1 and length % _ALIGNED:
            yield b"\0" * (_ALIGNED - length % _ALIGNED)


def size(sources):
    """Return how many bytes the copy has, at most."""
    return sum(os.stat(path).st_size + _ALIGNED for path in sources)


def copy(sources, path):
    """Put one file of ``sources`` at ``path``: beside it, fsync, rename, fsync. BoxIOError where that fails."""
    folder, temporary = os.path.dirname(path), None
    try:
        os.makedirs(folder, exist_ok=True)
        sync_folder(os.path.dirname(folder))
        descriptor, temporary = tempfile.mkstemp(prefix=UNFINISHED, dir=folder)
        with os.fdopen(descriptor, "wb") as handle:
            # Piece by piece, with the folder's entry: what a FAT file system has given to a file that no entry names
            # yet is lost to it after a power cut, until somebody runs fsck.
            for chunk in _chunks(sources):
                handle.write(chunk)
                handle.flush()
                os.fsync(handle.fileno())
                sync_folder(folder)
        os.rename(temporary, path)
        temporary = None
        sync_renamed(path)
    except OSError as error:
        raise BoxIOError("could not copy %s to %s: %s." % (" and ".join(sources), path, error.strerror or error)) \
            from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def same(sources, path):
    """Return whether ``path`` is a whole copy of ``sources``."""
    try:
        with open(path, "rb") as handle:
            for chunk in _chunks(sources):
                if handle.read(len(chunk)) != chunk:
                    return False
            return not handle.read(1)
    except FileNotFoundError:
        return False


def sync_folder(folder):
    """Wait until what was renamed or removed in ``folder`` is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
