"""Who may hold a connection: counted before TLS, per address and in all, until a host has shown who it is.

asyncio's own server accepts whatever comes, and at the limit of open files it writes a traceback for every place in its
queue. Here a stranger's connection has a place among a bounded number of strangers. When those places are taken, the
one that has been a stranger longest has to go, first of the address that holds most: an honest box is a stranger for
some milliseconds, so it is never that one.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Any

from .limits import Limits, Pace

__all__ = ["Door", "Guest"]

LOG = logging.getLogger("tunecheck.ingest")
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
#: Accepted in one turn of the loop; seconds without accepting where there are no more files.
_TURN, _REST = 64, 0.2
#: The type of the record that a TLS client begins with (RFC 8446, 5.1).
_HANDSHAKE = b"\x16"
#: Addresses whose pace is remembered.
_ADDRESSES = 8192


class Guest:
    """One connection. ``known``: the host that it has shown itself to be."""

    def __init__(self, connection: socket.socket, address: str) -> None:
        self.connection, self.address = connection, address
        self.known, self.over = "", False
        self.task: asyncio.Task[Any] | None = None
        self.transport: asyncio.Transport | None = None

    def leave(self) -> None:
        """Now, without a farewell."""
        if self.transport is not None:
            self.transport.abort()
        elif self.task is not None:
            self.task.cancel()


class Door:
    """``listening``: the socket. ``make``: the protocol of a connection. ``one_proxy``: every connection comes from
    the proxy, so addresses tell nothing."""

    def __init__(self, listening: socket.socket, tls: ssl.SSLContext | None, limits: Limits, one_proxy: bool,
                 make: Callable[[Guest], asyncio.Protocol]) -> None:
        self._socket, self._tls, self._limits, self._one_proxy, self._make = listening, tls, limits, one_proxy, make
        self._loop = asyncio.get_running_loop()
        #: In the order in which they came.
        self._strangers: dict[Guest, None] = {}
        self._of: dict[str, dict[Guest, None]] = {}
        self._hosts: dict[str, dict[Guest, None]] = {}
        self._many = 0
        self._pace = Pace(limits.arrivals, 1 / limits.arrivals_each_second)
        self._newcomers = Pace(limits.newcomers, 1 / limits.newcomers_each_second)
        #: address -> when a host has last shown itself from there
        self._friends: dict[str, float] = {}
        self._again: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        listening.listen(limits.backlog)
        self._loop.add_reader(listening.fileno(), self._accept)

    def close(self) -> None:
        """Let nobody in any more."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
        for guest in list(self._strangers):
            if guest.transport is None:
                guest.leave()

    def known(self, guest: Guest, host: str) -> None:
        """It is no stranger any more. A host has so many connections; its oldest goes."""
        if guest.known or guest not in self._strangers:
            return
        self._not_strange(guest)
        guest.known = host
        if guest.address:
            self._friends.pop(guest.address, None)
            self._friends[guest.address] = self._loop.time()
            if len(self._friends) > _ADDRESSES:
                del self._friends[next(iter(self._friends))]
        own = self._hosts.setdefault(host, {})
        own[guest] = None
        if len(own) > self._limits.connections_of_a_host:
            next(iter(own)).leave()

    def disconnected(self, guest: Guest) -> None:
        """Its connection is closed; once."""
        if guest.over:
            return
        guest.over = True
        self._many -= 1
        self._not_strange(guest)
        own = self._hosts.get(guest.known)
        if own is not None:
            own.pop(guest, None)
            if not own:
                del self._hosts[guest.known]

    def _not_strange(self, guest: Guest) -> None:
        if self._strangers.pop(guest, self) is self:
            return
        own = self._of[guest.address]
        del own[guest]
        if not own:
            del self._of[guest.address]

    def _accept(self) -> None:
        for _ in range(_TURN):
            try:
                connection, peer = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _FULL:
                    self._rest(error)
                return
            address = "" if self._one_proxy else _address(peer[0])
            self._pace.forget(_ADDRESSES)
            if (address and self._too_many(address)) or self._many >= self._limits.connections:
                connection.close()
                if self._many >= self._limits.connections:
                    self._make_room()
                continue
            self._enter(Guest(connection, address))

    def _too_many(self, address: str) -> bool:
        """A handshake costs processor time that hosts need: addresses from which no host has come share one measure."""
        if not self._is_friend(address) and self._newcomers.wait(""):
            return True
        return bool(self._pace.wait(address))

    def _is_friend(self, address: str) -> bool:
        return self._loop.time() - self._friends.get(address, float("-inf")) < self._limits.friend

    def _enter(self, guest: Guest) -> None:
        own = self._of.get(guest.address, {})
        if guest.address and len(own) >= self._limits.strangers_of_an_address:
            next(iter(own)).leave()
        elif len(self._strangers) >= self._limits.strangers:
            self._make_room()
        self._strangers[guest] = None
        self._of.setdefault(guest.address, {})[guest] = None
        self._many += 1
        guest.connection.setblocking(False)
        guest.task = self._loop.create_task(self._served(guest))

    def _make_room(self) -> None:
        """The longest stranger of the address that has most goes; one from which hosts come last."""
        if self._of:
            address = max(self._of, key=lambda each: (not self._is_friend(each), len(self._of[each])))
            next(iter(self._of[address])).leave()

    async def _served(self, guest: Guest) -> None:
        def protocol() -> asyncio.Protocol:
            return self._make(guest)

        try:
            # asyncio sets 256 KiB aside for every connection with TLS: not for one that never says a word.
            async with asyncio.timeout(self._limits.handshake):
                first = await self._first_byte(guest.connection)
            if not first or (self._tls is not None and first != _HANDSHAKE):
                raise ConnectionAbortedError
            if self._tls is None:
                await self._loop.connect_accepted_socket(protocol, guest.connection)
            else:
                await self._loop.connect_accepted_socket(protocol, guest.connection, ssl=self._tls,
                                                         ssl_handshake_timeout=self._limits.handshake,
                                                         ssl_shutdown_timeout=1.0)
        except (OSError, ssl.SSLError, asyncio.CancelledError, TimeoutError):
            guest.connection.close()
        if guest.transport is None:     # else the protocol tells when it is over
            self.disconnected(guest)

    async def _first_byte(self, connection: socket.socket) -> bytes:
        """It stays in the socket."""
        came: asyncio.Future[None] = self._loop.create_future()

        def readable() -> None:
            if not came.done():
                came.set_result(None)

        self._loop.add_reader(connection.fileno(), readable)
        try:
            await came
        finally:
            self._loop.remove_reader(connection.fileno())
        return connection.recv(1, socket.MSG_PEEK)

    def _rest(self, error: OSError) -> None:
        """No file is left: the longest strangers go, and nobody comes in for a moment."""
        for _ in range(8):
            self._make_room()
        LOG.warning("no connection can be taken (%s); raise LimitNOFILE of the unit", error.strerror)
        self._loop.remove_reader(self._socket.fileno())
        self._again = self._loop.call_later(_REST, self._on)

    def _on(self) -> None:
        self._again = None
        self._loop.add_reader(self._socket.fileno(), self._accept)


def _address(text: str) -> str:
    """A whole network of IPv6 is one address: nobody has less than a /64."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if found.version == 4:
        return text
    mapped = found.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
