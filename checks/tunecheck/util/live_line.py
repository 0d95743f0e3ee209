"""One line on a terminal that says what goes on, rewritten in place and gone at the end."""

from __future__ import annotations

import os
import select
import sys
from typing import TextIO

__all__ = ["LiveLine"]

_ERASE = "\r\x1b[K"


class LiveLine:
    """Shows the line, on standard error by default. Nothing is written where that is no terminal, and never with a
    wait: a terminal that is stopped (Ctrl-S), or belongs to another job, gets nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._there = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False

    def show(self, text: str, *shorter: str) -> None:
        """Replace the line by the first of these texts that fits. Where none does, the last one is cut off: a line that
        wraps cannot be erased."""
        if self._ready():
            room = max(0, _columns(self._stream) - 1)
            fits = next((each for each in (text, *shorter) if len(each) <= room), (text, *shorter)[-1])
            plain = "".join(char if " " <= char <= "~" else "?" for char in fits)
            self._write(f"{_ERASE}{plain[:room]}")
            self._shown = True

    def erase(self) -> None:
        """Erase the line, so that the terminal is as it was. May be called again."""
        if self._shown and self._ready():
            self._write(_ERASE)
            self._shown = False

    def _ready(self) -> bool:
        """Return whether the terminal takes a line at once, and from this process."""
        if not self._there:
            return False
        try:
            if os.tcgetpgrp(self._stream.fileno()) not in (0, os.getpgrp()):
                return False        # in the background, where `stty tostop` would stop us
        except OSError:
            pass        # a terminal, but not the one that controls this session
        poller = select.poll()
        poller.register(self._stream.fileno(), select.POLLOUT)
        return any(event & select.POLLOUT for _, event in poller.poll(0))

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:     # the terminal went away: nobody is there to read
            self._there = False


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
