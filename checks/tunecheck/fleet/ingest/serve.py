"""`tunecheck ingest` as a process: uvicorn over TLS, or on loopback behind something that ends TLS."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .app import PEER, make_app
from .inbox import Inbox
from .limits import Limits
from .tokens import Tokens
from .writer import Writer

if TYPE_CHECKING:
    import asyncio

    from ..store import Store

__all__ = ["Listen", "serve"]

_CONNECTIONS, _BACKLOG = 512, 1024
#: Seconds that requests in progress get after SIGTERM.
_GRACE = 10


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
          said: Callable[[str], None], then: Callable[[Store, int], None] | None = None) -> None:
    """Until SIGTERM (returns) or Ctrl-C (KeyboardInterrupt). ``said`` gets the address. ``then``: as in Writer.
    UsageError: it cannot."""
    import uvicorn

    _check(listen)
    tls = _tls(listen)
    tokens.hosts()
    door = _bound(listen)
    inbox = None
    try:
        inbox = Inbox(state, limits)
        writer = Writer(inbox, tokens, store, window, then=then)
        config = uvicorn.Config(
            make_app(inbox, tokens, limits), http=_protocol(limits), ws="none", loop="asyncio", lifespan="on",
            # A line of our own per request: uvicorn's has the query, where somebody may put a token.
            access_log=False, log_config=None, proxy_headers=False, server_header=False,
            limit_concurrency=_CONNECTIONS, backlog=_BACKLOG, timeout_keep_alive=5,
            timeout_graceful_shutdown=_GRACE, ssl_context_factory=(lambda *_: tls) if tls else None)
        _log()
        port = door.getsockname()[1]
        name = f"[{listen.host}]" if ":" in listen.host else listen.host
        said(f"{'https' if tls else 'http'}://{name}:{port}/v1/snapshot")
        server = uvicorn.Server(config)
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


def _check(listen: Listen) -> None:
    try:
        loopback = ipaddress.ip_address(listen.host).is_loopback
    except ValueError:
        raise UsageError(f"--bind {listen.host}: expected an address such as 127.0.0.1:8733 or [::]:8733") from None
    if bool(listen.cert) != bool(listen.key):
        raise UsageError("--cert and --key belong together: the certificate's chain and its private key, both PEM")
    if listen.client_ca and not listen.cert:
        raise UsageError("--client-ca needs --cert and --key: certificates of clients are a part of TLS")
    if not loopback and not listen.cert and not listen.behind_proxy:
        raise UsageError(f"--bind {listen.host}: tokens would cross the network in the clear; give --cert and --key, "
                         "or --behind-proxy where something in front of it ends TLS")


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
                         "key without a passphrase and of that certificate") from None
    return context


def _bound(listen: Listen) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(f"--bind {listen.host}:{listen.port}: not possible ({error.strerror})") from None


def _log() -> None:
    """One line each on standard error: the journal adds the time."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    for name, level in (("tunecheck.ingest", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _protocol(limits: Limits) -> Any:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """What uvicorn lacks: the client certificate's names for the application, and an end for who dawdles."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if names := _names(transport.get_extra_info("peercert")):
                application = self.app

                async def named(scope: Any, receive: Any, send: Any) -> None:
                    scope[PEER] = names
                    await application(scope, receive, send)

                self.app = named
            self._ends = [self.loop.call_later(limits.head, self._headless),
                          self.loop.call_later(limits.life, transport.abort)]

        def _headless(self) -> None:
            if self.cycle is None:
                self.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            for each in self._ends:
                each.cancel()
            super().connection_lost(exc)

    return Protocol


def _names(certificate: dict[str, Any] | None) -> tuple[str, ...]:
    """Its DNS names, else its common names."""
    if not certificate:
        return ()
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    return tuple(names or [value for part in certificate.get("subject", ()) for kind, value in part
                           if kind == "commonName"])
