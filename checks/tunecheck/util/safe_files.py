"""Reading and replacing files that somebody else may have prepared: the checker and the modules on the box share it.

A path is a claim. Behind a name that another user may choose there can be a FIFO, on which an open waits for ever, a
device without an end, a file of gigabytes, or a link that makes root write elsewhere. Everything here is bounded, never
waits, and says as an OSError what it found. Standard library only, and nothing else of this package: the modules carry
this file to the box.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from enum import Enum

from .interrupt import held
from .left_behind import wrote

__all__ = ["MOST", "Danger", "UnsafeFileError", "folder_of", "read", "read_beneath", "replace", "replace_at", "shared",
           "write_special"]

#: No file that is read whole comes near.
MOST = 16 << 20
#: As many links as the kernel follows (path_resolution(7)).
_LINKS = 40


class Danger(Enum):
    """Why a file must not be used."""

    LINK = "link"
    NOT_REGULAR = "not-regular"
    #: It belongs to another user, others may write it, or others may put another one in its folder.
    OWNER = "owner"
    MODE = "mode"
    FOLDER = "folder"
    #: Nothing can be read there without waiting.
    NOTHING_NOW = "nothing-now"
    TOO_LARGE = "too-large"
    #: The name leads out of the folder.
    OUTSIDE = "outside"
    #: Another user has put it, or a link on the way to it, where others may write.
    PLANTED = "planted"


class UnsafeFileError(OSError):
    """The file is there and must not be used; ``danger`` says why to a program, ``strerror`` to people."""

    def __init__(self, path: str, danger: Danger, why: str) -> None:
        super().__init__(errno.EPERM, why, path)
        self.danger = danger


def _ours(owner: int) -> bool:
    """Return whether the owner, who may change the file, is root or the user who runs this."""
    return owner in (0, os.geteuid())


def shared(info: os.stat_result) -> bool:
    """Return whether anybody else than root and the user who runs this may change the file."""
    return not _ours(info.st_uid) or bool(info.st_mode & 0o022)


def read(path: str, most: int = MOST, follow: bool = True, ours: bool = False, at: int | None = None) -> bytes:
    """Return the content of a regular file. ``follow``: of the last part of the path, where it is a link. ``ours``:
    only of a file that nobody but root and who asks may write, in a folder where nobody else may put another one.
    ``at``: of a folder that is open, then ``path`` is a name in it. UnsafeFileError where the file must not be used,
    OSError where it cannot be read."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise UnsafeFileError(path, Danger.LINK, "a link, not a regular file") from None
        if error.errno == errno.ENXIO:      # a socket
            raise UnsafeFileError(path, Danger.NOT_REGULAR, "not a regular file") from None
        raise
    try:
        info = os.fstat(descriptor)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(info.st_mode):
            raise UnsafeFileError(path, Danger.NOT_REGULAR, "not a regular file")
        if ours:
            _of_us(path, info, at)
        return _bounded(path, descriptor, most)
    finally:
        os.close(descriptor)


