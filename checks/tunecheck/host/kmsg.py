"""Reads new kernel messages from /dev/kmsg as they come, without ever waiting for one.

The format is that of Documentation/ABI/testing/dev-kmsg: a read gives one record, ``prio,seq,us,flags;text`` and lines
of ``KEY=value`` behind it. EPIPE says that records were overwritten before they were read, EAGAIN that there is no new
one."""

from __future__ import annotations

import errno
import os

from ..model.absence import Absence
from ..util.at_first_use import dataclass
from .base import Unreadable

__all__ = ["KernelMessages", "Messages"]

_PATH = "/dev/kmsg"
_RECORD = 8192
#: Records of one look; more stay for the next.
_MOST = 2000


@dataclass(frozen=True)
class Messages:
    """What one look found. ``lines`` are as dmesg shows them, "[ 123.456789] text". ``overrun``: older ones were lost
    before they were read. ``whole``: there is no more to read now."""

    lines: tuple[str, ...] = ()
    overrun: bool = False
    whole: bool = True


class KernelMessages:
    """The messages that come after it was opened. Unreadable where the kernel does not give them."""

    def __init__(self, path: str = _PATH) -> None:
        self._path = path
        try:
            self._door = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._door, 0, os.SEEK_END)
        except PermissionError:
            raise Unreadable(path, Absence.NO_PERMISSION) from None
        except FileNotFoundError:
            raise Unreadable(path, Absence.NOT_PRESENT) from None
        except OSError as error:
            raise Unreadable(path, Absence.FAILED.because(error.strerror or "failed")) from None

    def new(self) -> Messages:
        """Return the messages that came since the last call. Unreadable where the kernel does not give them."""
        lines: list[str] = []
        overrun = False
        for _ in range(_MOST):
            try:
                record = os.read(self._door, _RECORD)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    overrun = True
                    continue
                if error.errno == errno.EAGAIN:
                    return Messages(tuple(lines), overrun)
                if error.errno == errno.EINVAL:     # a record longer than the buffer; the next read gives the next one
                    continue
                raise Unreadable(self._path, Absence.FAILED.because(error.strerror or "failed")) from None
            if not record:
                return Messages(tuple(lines), overrun)
            lines += _line(record)
        return Messages(tuple(lines), overrun, whole=False)

    def close(self) -> None:
        os.close(self._door)


def _line(record: bytes) -> list[str]:
    head, mark, rest = record.decode("utf-8", "replace").partition(";")
    fields = head.split(",")
    if not mark or len(fields) < 3 or not (fields[2].isascii() and fields[2].isdigit()):
        return []
    seconds, rest = int(fields[2]) / 1e6, rest.split("\n", 1)[0]
    return [f"[{seconds:12.6f}] {rest}"]
