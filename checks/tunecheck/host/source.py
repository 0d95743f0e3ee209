"""Opens what `--from` was given: a recording, an import ("-": from standard input), or a snapshot. The content decides,
never the name."""

from __future__ import annotations

import stat
import zlib
from pathlib import Path

from ..errors import Misuse, UsageError
from ..parsers.text.damage import Damage
from ..util.at_first_use import regex
from .base import Host
from .own_files import own_document

__all__ = ["is_import", "is_snapshot", "open_source"]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
#: How a recording of the first format begins: with one of its parts (host/bundle_1.py).
_FIRST = regex(r'\s*\{\s*"(?:schema|reads|lists|realpaths|errors|absences|runs|nvml)"')


def open_source(path: str) -> tuple[Host, str]:
    """Return the host behind ``path``, and a line about what an import consists of ("" for a recording). UsageError
    where it cannot be read."""
    if _is_recording(path):
        from .recording import load_recording

        return load_recording(path), ""
    from .imported.machine import load_import

    found = load_import(path)
    return found, found.summary()


def is_import(path: str) -> bool:
    """Return whether there are loose texts, made by others, and neither a recording nor a snapshot."""
    return not is_snapshot(path) and not _is_recording(path)


def _is_recording(path: str) -> bool:
    """Return whether the file is zstd, or gzip that holds JSON of a recording: a packed kernel log begins with "[", and
    programs write JSON, too. Damaged gzip counts as one: the reader says what is wrong with it. UsageError
    where the path cannot be read, is no file or is empty."""
    if path == "-":
        return False
    try:
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            return False
        if not stat.S_ISREG(status.st_mode):        # a FIFO would make us wait for ever
            raise UsageError(f"{path}: not a file; expected a recording, a bug report or a folder", Damage.NOT_A_FILE)
        with open(path, "rb") as stream:
            head = stream.read(4096)
        if head.startswith(_GZIP):
            begin = zlib.decompressobj(31).decompress(head, 256).decode("latin-1")
            return _FIRST.match(begin) is not None and "snapshot" not in own_document(begin)
        if not head:
            from .imported.files import GIVE

            raise UsageError(f"{path}: the file is empty; {GIVE}", Damage.EMPTY)
        return head.startswith(_ZSTD)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", Misuse.UNREADABLE) from None
    except ValueError:      # embedded null byte
        raise UsageError(f"{path!r}: not a path", Misuse.MALFORMED) from None
    except zlib.error:
        return True


def is_snapshot(path: str) -> bool:
    """Return whether the file there begins like a snapshot. What cannot be read is none: the other readers say why."""
    try:
        if path == "-" or not Path(path).is_file():
            return False
        with open(path, "rb") as stream:
            head = stream.read(4096)
    except (OSError, ValueError):
        return False
    return head.lstrip().startswith(b"{") and b'"tunecheck/snapshot/' in head
