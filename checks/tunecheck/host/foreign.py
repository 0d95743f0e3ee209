"""Judges foreign input in a child process: what is too much for its limits ends the child, and nothing else.

A snapshot, recording or bug report was written by somebody else. The parsers have limits of their own; this is the
limit for what they overlook: processor time, memory, time, and the size of the answer. A child serves many requests,
one after the other; after one that was too much the next request starts a new child.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import resource
import select
import signal
import socket
import struct
import threading
from collections.abc import Callable
from enum import Enum

from ..errors import ProbeError
from ..util.at_first_use import dataclass
from ..util.tied import fork
from .child import Child, let_go_of_everything_but
from .patience import BusyError, Patience, WaitedError

__all__ = ["Bounds", "Confined", "DefectError", "ExceededError", "Limit"]

_HEADER = struct.Struct("!cQ")      # verdict or request, length of what follows
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Bounds:
    """The limits of one request. ``cpu``: seconds of processor time, and up to one more; ``wall``: seconds in which it
    waits for something other than a processor; ``most``: seconds until its answer, on the busiest machine; ``memory``:
    bytes beyond those that the child starts with; ``answer``: bytes."""

    cpu: int = 4
    wall: float = 30.0
    most: float = 600.0
    memory: int = 224 << 20
    answer: int = 64 << 20


class Limit(Enum):
    """Which limit a request went beyond."""

    CPU = "cpu"
    #: It waited for a disk or the network.
    WALL = "wall"
    #: The machine had no processor for it.
    BUSY = "busy"
    MEMORY = "memory"
    ANSWER = "answer"
    #: Killed by somebody else: mostly the machine is out of memory.
    KILLED = "killed"
    #: A signal of its own: too much memory, or a parser that failed.
    CRASHED = "crashed"
    #: Who asked is ending.
    ENDING = "ending"


class ExceededError(Exception):
    """The input was too much; ``limit`` says of what to a program. The message names the limit and completes
    "refused: "."""

    def __init__(self, limit: Limit, text: str) -> None:
        super().__init__(text)
        self.limit = limit


class DefectError(Exception):
    """The child failed in a way that nobody thought of; the message says where. Hostile input, or a defect of ours."""


class Confined:
    """Answers requests in a child. ``answer`` runs there: what it returns comes back; an Exception that it raises is a
    DefectError here. Threads may share it: one request at a time."""

    def __init__(self, answer: Callable[[bytes], bytes], bounds: Bounds | None = None,
                 foreground: bool = False) -> None:
        """Keep what to run and the limits. With ``foreground`` the child keeps standard output and error, whose width
        and colours a report goes by."""
        self._answer, self.bounds, self._foreground = answer, bounds or Bounds(), foreground
        self._lock = threading.Lock()
        self._worker: tuple[Child, socket.socket] | None = None
        self._ended = False

    def start(self) -> None:
        """Start the child now, not at the first request. That is possible as long as no other thread is at work, whose
        locks the child would inherit."""
        with self._lock:
            if self._worker is None and not self._ended:
                self._start()

    def ask(self, request: bytes = b"") -> bytes:
        """Send one request to the child and return its answer. ExceededError where the request was too much, or after
        ``abandon``; DefectError where the child failed."""
        with self._lock:
            if self._ended:
                raise ExceededError(Limit.ENDING, "this process is ending")
            child, connection = self._worker or self._start()
            patience = Patience(child.pid, self.bounds.wall, self.bounds.most)
            try:
                _send(connection, _HEADER.pack(b"?", len(request)) + request, patience)
                verdict, length = _HEADER.unpack(_receive(connection, _HEADER.size, patience))
                if length > self.bounds.answer:
                    raise ExceededError(Limit.ANSWER, f"its answer is larger than {self.bounds.answer >> 20} MiB")
                found = _receive(connection, length, patience)
            except WaitedError:
                self._end()
                raise ExceededError(Limit.WALL, f"it waited for {self.bounds.wall:g} s, and not for a processor: a "
                                    "disk or network share is slow or dead") from None
            except BusyError as error:
                self._end()
                raise ExceededError(Limit.BUSY, f"it got {error.got:.1f} s of processor time in "
                                    f"{self.bounds.most:g} s: this machine is busy") from None
            except (OSError, EOFError):
                raise self._fate(child) from None
            except BaseException:
                self._end()
                raise
            if verdict == b"+":
                return found
            self._end()
            if verdict == b"m":
                raise ExceededError(Limit.MEMORY, self._memory())
            raise DefectError(found.decode("utf-8", "replace"))

    def abandon(self) -> None:
        """End the request that is under way, and every later one. Another thread calls this."""
        self._ended = True
        worker = self._worker
        if worker is not None:
            with contextlib.suppress(ProcessLookupError):
                if not worker[0].reaped():
                    os.kill(worker[0].pid, signal.SIGKILL)

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def __enter__(self) -> Confined:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _memory(self) -> str:
        return f"it needs more than {self.bounds.memory >> 20} MiB of memory"

    def _fate(self, child: Child) -> Exception:
        """Return the exception that says why the child is gone."""
        child.ended_within(1.0)
        status, ended = child.status, self._ended
        self._end()
        if ended:
            return ExceededError(Limit.ENDING, "this process is ending")
        if status == -signal.SIGXCPU:
            return ExceededError(Limit.CPU, f"it needs more than {self.bounds.cpu} s of processor time")
        if status in (-signal.SIGKILL, -signal.SIGALRM):
            return ExceededError(Limit.KILLED, f"its process was ended by signal {-status}: mostly this machine is out "
                                 "of memory (sudo dmesg | grep -i oom)")
        if status in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
            return ExceededError(Limit.CRASHED, f"{self._memory()}, or its parser failed (signal {-status})")
        return DefectError(f"its process ended ({status})")

    def _start(self) -> tuple[Child, socket.socket]:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        try:
            pid = fork()
        except OSError as error:
            ours.close()
            theirs.close()
            raise ProbeError(f"no process can be started ({error.strerror}): the limit of processes or memory is "
                             "reached; see ulimit -u and free -m") from None
        if pid == 0:
            _child(theirs, self._answer, self.bounds, parent, self._foreground)      # never returns
        theirs.close()
        ours.setblocking(False)
        self._worker = Child(pid), ours
        return self._worker

    def _end(self) -> None:
        if self._worker is not None:
            child, connection = self._worker
            self._worker = None
            connection.close()
            child.kill()


def _send(connection: socket.socket, data: bytes, patience: Patience) -> None:
    left = memoryview(data)
    while left:
        _wait(connection, select.POLLOUT, patience)
        left = left[connection.send(left):]


def _receive(connection: socket.socket, length: int, patience: Patience) -> bytes:
    found = bytearray()
    while len(found) < length:
        _wait(connection, select.POLLIN, patience)
        block = connection.recv(min(length - len(found), 1 << 20))
        if not block:
            raise EOFError
        found += block
    return bytes(found)


def _wait(connection: socket.socket, event: int, patience: Patience) -> None:
    poller = select.poll()
    poller.register(connection, event)
    while not poller.poll(patience.tick() * 1000):
        patience.look()


def _child(connection: socket.socket, answer: Callable[[bytes], bytes], bounds: Bounds, parent: int,
           foreground: bool) -> None:
    """Answer until the parent closes the socket. The child leaves by os._exit: the parent's clean-up must not run
    twice."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _die_with(parent)
        if not foreground:
            let_go_of_everything_but(connection.fileno())
        connection.setblocking(True)
        gc.freeze()
        _confine(bounds)
        while True:
            _, length = _HEADER.unpack(_exactly(connection, _HEADER.size))
            request = _exactly(connection, length)
            _allow(bounds.cpu)
            verdict, found = _answered(answer, request)
            del request
            connection.sendall(_HEADER.pack(verdict, len(found)))
            connection.sendall(found)
            if verdict != b"+":
                break
    except BaseException:
        os._exit(1)
    os._exit(0)


