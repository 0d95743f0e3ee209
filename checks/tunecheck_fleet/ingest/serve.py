"""`tunecheck ingest` as a process: uvicorn over TLS, or on loopback behind something that ends TLS."""

from __future__ import annotations

import ipaddress
import logging
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunecheck.errors import Misuse, UsageError

from .app import KNOWN, PEER, make_app
from .calm import Calm
from .door import Door, Guest
from .inbox import Inbox
from .limits import Limits
from .tokens import Tokens
from .writer import Writer

if TYPE_CHECKING:
    import asyncio

    from ..store import Store

__all__ = ["Listen", "serve"]

LOG = logging.getLogger("tunecheck.ingest")
#: Seconds that requests in progress get after SIGTERM; all of it is over within 5 s.
_GRACE = 2
#: Files that are no connection.
_OWN_FILES = 96


@dataclass(frozen=True)
class Listen:
    """``client_ca``: certificates of clients are asked for, and have to be signed by it."""

    host: str
    port: int
    cert: str | None = None
    key: str | None = None
    client_ca: str | None = None
    behind_proxy: bool = False


def serve(listen: Listen, state: Path, tokens: Tokens, store: str | None, window: float, limits: Limits,
          announce: Callable[[str], None], inventory: str | None = None,
          then: Callable[[Store, int], None] | None = None) -> None:
    """Until SIGTERM (returns) or Ctrl-C (KeyboardInterrupt). ``announce`` gets the address; ``inventory`` declares
    by which spec each host is judged; ``then``: as in Writer. UsageError: it cannot."""
    _check(listen)
    tls = _tls(listen)
    tokens.hosts()
    limits = _within_files(limits)
    door = _bound(listen, limits)
    inbox = None
    try:
        inbox = Inbox(state, limits)
        writer = Writer(inbox, tokens, store, window, inventory=inventory, then=then)
        writer.specs()      # what is wrong with the inventory is said at the start
        _log()
        server = _server(inbox, tokens, limits, tls, listen.behind_proxy)
        port = door.getsockname()[1]
        name = f"[{listen.host}]" if ":" in listen.host else listen.host
        announce(f"{'https' if tls else 'http'}://{name}:{port}/v1/snapshot")
        # For the time before uvicorn listens to it, and after: it raises the signal again once it has ended.
        before = signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
        writer.start()
        try:
            server.run(sockets=[door])
        finally:
            writer.stop()
            signal.signal(signal.SIGTERM, before)
    finally:
        door.close()
        if inbox is not None:
            inbox.close()


