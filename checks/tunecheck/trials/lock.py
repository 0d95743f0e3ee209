"""Allow one trial at a time on a machine, and none on a machine that a trial wedged.

The lock is a socket in the abstract namespace: it needs no file and no permission, ends with its process whatever kills
that, and tells who holds it.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from enum import StrEnum
from pathlib import Path

from ..errors import TrialError
from ..util import safe_files

__all__ = ["Busy", "Lock", "Wedged", "clear_wedged", "mark_wedged", "refuse_wedged"]

_NAME = "\0tunecheck-trial"
_MARK = Path("/run/tunecheck/wedged.json")


class Busy(StrEnum):
    """Why no trial may run now."""

    LOCKED = "locked"
    #: The mark of a wedged GPU cannot be taken away.
    MARKED = "marked"


class Wedged(TrialError):  # noqa: N818 - the word of every report
    """A trial of this boot left a GPU that does not answer any more."""

    exit_code = 4


class Lock:
    """The lock of the machine's trial, held from ``with`` to its end. TrialError names the process that holds it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)

    def __enter__(self) -> Lock:
        try:
            self._socket.bind(_NAME)
        except OSError:
            self._socket.close()
            raise TrialError(f"another trial runs on this machine{_holder()}; wait for its end", Busy.LOCKED) from None
        self._socket.listen(8)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _holder() -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(1)
        try:
            asking.connect(_NAME)
            pid = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except OSError:
            return ""
    return f" (pid {pid})"


def mark_wedged(boot_id: str, text: str) -> None:
    """Remember until the next boot that a trial wedged a GPU. Without root only the report says so."""
    try:
        _MARK.parent.mkdir(mode=0o755, exist_ok=True)
        temporary = _MARK.with_suffix(".new")
        temporary.write_text(json.dumps({"boot_id": boot_id, "text": text, "pid": os.getpid()}))
        temporary.replace(_MARK)
    except OSError:
        return


def refuse_wedged(boot_id: str) -> None:
    """Raise Wedged where a trial of this boot wedged a GPU."""
    try:
        known = json.loads(safe_files.read(str(_MARK)))
    except (OSError, ValueError):
        return
    if isinstance(known, dict) and known.get("boot_id") == boot_id:
        raise Wedged(f"an earlier trial of this boot wedged a GPU ({known.get('text')}); no trial touches it again "
                     "before a reboot; after a GPU reset that worked, run again with --after-reset")


def clear_wedged() -> None:
    """Forget that a trial wedged a GPU: the operator says that the GPUs were reset. TrialError where the mark cannot be
    removed."""
    try:
        _MARK.unlink(missing_ok=True)
    except OSError as error:
        raise TrialError(f"{_MARK}: cannot be removed ({error.strerror}); run with --after-reset as root",
                         Busy.MARKED) from None
