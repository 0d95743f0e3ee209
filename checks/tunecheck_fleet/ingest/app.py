"""The ASGI application: POST /v1/snapshot takes one snapshot of one host, GET /healthz says that it is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tunecheck.errors import UsageError

from .body import arrived, unpacked
from .inbox import CHECKERS, Inbox
from .limits import Limits, Pace, Refusal, Why
from .tokens import Tokens

__all__ = ["KNOWN", "LOG", "PEER", "make_app"]

LOG = logging.getLogger("tunecheck.ingest")
#: Where the scope has the names of a client certificate that TLS has checked, and a function that is told which host
#: this is (see serve.py).
PEER, KNOWN = "tunecheck.peer", "tunecheck.known"


def make_app(inbox: Inbox, tokens: Tokens, limits: Limits | None = None) -> Starlette:
    """So many bodies are held unpacked at a time as there are children to check them (inbox.CHECKERS)."""
    app = _App(inbox, tokens, limits or Limits())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(app.thread.shutdown)

    return Starlette(
        routes=[Route("/v1/snapshot", app.snapshot, methods=["POST"]), Route("/healthz", app.health, methods=["GET"])],
        exception_handlers={HTTPException: _http_error}, lifespan=lifespan)


class _App:
    def __init__(self, inbox: Inbox, tokens: Tokens, limits: Limits) -> None:
        self.inbox, self.tokens, self.limits = inbox, tokens, limits
        self.thread = ThreadPoolExecutor(CHECKERS, "inbox")
        self.pace = Pace(limits.burst, limits.every)
        self.open: Counter[str] = Counter()
        self.queued = 0

    async def health(self, request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def snapshot(self, request: Request) -> JSONResponse:
        """Never raises; one line of the log per request."""
        begun, host, size, more = time.monotonic(), "-", 0, {}
        try:
            host = self._who(request)
            if host_is := request.scope.get(KNOWN):
                host_is(host)
            size, fresh = await self._one(request, host)
            why, sentence = (Why.KEPT, "kept") if fresh else (Why.KEPT_BEFORE, "kept before")
            status, after = 200, None
            more = {"nonce": self.inbox.nonce(host)}
        except Refusal as refusal:
            status, why, sentence, after = refusal.status, refusal.why, refusal.sentence, refusal.after
            more = {"damage": refusal.damage} if refusal.damage else {}
        except ClientDisconnect:
            status, why, sentence, after = 400, Why.CUT_SHORT, "the body was cut short", None
        except Exception:
            LOG.exception("%s 500", host)
            status, why, sentence, after = 500, Why.FAILED, "the receiver failed; its log says why", None
        # Not the sentence: it may quote what the host sent.
        LOG.info("%s %d %d B %.0f ms", host, status, size, (time.monotonic() - begun) * 1e3,
                 extra={"known": host != "-"})
        return _answer(status, why, sentence, after, more)

    def _who(self, request: Request) -> str:
        """The host, by its certificate, its token, or both. Refusal for nobody."""
        try:
            known = self.tokens.hosts()
        except UsageError as error:
            LOG.error("%s", error)
            raise Refusal(503, Why.NO_HOSTS, "the receiver cannot read its list of hosts; try again later", 60
                          ) from None
        names: tuple[str, ...] = request.scope.get(PEER, ())
        by_certificate = next((name for name in names if name in known), None)
        if names and by_certificate is None:
            raise Refusal(403, Why.NO_SUCH_HOST,
                          "the certificate names no host that is known here (tunecheck ingest token HOST)")
        given = request.headers.get("authorization")
        if given is None and by_certificate is not None:
            return by_certificate
        kind, _, token = (given or "").partition(" ")
        by_token = self.tokens.host_of(token.strip()) if kind.lower() == "bearer" else None
        if by_token is None:
            raise Refusal(401, Why.NO_TOKEN, "no such token; expected Authorization: Bearer with the one that "
                                             "tunecheck ingest token HOST has made")
        if by_certificate is not None and by_certificate != by_token:
            raise Refusal(403, Why.TWO_HOSTS, "the certificate and the token are of two hosts")
        return by_token

    async def _one(self, request: Request, host: str) -> tuple[int, bool]:
        """(bytes as sent, whether it is new)."""
        if seconds := self.pace.wait(host):
            raise Refusal(429, Why.TOO_OFTEN, "this host pushes too often", seconds)
        if self.open[host] >= self.limits.together or self.queued >= self.limits.queue:
            raise Refusal(429 if self.queued < self.limits.queue else 503, Why.TOO_MANY, "too many at once", 5.0)
        self.open[host] += 1
        self.queued += 1
        try:
            content = await arrived(request.stream(), request.headers.get("content-length"), self.limits)
            encoding = request.headers.get("content-encoding", "")
            work = asyncio.get_running_loop().run_in_executor(self.thread, self._keep, host, content, encoding)
            return len(content), await work
        finally:
            self.queued -= 1
            self.open[host] -= 1
            if not self.open[host]:
                del self.open[host]

    def _keep(self, host: str, content: bytes, encoding: str) -> bool:
        try:
            return self.inbox.take(host, unpacked(content, encoding, self.limits))
        except Refusal as refusal:
            if refusal.costly:
                self.pace.bar(host, self.limits.penalty)
            raise


def _answer(status: int, why: Why, sentence: str, after: float | None = None, more: dict[str, str] | None = None
            ) -> JSONResponse:
    headers = {"Cache-Control": "no-store"}
    if after is not None:
        headers["Retry-After"] = str(max(1, round(after + 0.5)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"code": why.value, "result" if status == 200 else "error": sentence, **(more or {})}
    return JSONResponse(body, status, headers)


async def _http_error(_: Request, error: Any) -> JSONResponse:
    meanings = {404: (Why.NO_PAGE, "no such page; expected /v1/snapshot or /healthz"),
                405: (Why.METHOD, "expected POST /v1/snapshot or GET /healthz")}
    return _answer(error.status_code, *meanings.get(error.status_code, (Why.REQUEST, "not a usable request")))
