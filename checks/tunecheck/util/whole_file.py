"""Writes files that are either whole or untouched."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import Misuse, UsageError
from .at_first_use import regex
from .left_behind import wrote
from .safe_files import UnsafeFileError, folder_of, replace, write_special

__all__ = ["PRIVATE", "age_of", "check_replaceable", "check_writable", "emit", "free_name", "write_file"]

#: Mode of what names people and machines: a raw recording, a snapshot.
PRIVATE = 0o600
#: Open files of this process, and its terminal.
_DESCRIPTORS = regex(r"/proc/\d+/fd/|/dev/(?:null|tty|pts/\d+)$")
#: How the texts of this program begin: JSON, pages, JUnit, metrics.
_TEXTS = (b"{", b"[", b"<!DOCTYPE html", b"<?xml", b"# HELP ", b"# TYPE ")
#: The name of this program stands in the beginning or the end of each text.
_NAME, _PART = b"tunecheck", 1 << 20


def check_writable(path: str) -> None:
    """Refuse a place where the result could not be written, before the probing starts. UsageError says why."""
    target = Path(path)
    _no_strange_link(path)
    try:
        folder = target.resolve().parent
        is_folder, has_folder = target.is_dir(), folder.is_dir()
    except (OSError, ValueError) as error:      # a directory on the way is closed to us, or not a path at all
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be written ({reason}); {_elsewhere()}", Misuse.UNWRITABLE) from None
    if is_folder:
        raise UsageError(f"{path}: is a directory; expected a file name", Misuse.ALREADY)
    if not has_folder and (closed := _closed_to_this_user(folder)):
        raise UsageError(f"{path}: the directory {folder} does not exist, and {closed} is closed to this user; "
                         f"{_elsewhere()}", Misuse.UNWRITABLE)
    if not has_folder:
        raise UsageError(f"{path}: the directory {folder} does not exist; create it first", Misuse.NOT_THERE)
    if not (os.access(target, os.W_OK) if _special(target) else os.access(folder, os.W_OK)):
        if not _special(target) and os.statvfs(folder).f_flag & os.ST_RDONLY:
            raise UsageError(f"{path}: {folder} is on a read-only filesystem; choose another place", Misuse.UNWRITABLE)
        raise UsageError(f"{path}: no permission to write in {folder}; {_elsewhere()}", Misuse.UNWRITABLE)


def check_replaceable(path: str, is_recording: Callable[[str], bool] | None = None) -> None:
    """Refuse, as check_writable does, and also where the file that is there would be a loss: one that is none of this
    program's, and a recording, as a box is never again as it was then. ``is_recording``: whether the file at a path is
    a recording, where one is written; else it is a text."""
    if path.endswith("/"):
        raise UsageError(f"{path}: names a folder; expected a file, as {path}report", Misuse.UNWRITABLE)
    check_writable(path)
    target = Path(path)
    try:
        if _special(target) or not target.stat().st_size:
            return
        with target.open("rb") as stream:
            head = stream.read(_PART)
            stream.seek(max(0, target.stat().st_size - _PART))
            ours = is_recording(path) if is_recording else \
                head.lstrip().startswith(_TEXTS) and _NAME in head + stream.read()
        when = age_of(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path}: is there and cannot be read ({error.strerror}), so it is not replaced; choose "
                         "another place", Misuse.ALREADY) from None
    if not ours:
        kind = "no recording of tunecheck" if is_recording else "no report of tunecheck"
        raise UsageError(f"{path}: is there and {kind}, so it is not replaced; choose another place, or remove it "
                         "first", Misuse.ALREADY)
    if is_recording:
        raise UsageError(f"{path}: holds the recording of {when}, and a recording is never replaced; choose another "
                         f"name, for example {free_name(path)}, or remove it first", Misuse.ALREADY)


def age_of(path: str) -> str:
    """Return when the file that a result replaces was written; "" where there is none, or nothing in it."""
    target = Path(path)
    try:
        found = target.stat()
    except OSError:
        return ""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(found.st_mtime)) if found.st_size and not _special(target) \
        else ""


def free_name(path: str) -> str:
    """Return this path, or where something is there a numbered one beside it where nothing is: box-2.tar.zst."""
    target = Path(path)
    stem, dot, end = target.name.lstrip(".").partition(".")
    stem = target.name[:len(target.name) - len(end) - len(dot)]
    number = 1
    while os.path.lexists(target):
        number += 1
        target = target.with_name(f"{stem}-{number}{dot}{end}")
    return path if number == 1 else str(target)


def _closed_to_this_user(folder: Path) -> str:
    """Return the directory in which ``folder`` would have to be made and this user may not, "" where it may."""
    nearest = next((above for above in folder.parents if above.is_dir()), None)
    return "" if nearest is None or os.access(nearest, os.W_OK) else str(nearest)


def _no_strange_link(path: str) -> None:
    """Refuse a link of another user at once, and not after minutes of measuring. UsageError says why."""
    try:
        os.close(folder_of(path)[0])
    except UnsafeFileError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); {_elsewhere()}", error.danger) from None
    except (OSError, ValueError):
        return      # which the checks below name better


def _elsewhere() -> str:
    return "choose another place" if os.geteuid() == 0 else "choose another place or run as root"


def write_file(path: str, content: bytes, mode: int | None = None, what: str = "report") -> None:
    """Replace ``path`` in one step. UsageError where that fails; then the old content is still there. Without ``mode``
    an existing file keeps its own, a new one gets what the umask leaves. ``what`` names the file in the message."""
    target = Path(path)
    try:
        if not _special(target):
            replace(path, content, mode)
        elif _DESCRIPTORS.match(os.path.realpath(path)):        # /dev/stdout, /dev/fd/63: our own
            target.write_bytes(content)
            wrote(path)
        else:
            write_special(path, content)
            wrote(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); the {what} was not saved",
                         getattr(error, "danger", Misuse.UNWRITABLE)) from None


def emit(content: str | bytes) -> None:
    """Write to standard output and flush. A reader that went away (`| head`) changes nothing about the verdict.
    UsageError where it cannot be written."""
    try:
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard()
    except OSError as error:
        _discard()
        raise UsageError(f"standard output cannot be written ({error.strerror})", Misuse.UNWRITABLE) from None


def _discard() -> None:
    # Python flushes once more at exit, and would complain there, with a code of its own.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _special(target: Path) -> bool:
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False