def _server(inbox: Inbox, tokens: Tokens, limits: Limits, tls: ssl.SSLContext | None, one_proxy: bool) -> Any:
    import asyncio

    import uvicorn

    class Server(uvicorn.Server):
        """Whose connections come through our own door."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=[])
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(_unhandled)
            kind = self.config.http_protocol_class

            def make(guest: Guest) -> asyncio.Protocol:
                found: asyncio.Protocol = kind(config=self.config, server_state=self.server_state,  # type: ignore
                                               app_state=self.lifespan.state, guest=guest, door=self.door)
                return found

            assert sockets
            self.door = Door(sockets[0], tls, limits, one_proxy, make)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            self.door.close()
            inbox.hurry(_GRACE)
            await super().shutdown(sockets=sockets)

    return Server(uvicorn.Config(
        make_app(inbox, tokens, limits), http=_protocol(limits), ws="none", loop="asyncio", lifespan="on",
        # A line of our own per request: uvicorn's has the query, where somebody may put a token.
        access_log=False, log_config=None, proxy_headers=False, server_header=False, timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE))


def _unhandled(_: Any, context: dict[str, Any]) -> None:
    """What asyncio would write with a traceback, for every connection that ends in a way of its own."""
    error = context.get("exception")
    LOG.warning("%s%s", context.get("message", "error"), f" ({type(error).__name__}: {error})"[:200] if error else "")


def _within_files(limits: Limits) -> Limits:
    """As many open files as the unit allows; connections leave some of them to the store, the inbox and children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + _OWN_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = max(16, min(limits.connections, soft - _OWN_FILES))
    return replace(limits, connections=most, strangers=max(8, min(limits.strangers, most // 2)))


def _check(listen: Listen) -> None:
    try:
        loopback = ipaddress.ip_address(listen.host).is_loopback
    except ValueError:
        raise UsageError(f"--bind {listen.host}: expected an address such as 127.0.0.1:8733 or [::]:8733",
                         Misuse.MALFORMED) from None
    if bool(listen.cert) != bool(listen.key):
        raise UsageError("--cert and --key belong together: the certificate's chain and its private key, both PEM",
                         Misuse.LEFT_OUT)
    if listen.client_ca and not listen.cert:
        raise UsageError("--client-ca needs --cert and --key: certificates of clients are a part of TLS",
                         Misuse.LEFT_OUT)
    if not loopback and not listen.cert and not listen.behind_proxy:
        raise UsageError(f"--bind {listen.host}: tokens would cross the network in the clear; give --cert and --key, "
                         "or --behind-proxy where something in front of it ends TLS", Misuse.NOT_ENCRYPTED)


def _tls(listen: Listen) -> ssl.SSLContext | None:
    if listen.cert is None or listen.key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    what = "--cert"
    try:
        context.load_cert_chain(listen.cert, listen.key, password="")
        if listen.client_ca:
            what = "--client-ca"
            context.load_verify_locations(listen.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        raise UsageError(f"{what}: not usable ({getattr(error, 'strerror', None) or error}); expected PEM files, the "
                         "key without a passphrase and of that certificate", Misuse.UNREADABLE) from None
    return context


def _bound(listen: Listen, limits: Limits) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family, backlog=limits.backlog)
    except OSError as error:
        raise UsageError(f"--bind {listen.host}:{listen.port}: not possible ({error.strerror})",
                         Misuse.IN_USE) from None


def _log() -> None:
    """One line each on standard error, at a bounded rate: the journal adds the time."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    handler.addFilter(Calm())
    for name, level in (("tunecheck.ingest", logging.INFO), ("uvicorn.error", logging.WARNING),
                        ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _protocol(limits: Limits) -> Any:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """What uvicorn lacks: the client certificate's names for the application, a way to say who it is, and an end
        for who dawdles over a head, be it the first or the tenth."""

        def __init__(self, *given: Any, guest: Guest, door: Door, **more: Any) -> None:
            super().__init__(*given, **more)
            self._guest, self._door = guest, door
            self._head: asyncio.TimerHandle | None = None
            self._life: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._guest.transport = transport
            names, application = _names(transport.get_extra_info("peercert")), self.app

            async def named(scope: Any, receive: Any, send: Any) -> None:
                scope[PEER] = names
                scope[KNOWN] = lambda host: self._door.known(self._guest, host)
                await application(scope, receive, send)

            self.app = named
            self._life = self.loop.call_later(limits.life, transport.abort)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def _watch(self) -> None:
            """A head is waited for, with one deadline however slowly it comes; or it is here."""
            waits = self.cycle is None or self.cycle.response_complete
            if waits and self._head is None:
                self._head = self.loop.call_later(limits.head, self.transport.abort)
            elif not waits and self._head is not None:
                self._head.cancel()
                self._head = None

        def connection_lost(self, exc: Exception | None) -> None:
            for each in (self._head, self._life):
                if each is not None:
                    each.cancel()
            self._door.disconnected(self._guest)
            super().connection_lost(exc)

    return Protocol


def _names(certificate: dict[str, Any] | None) -> tuple[str, ...]:
    """Its DNS names, else its common names."""
    if not certificate:
        return ()
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    return tuple(names or [value for part in certificate.get("subject", ()) for kind, value in part
                           if kind == "commonName"])
