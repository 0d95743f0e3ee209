"""``--from``, and a text on standard input that nobody asked for: whoever forgot ``--from -`` is told so."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = ["from_option", "waits_unread"]

#: Other names of standard input: whatever option has one of them has read it.
_NAMES = frozenset(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
#: Programs that hand their own standard input on to what they start for somebody.
_HAND_ON = frozenset(("sudo", "doas"))
#: sudo may be two processes, one that watches the other.
_DEEPEST = 2


def from_option(metavar: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--from``, as ``source``, of a verb that takes "-" for standard input."""
    return click.option("--from", "source", metavar=metavar, help=text, callback=_given)


def _given(context: click.Context, _: click.Parameter, source: str | None) -> str | None:
    if source is None and not context.resilient_parsing:
        # At the end: by then the program in front of the pipe has written, and no report hides the line.
        context.call_on_close(lambda: _say(context))
    return source


def _say(context: click.Context) -> None:
    if not _NAMES.intersection(filter(None, (each for each in context.params.values() if isinstance(each, str)))) \
            and waits_unread(0):
        click.echo(f"tunecheck: standard input was not read; to judge it: {context.command_path} --from -", err=True)


def waits_unread(descriptor: int) -> bool:
    """Return whether a text was handed to this very program and nothing of it was read: a file that is not empty, or a
    pipe with something in it. Nothing is read, and nothing is waited for.

    Not a terminal, a device or a socket (ssh, systemd, inetd). Nor what the calling program has as its own input, too:
    in a loop over a file, and in a script that a shell reads from its input, that is the shell's."""
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            there = status.st_size > 0 and os.lseek(descriptor, 0, os.SEEK_CUR) == 0
        else:
            there = stat.S_ISFIFO(status.st_mode) and _holds_something(descriptor)
    except OSError:     # closed, or of a kind that tells nothing
        return False
    return there and not _of_the_caller(status)


def _holds_something(descriptor: int) -> bool:
    import fcntl  # start-up time
    import select
    import struct
    import termios

    looked = select.poll()
    looked.register(descriptor, select.POLLIN)
    if not any(event & select.POLLIN for _, event in looked.poll(0)):
        return False
    waiting: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))[0]
    return waiting > 0


def _of_the_caller(status: os.stat_result) -> bool:
    caller = os.getppid()
    for _ in range(_DEEPEST):
        if _file(f"/proc/{caller}/comm").strip() not in _HAND_ON:
            break
        # "pid (comm) state ppid ...": what stands in the brackets may hold any character.
        caller = int(_file(f"/proc/{caller}/stat").rpartition(")")[2].split()[1])
    try:
        its = Path(f"/proc/{caller}/fd/0").stat()
    except PermissionError:
        return False        # of another user: sshd, cron
    except OSError:
        return True         # it has ended: nobody waits for a hint
    return (its.st_dev, its.st_ino) == (status.st_dev, status.st_ino)


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "0 () X 0"