def _of_us(path: str, info: os.stat_result, at: int | None) -> None:
    if not _ours(info.st_uid):
        wanted = "root" if os.geteuid() == 0 else f"root or user {os.geteuid()}"
        raise UnsafeFileError(path, Danger.OWNER, f"owned by user {info.st_uid}; expected {wanted}")
    if info.st_mode & 0o022:
        mode = f"{stat.S_IMODE(info.st_mode):04o}"
        raise UnsafeFileError(path, Danger.MODE, f"others than its owner may write it (mode {mode})")
    head, slash, _ = path.rpartition("/")
    above = os.open((head or "/") if slash else ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    try:
        folder = os.fstat(above)
    finally:
        os.close(above)
    # In a sticky folder nobody can take away what is another one's.
    if shared(folder) and not (_ours(folder.st_uid) and folder.st_mode & stat.S_ISVTX):
        raise UnsafeFileError(path, Danger.FOLDER, "others than root may put another file in its folder")


def _bounded(path: str, descriptor: int, most: int) -> bytes:
    content = bytearray()
    while True:
        try:
            chunk = os.read(descriptor, min(1 << 16, most + 1 - len(content)))
        except BlockingIOError:
            raise UnsafeFileError(path, Danger.NOTHING_NOW, "nothing to read there now") from None
        if not chunk:
            return bytes(content)
        content += chunk
        if len(content) > most:
            size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
            raise UnsafeFileError(path, Danger.TOO_LARGE, f"larger than {size}")


def read_beneath(folder: str, name: str, most: int = MOST) -> bytes:
    """Return the content of ``folder/name`` (parts by "/"). No link is followed on the way below the folder, and no
    step leads out of it. The file is read only where nobody but root and who asks may write folder and file. OSError
    otherwise."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise UnsafeFileError(name, Danger.OUTSIDE, "not a name in a folder")
    at = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return read(parts[-1], most, follow=False, ours=True, at=at)
    finally:
        os.close(at)


def replace(path: str, content: bytes, mode: int | None = None) -> None:
    """Replace ``path`` in one step. A link at its end, or on the way to it, is followed where root or who asks made it,
    or where nobody else could have: not where another user has planted it (M2 of the review: root's report over
    /etc/passwd). Without ``mode`` an existing file keeps its own, a new one gets what the umask leaves."""
    folder, name = folder_of(path)
    try:
        # An interrupt waits, so that it is known whether the file was replaced.
        with held():
            replace_at(folder, name, content, mode)
            wrote(path)
    finally:
        os.close(folder)


def replace_at(folder: int, name: str, content: bytes, mode: int | None = None) -> None:
    """Replace the file of this name in a folder that is open, in one step. ``mode``: as for ``replace``."""
    if mode is None:
        mode = _mode(folder, name)
    # Named before it is made: a signal that arrives while open(2) waits for the disk leaves no file without a name.
    temporary = f".{name[:200]}.{os.urandom(8).hex()}"
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                             dir_fd=folder)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    _sync(folder)


def _sync(folder: int) -> None:
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return      # a folder that may be written and not read
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_special(path: str, content: bytes) -> None:
    """Write into a device or FIFO, which a replacement would destroy. UnsafeFileError where another user has put it
    there."""
    folder, name = folder_of(path)
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not _ours(info.st_uid) and shared(os.fstat(folder)):
            raise UnsafeFileError(path, Danger.PLANTED,
                                  f"{name} belongs to another user, in a folder that others may write")
        descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def _mode(folder: int, name: str) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        current = os.umask(0o022)
        os.umask(current)
        return 0o666 & ~current


def folder_of(path: str) -> tuple[int, str]:
    """Return the folder that the path leads to, open, and the last name. Each link on the way is looked at before it is
    followed. What was looked at is what is used: nothing is found by its path again."""
    # O_PATH asks for no more than the right to pass through, as finding by the path would.
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    at = os.open("/" if path.startswith("/") else ".", flags & ~os.O_NOFOLLOW)
    ahead, links = [part for part in path.split("/") if part not in ("", ".")], 0
    try:
        while True:
            if not ahead:
                raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
            part = ahead.pop(0)
            try:
                link = os.readlink(part, dir_fd=at)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOENT):
                    raise
                if not ahead and part != "..":
                    return at, part
                below = os.open(part, flags, dir_fd=at)
                os.close(at)
                at = below
                continue
            links += 1
            if links > _LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            _follow(path, part, at)
            if link.startswith("/"):
                os.close(at)
                at = os.open("/", flags)
            ahead = [each for each in link.split("/") if each not in ("", ".")] + ahead
    except BaseException:
        os.close(at)
        raise


def _follow(path: str, part: str, folder: int) -> None:
    """Check a link that is to be followed. UnsafeFileError where another user may have put it there."""
    if not _ours(os.stat(part, dir_fd=folder, follow_symlinks=False).st_uid) and shared(os.fstat(folder)):
        raise UnsafeFileError(path, Danger.PLANTED,
                              f"{part} is a link of another user in a folder that others may write; it is not followed")