def _answered(answer: Callable[[bytes], bytes], request: bytes) -> tuple[bytes, bytes]:
    try:
        return b"+", answer(request)
    except MemoryError:
        return b"m", b""
    except Exception as error:
        import traceback  # start-up time

        last = traceback.extract_tb(error.__traceback__)[-1]
        place = last.filename.rpartition("tunecheck/")[2]
        return b"!", f"{type(error).__name__} at {place}:{last.lineno}".encode("utf-8", "replace")


def _die_with(parent: int) -> None:
    """End this child when its parent ends: an orphan is of no use. prctl(2): the signal comes when the thread that
    forked ends."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _confine(bounds: Bounds) -> None:
    """Limit the memory of this process, and leave no core dump. RLIMIT_DATA counts what is really written to
    (setrlimit(2), Linux 4.7); address space that is only set aside, as for threads, is free."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
            used = re.search(r"^VmData:\s+(\d+) kB", stream.read(), re.MULTILINE)
        most = (int(used[1]) << 10 if used else 0) + bounds.memory
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _allow(cpu: int) -> None:
    """Allow ``cpu`` seconds of processor time from now on, rounded up by at most one. Then SIGXCPU comes, which by
    default ends the process."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(spent.ru_utime + spent.ru_stime) + cpu + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _exactly(connection: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        block = connection.recv(min(length - len(found), 1 << 20))
        if not block:
            raise EOFError
        found += block
    return bytes(found)
