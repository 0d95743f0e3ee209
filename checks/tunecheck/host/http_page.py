"""Gets one page of a server on this machine, with one deadline for everything and a limit on its size.

HTTP/1.0, so that the answer is neither chunked nor kept open: what a metrics page needs, in a tenth of the memory of an
HTTP library that stays in a process for months. TLS where the address says https."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import time
from urllib.parse import urlsplit

from ..model.absence import Absence
from ..util.at_first_use import dataclass
from .base import Unreadable

__all__ = ["Page", "fetch", "own_address"]

#: vLLM's page has 60 KB, SGLang's 40 KB.
_MOST = 4 << 20
_LENGTH = re.compile(rb"(?mi)^content-length:[ \t]*([0-9]{1,12})[ \t]*\r?$")
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")


@dataclass(frozen=True)
class Page:
    """One answer. ``status`` is the HTTP status, ``text`` the body, undecodable bytes replaced."""

    status: int
    text: str


def fetch(url: str, deadline: float, key: str | None = None, context: ssl.SSLContext | None = None) -> Page:
    """GET the page within ``deadline`` seconds, all in all. ``key`` is sent as a bearer token, in clear to this machine
    alone: NOT_ASKED for another one. UNREADABLE for an answer that is no page; else Unreadable where there is no whole
    answer in time."""
    until = time.monotonic() + deadline
    try:
        parts = urlsplit(url)
        host, secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
    except ValueError:
        raise Unreadable(url, Absence.FAILED.because("is no address")) from None
    if key and not secure and not own_address(host):
        raise Unreadable(url, Absence.NOT_ASKED.because("the key would go to another machine in clear"))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"GET {path} HTTP/1.0", f"Host: {parts.netloc.rpartition('@')[2]}", "Accept: text/plain",
             *([f"Authorization: Bearer {key}"] if key else [])]
    if any("\r" in line or "\n" in line for line in lines):
        raise Unreadable(url, Absence.FAILED.because("the address or the key holds a line break"))
    try:
        with socket.create_connection((host, port), timeout=_left(until)) as plain:
            door: socket.socket = plain
            if secure:
                door = (context or ssl.create_default_context()).wrap_socket(plain, server_hostname=host)
            with door:      # behind TLS another one than the plain
                door.settimeout(_left(until))
                door.sendall("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
                answer = _read(door, until, url)
    except TimeoutError:
        raise Unreadable(url, Absence.TIMED_OUT.because(f"timed out after {deadline:g} s")) from None
    except OSError as error:
        raise Unreadable(url, Absence.FAILED.because(error.strerror or type(error).__name__)) from None
    except ValueError:      # a host that no resolver takes
        raise Unreadable(url, Absence.FAILED.because("is no address")) from None
    head, _, body = answer.partition(b"\r\n\r\n")
    found, length = _STATUS.match(head), _LENGTH.search(head)
    if found is None:
        raise Unreadable(url, Absence.UNREADABLE.because("no HTTP answer"))
    if length is not None and len(body) < int(length[1]):
        raise Unreadable(url, Absence.INCOMPLETE.because("the answer ended too early"))
    return Page(int(found[1]), body.decode("utf-8", "replace"))


def own_address(host: str) -> bool:
    """Return whether what is sent there stays on this machine: loopback, or an address of this machine. A name other
    than localhost is none: nobody looks it up here. Nothing is sent."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if address.is_loopback:
        return True
    # The kernel sends from the very address only where it is its own; 9 is any port.
    with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_DGRAM) as door:
        try:
            door.connect((host, 9))
            return ipaddress.ip_address(door.getsockname()[0].partition("%")[0]) == address
        except (OSError, ValueError):
            return False


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _read(door: socket.socket, until: float, url: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        door.settimeout(_left(until))
        part = door.recv(1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > _MOST:
            raise Unreadable(url, Absence.UNREADABLE.because(f"more than {_MOST >> 20} MiB"))
