"""Asks NCCL's RAS from outside: in a child that enters the engine's network namespace and may hang.

Every process of a job listens at the same port (SO_REUSEPORT), one that is stopped too: the kernel gives a connection
to any of them. So several are opened, and one that answers a greeting is asked (NCCL 2.24 to 2.29,
src/ras/client_support.cc; seen with 2.28.9). Another job in the same network listens there too: who answers is looked
up by the socket at the other end, and only a process of the engine is asked. Nothing else is sent than the greeting, a
time limit and the question."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import os
import select
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from ..model.absence import Absence
from ..util.at_first_use import dataclass
from .base import Host, Unreadable
from .question import MOST, Question

__all__ = ["RasAnswer", "RasQuestion", "where"]

#: In seconds. RAS itself waits so long for a process that does not answer, twice; it rounds up by as much again.
_LEG = 2
#: For everything: a greeting, two rounds among the processes.
DEADLINE = 12.0
_GREETING, _GREET = b"CLIENT PROTOCOL 2\n", 0.5
_DOORS, _ROUNDS = 16, 4
_PORT = 28028
_CLONE_NEWNET = 0x40000000
_OK, _NO_ANSWER, _REFUSED, _NO_PERMISSION, _NO_PROCESS, _FOREIGN = b"=", b"t", b"r", b"p", b"n", b"f"
_WHY = {
    _NO_ANSWER: Absence.TIMED_OUT.because("no process of the engine answers there"),
    _REFUSED: Absence.NOT_PRESENT.because("nobody listens there: no NCCL of 2.24 or later, or NCCL_RAS_ENABLE=0"),
    _NO_PERMISSION: Absence.NO_PERMISSION.because("only root may enter the engine's network namespace"),
    _NO_PROCESS: Absence.NOT_PRESENT.because("the process has ended"),
    _FOREIGN: Absence.NOT_PRESENT.because("only processes answer there that are not known to be the engine's"),
}


@dataclass(frozen=True)
class RasAnswer:
    """One answer. ``text`` is as it came. ``whole``: its sender closed the connection; else the deadline cut it off."""

    text: str
    whole: bool


def where(host: Host, pid: int) -> tuple[str, int]:
    """Return address and port of RAS, by NCCL_RAS_ADDR in the environment of the process. They are NCCL's default where
    that has none or cannot be read. Unreadable with NOT_ASKED where RAS is switched off, or where its address is no
    number with a port: a name would have to be looked up."""
    name = f"/proc/{pid}/environ"
    try:
        variables = dict(entry.partition(b"=")[::2] for entry in host.read_bytes(name).split(b"\0"))
    except Unreadable:
        variables = {}
    if variables.get(b"NCCL_RAS_ENABLE", b"1").strip() == b"0":
        raise Unreadable("NCCL RAS", Absence.NOT_ASKED.because("NCCL_RAS_ENABLE=0 in the engine's environment"))
    received = variables.get(b"NCCL_RAS_ADDR", b"").decode("utf-8", "replace").strip()
    if not received:
        return "127.0.0.1", _PORT
    address, _, port = received.rpartition(":")
    address = "127.0.0.1" if address.lower() == "localhost" else address.strip("[]")
    try:
        found = ipaddress.ip_address(address)
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(port)
    except ValueError:
        raise Unreadable("NCCL RAS", Absence.NOT_ASKED.because(
            "NCCL_RAS_ADDR of the engine is no address as a number with a port")) from None
    if found.is_unspecified:
        return ("::1" if found.version == 6 else "127.0.0.1"), int(port)
    return str(found), int(port)


class RasQuestion(Question):
    """One question to RAS of the process ``pid``, under way in a child. Address and port are those that ``where``
    gives; they are those of the process' own network namespace. ``ours``: only the answer of one of these processes
    counts; (): of any."""

    def __init__(self, pid: int, address: str, port: int, deadline: float = DEADLINE,
                 ours: Sequence[int] = ()) -> None:
        self._name = f"NCCL RAS at {address}:{port}"
        super().__init__(lambda pipe, until: _work(pipe, until, pid, (address, port), ours), deadline)

    def answer(self) -> RasAnswer:
        """Wait until the question is over and return what came. Unreadable where nothing did."""
        received = self.received()
        kind, text = received[:1], received[1:MOST + 1].decode("utf-8", "replace")
        if kind == _OK and text.endswith("\0"):
            return RasAnswer(text[:-1], True)
        if kind == _OK and text:
            return RasAnswer(text, False)
        raise Unreadable(self._name, _WHY.get(kind, _WHY[_NO_ANSWER]))


def _work(pipe: int, until: float, pid: int, place: tuple[str, int], ours: Sequence[int]) -> None:
    kind = _enter(pid) or _ask(pipe, place, until, ours)
    if kind == _REFUSED and place[0] == "127.0.0.1":
        kind = _ask(pipe, ("::1", place[1]), until, ours)       # what "localhost" may be, which is NCCL's default
    if kind:
        os.write(pipe, kind)


def _enter(pid: int) -> bytes:
    """Enter the network namespace of the process. Return b"" where that is done or it is ours, else the kind of
    failure."""
    try:
        place = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        mine = Path("/proc/self/ns/net").stat()
    except PermissionError:
        return _NO_PERMISSION
    except OSError:
        return _NO_PROCESS
    theirs = os.fstat(place)
    if (theirs.st_dev, theirs.st_ino) == (mine.st_dev, mine.st_ino):
        return b""
    return b"" if ctypes.CDLL(None, use_errno=True).setns(place, _CLONE_NEWNET) == 0 else _NO_PERMISSION


def _ask(pipe: int, place: tuple[str, int], until: float, ours: Sequence[int]) -> bytes:
    """Ask RAS at this place, and write the answer to ``pipe`` as it comes, ended by a NUL. Return b"" where there was
    an answer, else the kind of failure."""
    received, foreign = False, False
    for _ in range(_ROUNDS):
        doors, some = _greeted(place, until)
        received, foreign = received or some, foreign or bool(doors)
        door = next((each for each in doors if not ours or _is_of(each, ours)), None)
        for each in doors:
            if each is not door:
                each.close()
        if door is not None:
            break
        if not some or time.monotonic() >= until:
            return _FOREIGN if foreign else _NO_ANSWER if received else _REFUSED
    else:
        return _FOREIGN if foreign else _NO_ANSWER
    with door:
        rest = _line(door, b"TIMEOUT %d\n" % _LEG, until)
        if rest is None:
            return _NO_ANSWER
        door.sendall(b"VERBOSE STATUS\n")
        os.write(pipe, _OK + rest.replace(b"\0", b"?"))
        size = 0
        while size < MOST and (left := until - time.monotonic()) > 0:
            door.settimeout(left)
            try:
                part = door.recv(1 << 16)
            except OSError:
                return b""
            if not part:
                os.write(pipe, b"\0")
                return b""
            part = part[:MOST - size].replace(b"\0", b"?")
            size += len(part)
            while part:
                part = part[os.write(pipe, part):]
    return b""


def _line(door: socket.socket, words: bytes, until: float) -> bytes | None:
    """Send ``words`` and read the one line that answers them. Return what came behind the line. None where none
    came."""
    found = b""
    try:
        door.settimeout(1.0)
        door.sendall(words)
        while b"\n" not in found and len(found) < 4096:
            door.settimeout(max(0.01, min(1.0, until - time.monotonic())))
            part = door.recv(4096)
            if not part:
                return None
            found += part
    except OSError:
        return None
    return found.partition(b"\n")[2]


def _greeted(place: tuple[str, int], until: float) -> tuple[list[socket.socket], bool]:
    """Return the connections at which a process answered the greeting, and whether anybody may listen there: no
    connection was refused. A process that is stopped accepts none, and where its queue is full the kernel drops what
    comes: that is no refusal, and the others of its job may have room."""
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    doors, poller, refused = dict[int, socket.socket](), select.poll(), False
    for _ in range(_DOORS):
        door = socket.socket(family, socket.SOCK_STREAM)
        door.setblocking(False)
        if door.connect_ex(place) in (0, errno.EINPROGRESS):
            poller.register(door, select.POLLOUT)
            doors[door.fileno()] = door
        else:
            refused = True
            door.close()
    kept, greeted = list[socket.socket](), set[int]()
    end = min(until, time.monotonic() + _GREET)
    while doors and (left := end - time.monotonic()) > 0:
        for number, _ in poller.poll(left * 1000):
            door = doors[number]
            if number not in greeted and _greets(door):
                greeted.add(number)
                poller.modify(number, select.POLLIN)
                continue
            refused = refused or number not in greeted
            poller.unregister(number)
            del doors[number]
            if number in greeted and _is_greeting(door):
                # The others of its job have nothing to add, and another's come as soon.
                end = min(end, time.monotonic() + _GREET / 5)
                kept.append(door)
            else:
                door.close()
    for door in doors.values():
        door.close()
    return kept, bool(greeted) or not refused


def _greets(door: socket.socket) -> bool:
    """Send the greeting as the connection stands. False: it was refused."""
    with contextlib.suppress(OSError):
        return not door.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) and door.send(_GREETING) == len(_GREETING)
    return False


def _is_greeting(door: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        return door.recv(4096).startswith(b"SERVER PROTOCOL")
    return False


def _is_of(door: socket.socket, pids: Sequence[int]) -> bool:
    """Whether the socket at the other end is one of these processes'. Not where that cannot be read."""
    ends = [f":{name[1]:04X}" for name in (door.getpeername(), door.getsockname())]
    inode = ""
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), Path(f"/proc/self/net/{name}").open("rb") as rows:
            for row in map(bytes.decode, rows):
                fields = row.split()
                if len(fields) > 9 and [field[-5:] for field in fields[1:3]] == ends:
                    inode = fields[9]
    if inode in ("", "0"):
        return False
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(entry.path) == f"socket:[{inode}]":      # noqa: PTH115
                        return True
    return False
