"""A forked child that does the reading, so that a read which never returns costs a deadline and not the run.

A read of a driver's /proc or /sys file can hang in the kernel where SIGKILL has no effect (state D). The parent
therefore only ever waits on a socket, with a deadline; a child that misses it is killed, and abandoned.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
import struct
import time

from ..errors import ProbeError
from ..model.absence import Absence, Reason
from ..util.tied import fork, tie
from .base import Unreadable
from .child import Child, let_go_of_everything_but

__all__ = ["MAX_BYTES", "Reader", "reason_for"]

#: No file of interest comes near; a runaway one must not fill the memory.
MAX_BYTES = 16 * 1024 * 1024

_HEADER = struct.Struct("!cI")      # operation or verdict, length of what follows
_REASONS = {"FileNotFoundError": Reason(Absence.NOT_PRESENT), "NotADirectoryError": Reason(Absence.NOT_PRESENT),
            "PermissionError": Reason(Absence.NO_PERMISSION),
            "IsADirectoryError": Reason(Absence.UNREADABLE, "is a directory")}


def reason_for(error: OSError) -> Reason:
    """Return the reason that stands for an operating system error."""
    return _REASONS.get(type(error).__name__) or Reason(Absence.UNREADABLE, error.strerror or type(error).__name__)


class Reader(Child):
    """The child that reads, as its parent sees it. After any error but Unreadable it is of no more use: make another
    one."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        parent = os.getpid() if _thread.get_native_id() == os.getpid() else 0
        try:
            pid = fork()
        except OSError as error:
            ours.close()
            theirs.close()
            raise ProbeError(f"no process can be started ({error.strerror}): the limit of processes or memory is "
                             "reached; see ulimit -u and free -m") from None
        if pid == 0:
            _child(theirs, parent)      # never returns
        super().__init__(pid)
        theirs.close()
        self._socket = ours
        self._socket.setblocking(False)

    def ask(self, operation: bytes, path: str, deadline: float) -> bytes:
        """Ask for one read and return its answer. Unreadable where the child could not read it, TimeoutError after
        ``deadline`` seconds, ChildProcessError where the child was killed."""
        until = time.monotonic() + deadline
        payload = os.fsencode(path)
        try:
            self._send(_HEADER.pack(operation, len(payload)) + struct.pack("!d", deadline) + payload, until)
            verdict, length = _HEADER.unpack(self._receive(_HEADER.size, until))
            answer = self._receive(length, until)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            raise ChildProcessError from None
        if verdict == b"!":
            code, _, text = answer.decode(errors="replace").partition(" ")
            raise Unreadable(path, Reason(Absence(code), text))
        return answer

    def abandon(self) -> str:
        """Kill the child without waiting for it. Return "" where it is gone, else a text for the reason that says that
        it was left behind."""
        self._socket.close()
        return self.kill()

    def close(self) -> None:
        """End a healthy child, which leaves when the socket closes. One that does not leave is killed."""
        self._socket.close()
        if not self.ended_within(0.5):
            self.kill()

    def _send(self, data: bytes, until: float) -> None:
        while data:
            self._wait(write=True, until=until)
            data = data[self._socket.send(data):]

    def _receive(self, length: int, until: float) -> bytes:
        chunks = bytearray()
        while len(chunks) < length:
            self._wait(write=False, until=until)
            chunk = self._socket.recv(min(length - len(chunks), 1 << 20))
            if not chunk:
                raise EOFError
            chunks += chunk
        return bytes(chunks)

    def _wait(self, write: bool, until: float) -> None:
        poller = select.poll()      # not select(): it fails on descriptors above 1023
        poller.register(self._socket, select.POLLOUT if write else select.POLLIN)
        left = until - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            raise TimeoutError


def _child(connection: socket.socket, parent: int) -> None:
    """Answer until the parent closes the socket. The child leaves by os._exit: the parent's clean-up must not run
    twice."""
    try:
        if parent:
            tie(parent)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        let_go_of_everything_but(connection.fileno())
        while True:
            header = _exactly(connection, _HEADER.size + 8)
            operation, length = _HEADER.unpack(header[:_HEADER.size])
            (deadline,) = struct.unpack("!d", header[_HEADER.size:])
            path = os.fsdecode(_exactly(connection, length))
            # Should the parent be killed meanwhile, nobody would be left to kill us.
            signal.setitimer(signal.ITIMER_REAL, deadline + 1)
            verdict, answer = _answer(operation, path)
            signal.setitimer(signal.ITIMER_REAL, 0)
            connection.sendall(_HEADER.pack(verdict, len(answer)) + answer)
    except BaseException:
        os._exit(0)


def _answer(operation: bytes, path: str) -> tuple[bytes, bytes]:
    try:
        if operation == b"l":
            names = sorted(entry.name for entry in os.scandir(path))
            return b"+", b"\0".join(os.fsencode(name) for name in names)
        if operation == b"p":
            return b"+", os.fsencode(os.path.realpath(path, strict=True))
        return b"+", _content(path)
    except OSError as error:
        return b"!", _worded(reason_for(error))
    except ValueError:      # embedded null byte
        return b"!", _worded(Reason(Absence.UNREADABLE, "not a path"))


def _worded(reason: Reason) -> bytes:
    return f"{reason.absence.value} {reason}".encode()


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as stream:
        content = bytearray()
        while chunk := stream.read(1 << 16):
            content += chunk
            if len(content) > MAX_BYTES:
                raise OSError(27, "larger than 16 MiB")
        return bytes(content)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = connection.recv(length - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
