"""The command's standard output and standard error: what cannot be written is said in one sentence, or dropped."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from ..errors import Misuse, UsageError

__all__ = ["Errors", "Output", "arrived", "whole"]


class Output(io.TextIOWrapper):
    """Standard output that says in one sentence that it cannot be written. Not every verb writes through
    util.whole_file.emit, --help least of all. A reader that went away (`| true`) changes nothing about the verdict."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._write_failed(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._write_failed(error)

    def _write_failed(self, error: OSError) -> None:
        # Python flushes once more at exit, and would complain there, with a code of its own.
        _to_nowhere(self.fileno())
        if isinstance(error, BrokenPipeError):
            return
        raise UsageError(f"standard output cannot be written ({error.strerror})", Misuse.UNWRITABLE) from None


class Errors(io.TextIOWrapper):
    """Standard error. Where nobody can read it any more, what is written to it is dropped."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            _to_nowhere(self.fileno())
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _to_nowhere(self.fileno())


def whole(stream: Any) -> Any:
    """Return the stream, or with PYTHONUNBUFFERED one over it that tries again what a write left over. A bare file
    takes a part of it, as the last block of a disk does, and says nothing of the rest."""
    return io.BufferedWriter(stream) if isinstance(stream, io.RawIOBase) else stream


def arrived() -> None:
    """Raise UsageError where what a verb wrote did not arrive: what was left in the buffer, or what NFS and quotas say
    only when a file is closed."""
    sys.stdout.flush()
    if isinstance(sys.stdout, Output):
        try:
            os.close(os.dup(sys.stdout.fileno()))
        except OSError as error:
            raise UsageError(f"standard output cannot be written ({error.strerror})", Misuse.UNWRITABLE) from None


def _to_nowhere(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
