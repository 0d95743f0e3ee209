"""Reading and atomically writing the box's files, shared by this project's modules."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile

from ansible.module_utils.tunecheck.util import safe_files

__all__ = [
    "UNFINISHED", "BoxIOError", "copy_over", "former", "link", "put_back", "read_text", "remove", "rename_over",
    "sync_renamed", "write_text",
]

#: How the name of a file begins that is not whole yet.
UNFINISHED = ".tunecheck-"


class BoxIOError(Exception):
    """A file could not be written; what stood there before is untouched."""


def read_text(path: str, default: str = "") -> str:
    """Return the file's text, or ``default`` where there is none. OSError where it is no regular file, or larger than
    16 MiB: no FIFO is waited for."""
    try:
        return safe_files.read(path).decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        return default


def write_text(path: str, text: str, mode: int = 0o644) -> None:
    """Replace ``path`` in one step: temporary file beside it, fsync, rename, fsync of the folder. BoxIOError where that
    fails."""
    folder = os.path.dirname(path)
    temporary = None
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=UNFINISHED, dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as handle:
            handle.write(text)
            handle.flush()
            os.fchmod(handle.fileno(), mode)
            os.fsync(handle.fileno())
        os.rename(temporary, path)
        temporary = None
        sync_renamed(path)
    except OSError as error:
        raise BoxIOError(
            "could not write %s: %s. The file that stood there is unchanged. Make room or make the file system "
            "writable, then run the play again." % (path, error.strerror or error)
        ) from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def former(path: str) -> str:
    """Return the second name of the file that put_back() may put back at ``path``."""
    return os.path.join(os.path.dirname(path), UNFINISHED + os.path.basename(path) + ".former")


@contextlib.contextmanager
def put_back(path: str):
    """Where the block fails, put back at ``path`` what stood there before it. It keeps a second name meanwhile, so that
    a full disk, which may be why the block fails, has room for that. A power cut in the block leaves the second name:
    former() says it. BoxIOError where it cannot be given."""
    kept = former(path)
    remove(kept)
    there = os.path.exists(path)
    if there:
        try:
            os.link(path, kept)
        except OSError as error:
            raise BoxIOError("could not keep %s as %s: %s. It is unchanged. Make room or make the file system "
                             "writable, then run the play again."
                             % (path, kept, error.strerror or error)) from error
    try:
        yield
    except BaseException:
        if there:
            os.rename(kept, path)       # does nothing where both are names of the same file still
            remove(kept)
        else:
            remove(path)
        raise
    remove(kept)


def rename_over(made: str, path: str, like: str = "") -> None:
    """Put the file ``made`` in the place of ``path``, with the owner and mode of that or of ``like``, in one step:
    fsync, rename, fsync."""
    try:
        old = os.stat(like or path)
        descriptor = os.open(made, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(made, path)
        sync_renamed(path)
    except OSError as error:
        raise BoxIOError("could not put %s in the place of %s: %s. The file that stood there is unchanged."
                         % (made, path, error.strerror or error)) from error


def copy_over(source: str, path: str) -> None:
    """Put a copy of ``source`` at ``path`` in one step, as write_text() does. BoxIOError where that fails."""
    folder, temporary = os.path.dirname(path), None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=UNFINISHED, dir=folder)
        with os.fdopen(descriptor, "wb") as handle, open(source, "rb") as made:
            shutil.copyfileobj(made, handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.rename(temporary, path)
        temporary = None
        sync_renamed(path)
    except OSError as error:
        raise BoxIOError("could not copy %s to %s: %s. Make room or make the file system writable, then run the play "
                         "again." % (source, path, error.strerror or error)) from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def link(target: str, path: str) -> None:
    """Point the symbolic link ``path`` at ``target`` in one step: beside it, rename, fsync of the folder. BoxIOError
    where that fails. A link that enables a unit must outlive a power cut: without it a trial boot has no guard, and
    stays. Seen in a VM on btrfs."""
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, UNFINISHED + os.path.basename(path))
    try:
        made = not os.path.isdir(folder)
        os.makedirs(folder, mode=0o755, exist_ok=True)
        if os.path.lexists(temporary):
            os.unlink(temporary)
        os.symlink(target, temporary)
        os.rename(temporary, path)
        _sync_folder(folder)
        if made:
            _sync_folder(os.path.dirname(folder))
    except OSError as error:
        raise BoxIOError("could not link %s to %s: %s. Make room or make the file system writable, then run the play "
                         "again." % (path, target, error.strerror or error)) from error


def remove(path: str) -> bool:
    """Remove a file or link; return False where there is none. BoxIOError where it cannot be removed."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise BoxIOError("could not remove %s: %s" % (path, error.strerror or error)) from error
    _sync_folder(os.path.dirname(path))
    return True


def sync_renamed(path: str) -> None:
    """Wait until a file that was renamed to ``path`` is on the disk there. FAT keeps length and place of a file beside
    its name, and a new name has none until the file itself is written (vfat_rename() of Linux): after a power cut it
    would be empty. Seen in a VM on an EFI system partition."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _sync_folder(os.path.dirname(path))


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
