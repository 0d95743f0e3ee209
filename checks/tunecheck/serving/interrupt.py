"""Ctrl-C that is not lost.

Python drops a KeyboardInterrupt that comes while a generator of the HTTP library is finalised ("Exception ignored in:
<generator object HTTP11ConnectionByteStream.__iter__>", seen with httpcore 1.0). It is remembered, and raised again
before the next request and at the next arrival."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["check", "remember"]

_asked = threading.Event()


def remember() -> None:
    """Keep every Ctrl-C from now on. Where the program has another handler of the signal, that one stays."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handle)
        sys.unraisablehook = _ignore_interrupt


def check() -> None:
    """Raise KeyboardInterrupt where one was asked for."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _ignore_interrupt(unraisable: UnraisableHookArgs) -> None:
    """Print nothing about a KeyboardInterrupt that Python drops: it is not lost."""
    if not (unraisable.exc_type and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)


def _handle(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt
