"""One HTTP exchange under one deadline, with bounded memory. The only file that imports httpx.

A timeout of the HTTP library begins again with every byte: heads that drip in, repeated "100 Continue" and bodies
without an end outlived each of them (measured). So a guard of our own watches every exchange from before it connects,
and shuts the socket when the time is up."""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from ..errors import Misuse, UsageError

__all__ = ["Deadlines", "Exchange", "ExchangeError", "HttpClient"]

_POLL = 0.2
#: No head, error text or small document of an honest server is larger.
_MOST_ERROR, MOST_DOCUMENT = 64 << 10, 4 << 20
#: Text that is not empty, and text that is more than white space, in one line of a stream. Only for deadlines: what
#: was delivered is parsed afterwards.
_KEY = rb'"(?:content|text|reasoning_content|reasoning|thinking)"\s*:\s*"'
_NOT_EMPTY = re.compile(_KEY + rb'[^"]')
_TEXT = re.compile(_KEY + rb'(?:\s|\\[nrtf])*(?:[^"\\\s]|\\[^nrtf])')


class ExchangeError(Exception):
    """There was no answer, or not all of it. ``late``: a deadline passed."""

    def __init__(self, text: str, late: bool = False) -> None:
        super().__init__(text)
        self.late = late


@dataclass(frozen=True)
class Deadlines:
    """Deadlines in seconds: to connect, from the request to the first text, between two arrivals of text, for one whole
    request with everything that is asked again for it."""

    connect: float = 10.0
    first: float = 300.0
    between: float = 60.0
    whole: float = 1800.0


class HttpClient:
    """A connection to one server. ``headers``: what every request carries; ``secure``: over TLS; ``ca``: a file of
    certificates to trust."""

    def __init__(self, deadlines: Deadlines, headers: Mapping[str, str], secure: bool, ca: str | None = None) -> None:
        self.deadlines = deadlines
        # What arrives is timed as it arrives: nothing is asked to be packed.
        wanted = {"Accept-Encoding": "identity", **headers}
        # A proxy of the environment would be measured, not the server. Each exchange has a connection of its own: its
        # socket is what the guard shuts.
        self._http = httpx.Client(headers=wanted, trust_env=False, follow_redirects=False,
                                  # Reading all certificates takes longer than a request; plain HTTP needs none.
                                  verify=_trusted(ca) if secure else False,
                                  limits=httpx.Limits(max_connections=None, max_keepalive_connections=0))

    def close(self) -> None:
        self._http.close()

    @contextmanager
    def open(self, method: str, url: str, limits: Deadlines, body: Any = None) -> Iterator[Exchange]:
        """Send a request, and give the exchange once the head of the answer is there. ExchangeError where it does not
        come."""
        guard = _Guard(limits)
        timeout = httpx.Timeout(limits.whole, connect=min(limits.connect, limits.whole))
        try:
            request = self._http.build_request(method, url, json=body, timeout=timeout,
                                               extensions={"trace": guard.trace, "timeout": timeout.as_dict()})
            # Neither the making of the request nor that of a thread is the server's time.
            guard.start()
            response = self._http.send(request, stream=True)
            try:
                yield Exchange(response, guard)
            finally:
                guard.stop()
                response.close()
        except httpx.InvalidURL as wrong:
            raise UsageError(f"{url}: not an address ({wrong}); expected http://host:port", Misuse.MALFORMED) from None
        except (httpx.HTTPError, OSError, zlib.error) as error:
            if guard.expired:
                raise ExchangeError(guard.expired, True) from None
            if isinstance(error, httpx.ConnectTimeout):
                raise ExchangeError(f"no answer within {limits.connect:g} s", True) from None
            if isinstance(error, httpx.TimeoutException):
                raise ExchangeError(f"no answer within {round(limits.whole, 1):g} s", True) from None
            raise ExchangeError(str(error) or type(error).__name__) from None
        finally:
            guard.stop()

    def small(self, method: str, url: str, seconds: float, body: Any = None) -> tuple[int, str]:
        """Return status and text of a small document. ExchangeError where there is none, or where it has no end."""
        seconds = min(seconds, self.deadlines.whole)
        limits = Deadlines(min(seconds, self.deadlines.connect), seconds, seconds, seconds)
        with self.open(method, url, limits, body) as answer:
            content, whole = answer.most(MOST_DOCUMENT)
        if not whole:
            raise ExchangeError(f"its answer is larger than {MOST_DOCUMENT >> 20} MiB")
        return answer.status, content.decode("utf-8", "replace")


