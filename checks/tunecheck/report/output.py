"""Files that are either whole or untouched."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from ..errors import UsageError

__all__ = ["check_writable", "write_file"]


def check_writable(path: str) -> None:
    """Refuse a place where the result could not be written, before the probing starts."""
    target = Path(path)
    try:
        folder = target.resolve().parent
        is_folder, has_folder = target.is_dir(), folder.is_dir()
    except (OSError, ValueError) as error:      # a directory on the way is closed to us, or not a path at all
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be written ({reason}); choose another place or run as root") from None
    if is_folder:
        raise UsageError(f"{path}: is a directory; expected a file name")
    if not has_folder:
        raise UsageError(f"{path}: the directory {folder} does not exist; create it first")
    if not (os.access(target, os.W_OK) if _special(target) else os.access(folder, os.W_OK)):
        raise UsageError(f"{path}: no permission to write in {folder}; choose another place or run as root")


def write_file(path: str, content: bytes, mode: int | None = None) -> None:
    """Replace ``path`` in one step. UsageError where that fails; then the old content is still there. Without
    ``mode`` an existing file keeps its own, a new one gets what the umask leaves."""
    target = Path(path)
    try:
        if _special(target):        # /dev/stdout, a FIFO: replacing it would destroy it
            target.write_bytes(content)
        else:
            _replace(target.resolve(), content, mode)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); the report was not saved") from None


def _special(target: Path) -> bool:
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False


def _replace(target: Path, content: bytes, mode: int | None) -> None:
    if mode is None:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
