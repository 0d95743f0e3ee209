"""Ctrl-C and SIGTERM: never lost, and never in the middle of what has to be whole.

Each raises KeyboardInterrupt in the main thread, at whatever line that is. Python drops an exception that comes in a
finaliser or in the callback of a weak reference ("Exception ignored in: ..."): then the signal is sent again. Where an
exception would leave it open what was kept, `with held()` lets it wait.

Only what Python itself has loaded is imported: it is a part of every start."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what is built in of signal, whose own file imports more
import _thread
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sys import UnraisableHookArgs
    from types import FrameType

__all__ = ["INTERRUPTED", "TERMINATED", "check", "ending", "exit_code", "handle", "held", "let_through", "take", "word"]

INTERRUPTED, TERMINATED = 130, 143
#: Who presses Ctrl-C again after so long sees a program that hangs.
_HANGS_S = 2.0
#: Long enough that the finaliser in which an interrupt was dropped is over.
_AGAIN_S = 0.02


class _State:
    """``first``: when the first signal came. ``held``: how many ``with held()`` the main thread is in; ``waits``: one
    came meanwhile. ``open``: an interrupt is let through all the same. ``again``: the next signal is one of before."""

    main: int | None = None
    first: float | None = None
    number = 0
    held = 0
    waits = False
    open = False
    again = False


_state = _State()


def take(numbers: Iterable[int]) -> None:
    """Take these signals for this process. To be called by its main thread."""
    _state.main = _thread.get_ident()
    for number in numbers:
        _signal.signal(number, handle)
    sys.unraisablehook = _dropped


def handle(number: int, _frame: FrameType | None = None) -> None:
    """Handle a signal: raise KeyboardInterrupt, or remember that it waits."""
    now = time.monotonic()
    again, _state.again = _state.again, False
    _state.number = _state.number or number
    if _state.first is None:
        _state.first = now
    elif not again and now - _state.first > _HANGS_S:
        _end()
    if _state.held and not _state.open:
        _state.waits = True
        return
    _state.open = False
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt where a signal asked this process to end; for any thread."""
    if _state.first is not None:
        raise KeyboardInterrupt


def ending() -> None:
    """Raise none any more: the process ends, and says so."""
    _state.held += 1
    _state.open = False


def word() -> str:
    """Return what came first, in words."""
    return "ended by SIGTERM" if _state.number == _signal.SIGTERM else "interrupted"


def exit_code() -> int:
    """Return the exit code for what came first."""
    return TERMINATED if _state.number == _signal.SIGTERM else INTERRUPTED


class held:  # noqa: N801 - reads as a word: with held():
    """Let an interrupt wait until the end of the ``with``, in the main thread; other threads get none. The second one
    ends a program that hangs in it."""

    _mine = False

    def __enter__(self) -> None:
        self._mine = _thread.get_ident() == _state.main
        if self._mine:
            _state.held += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._mine:
            return
        _state.held -= 1
        if _state.waits and not _state.held:
            _state.waits = False
            # What is raised already ends the verb, too, with its own words.
            if kind is None:
                raise KeyboardInterrupt


class let_through:  # noqa: N801
    """Inside `with held()`, raise an interrupt all the same: where it waits for others and nothing is kept by this
    thread. One interrupt; the next one waits again."""

    def __enter__(self) -> None:
        if _thread.get_ident() != _state.main:
            return
        _state.open = True
        if _state.waits:
            _state.waits = _state.open = False
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if _thread.get_ident() == _state.main:
            _state.open = False


def _dropped(unraisable: UnraisableHookArgs) -> None:
    """Send an interrupt again that Python drops, and print nothing about it. Not from here: raised inside this hook, it
    would be dropped a second time."""
    if unraisable.exc_type is not None and issubclass(unraisable.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_send_again, ())
    else:
        sys.__unraisablehook__(unraisable)


def _send_again() -> None:
    time.sleep(_AGAIN_S)
    if _state.main is not None:
        _state.again = True
        _signal.pthread_kill(_state.main, _state.number or _signal.SIGINT)


def _end() -> None:
    """End a program that hangs, in whatever it is."""
    try:
        os.write(2, b"tunecheck: interrupted again, and ended at once; what was kept or written before stays\n")
    finally:
        os._exit(exit_code())