class Exchange:
    """An answer whose head has arrived. ``begun``: when the request's head was sent, as time.monotonic() says: neither
    the connection nor TLS is the model's time, and guidellm's clients keep theirs."""

    def __init__(self, response: httpx.Response, guard: _Guard) -> None:
        self._response, self._guard = response, guard
        self.begun = guard.sent or guard.begun
        self.status = response.status_code
        self.media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        self.packed = response.headers.get("Content-Encoding", "").strip().lower()

    def header(self, name: str) -> str:
        return str(self._response.headers.get(name, ""))

    @property
    def late(self) -> str:
        """Which deadline passed, "" for none."""
        return self._guard.expired

    def note_arrival(self, line: bytes) -> None:
        """Note that bytes of a stream arrived. Text among them moves the deadlines of the first text and of the
        gaps."""
        if _TEXT.search(line):
            self._guard.note_text(True)
        elif _NOT_EMPTY.search(line):
            self._guard.note_text(False)

    def content(self, limit: int) -> Iterator[bytes]:
        """Yield what arrives, unpacked, at most ``limit`` bytes and one read more. ExchangeError for a packing that is
        neither asked for nor gzip or deflate."""
        if self.packed in ("", "identity"):
            size = 0
            for part in self._response.iter_raw():
                yield part
                size += len(part)
                if size > limit:
                    return
        elif self.packed in ("gzip", "x-gzip", "deflate"):
            yield from self._unpacked(limit)
        else:
            raise ExchangeError(f"it is packed as {self.packed[:30]}, although identity was asked for")

    def _unpacked(self, limit: int) -> Iterator[bytes]:
        packer, size = zlib.decompressobj(47), 0
        for part in self._response.iter_raw():
            while part:
                # Bounded: a kilobyte may hold a megabyte.
                found = packer.decompress(part, 1 << 16)
                part = packer.unconsumed_tail
                size += len(found)
                if found:
                    yield found
                if size > limit:
                    return

    def most(self, limit: int) -> tuple[bytes, bool]:
        """Return at most ``limit`` bytes of the body, and whether that is all of it."""
        held = bytearray()
        for part in self.content(limit):
            held += part
            if len(held) > limit:
                return bytes(held[:limit]), False
        return bytes(held), True

    def error_text(self) -> str:
        return self.most(_MOST_ERROR)[0][:400].decode("utf-8", "replace")


class _Guard:
    """Ends an exchange that is late, from before it connects to its last byte."""

    def __init__(self, limits: Deadlines) -> None:
        self.begun = self._last = time.monotonic()
        self.expired = ""
        self.sent = 0.0
        self._limits, self._text = limits, False
        self._socket: socket.socket | None = None
        self._lock, self._done = threading.Lock(), threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()
        self.begun = self._last = time.monotonic()

    def trace(self, name: str, details: Mapping[str, Any]) -> None:
        """Take the socket as soon as it is connected, before TLS and before the head. httpcore calls this with its
        trace events. The socket is copied, since TLS takes the first one away."""
        if name == "http11.send_request_headers.started":
            self.sent = time.monotonic()
        if name != "connection.connect_tcp.complete":
            return
        held = details["return_value"].get_extra_info("socket")
        with self._lock:
            if held is not None and not self._done.is_set():
                self._socket = socket.socket(fileno=os.dup(held.fileno()))
        if self.expired:
            self._shut()

    def note_text(self, visible: bool) -> None:
        self._last = time.monotonic()
        self._text = self._text or visible

    def stop(self) -> None:
        self._done.set()
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def _watch(self) -> None:
        while not self._done.wait(_POLL):
            self.expired = self._late(time.monotonic())
            if self.expired:
                self._shut()
                return

    def _shut(self) -> None:
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):     # wakes the reader up; closing would not
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _late(self, now: float) -> str:
        limits = self._limits
        if now - self.begun > limits.whole:
            return f"not at its end after {round(limits.whole, 1):g} s"
        if not self._text:
            return f"no text within {limits.first:g} s" if now - self.begun > limits.first else ""
        return f"nothing more came for {limits.between:g} s" if now - self._last > limits.between else ""


def _trusted(ca: str | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca {ca}: cannot be read ({getattr(error, 'strerror', None) or error}); expected a file of "
                         "certificates in PEM", Misuse.UNREADABLE) from None
