"""A filesystem that takes a question and never answers: who asks waits in the kernel, and SIGKILL does not end him.

Real FUSE (include/uapi/linux/fuse.h, protocol 7.31; fs/fuse/dev.c request_wait_answer: once the daemon has read a
request, even a fatal signal waits for the answer; tried on Linux 6.18). It is mounted in a mount namespace of this
process alone, so that nobody else can walk into it, and ends with this process: then the last descriptor of /dev/fuse
closes, and the kernel gives everybody an error.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import threading
from pathlib import Path

__all__ = ["mount", "own_namespace"]

_NEW_NAMESPACE, _RECURSIVE, _PRIVATE = 0x00020000, 0x4000, 1 << 18
_INIT, _INTERRUPT = 26, 36
_NO_ENTRY, _NOT_IMPLEMENTED = -2, -38
_HEAD = struct.Struct("<IIQ")


_LIBC = ctypes.CDLL(None, use_errno=True)


def own_namespace() -> None:
    """What this process and its children mount from now on, nobody else sees."""
    _call(_LIBC.unshare(_NEW_NAMESPACE))
    _call(_LIBC.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))


def mount(folder: str) -> None:
    """On ``folder``, for this process and its children. OSError where that is not permitted.

    Who waits is in state S until a signal comes, because FUSE can interrupt a question. So one is interrupted here, and
    told that interrupts are not supported: from then on the kernel asks no more, and who waits is in state D."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    own_namespace()
    _call(_LIBC.mount(b"silent", os.fsencode(folder), b"fuse", 0, options))
    threading.Thread(target=_serve, args=(device,), daemon=True).start()
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    Path(folder, "interrupted").exists()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def _call(code: int) -> None:
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _serve(device: int) -> None:
    first = 0
    while True:
        question = os.read(device, 1 << 17)
        _, operation, unique = _HEAD.unpack_from(question)
        if operation == _INIT:
            body = struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0)
            os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        elif operation == _INTERRUPT:
            os.write(device, struct.pack("<IiQ", 16, _NOT_IMPLEMENTED, unique))
            os.write(device, struct.pack("<IiQ", 16, _NO_ENTRY, first))
        else:
            first = first or unique
