"""A streaming client for OpenAI-compatible servers. Notes what arrives and when, and parses it afterwards: at 5000
events a second nothing else may be done in between. The only file that imports httpx."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from ..errors import ProbeError, UsageError
from . import interrupt
from .measured import Run
from .sse import ended, run_of

__all__ = ["Client", "Deadlines", "NotReadyError"]

#: No honest answer is longer.
_MOST_BYTES = 64 << 20
_POLL = 0.25
#: What a strict server may not know, the most wanted last (transformers answers 422 to ignore_eos). A request that
#: fails even without them failed for another reason, and nothing is left out of the next.
_OPTIONAL = ("logprobs", "ignore_eos", "continuous_usage_stats", "stream_options")
#: What no server that is only starting answers.
_ELSEWHERE = (404, 405, 410)
#: getaddrinfo's words: Errno -2, -3 and -5 (glibc).
_NO_NAME = re.compile(r"Name or service not known|name resolution|No address associated")
_CHECK = "check --base"


class NotReadyError(ProbeError):
    """Nothing answers yet; waiting may help."""


@dataclass(frozen=True)
class Deadlines:
    """Seconds: to connect, from the request to the first text, between two arrivals, for one whole request."""

    connect: float = 10.0
    first: float = 300.0
    between: float = 60.0
    whole: float = 1800.0


class Client:
    """One server and one model on it. ``base``: http://host:port, with or without /v1; ``api``: chat or completions;
    ``key``: sent as a bearer token, and taken out of whatever is reported."""

    def __init__(self, base: str, model: str = "", key: str = "", api: str = "chat",
                 deadlines: Deadlines | None = None) -> None:
        self.root = base.rstrip("/").removesuffix("/v1")
        self.model, self.api, self._key = model, api, key
        self.deadlines = deadlines or Deadlines()
        self._refused: set[str] = set()
        # What arrives is timed as it arrives: nothing may be packed.
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
        limit = self.deadlines
        # A proxy of the environment would be measured, not the server.
        self._http = httpx.Client(headers=headers, trust_env=False, limits=httpx.Limits(max_connections=None),
                                  timeout=httpx.Timeout(limit.connect, read=min(limit.first, limit.whole)))

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, seconds: float = 10.0) -> tuple[int, str]:
        """Status and text of a small document; (0, reason) where there was no answer."""
        try:
            answer = self._http.get(self.root + path, timeout=httpx.Timeout(seconds))
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return 0, self._safe(error)
        return answer.status_code, answer.text[:4 << 20]

    def document(self, path: str) -> dict[str, Any]:
        """The same as JSON; {} where there is none."""
        status, text = self.get(path)
        try:
            found = json.loads(text) if status == 200 else {}
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def models(self) -> list[dict[str, Any]]:
        """What the server serves, at least one model, each with its id. ProbeError where nothing answers or what
        answers is no OpenAI-compatible server, UsageError where the key is refused."""
        status, text = self.get("/v1/models")
        if status in (401, 403):
            raise UsageError(self._no_entry(status))
        place = f"{self.root}/v1/models"
        if status in _ELSEWHERE or _NO_NAME.search(text if not status else ""):
            raise ProbeError(f"{place}: {f'HTTP {status}' if status else text}; expected an OpenAI-compatible server; "
                             f"{_CHECK}")
        if status != 200:
            raise NotReadyError(f"{place}: {f'HTTP {status}' if status else text}; expected a server that is ready")
        try:
            listed = json.loads(text)["data"]
            named = [each for each in listed if isinstance(each, dict) and each.get("id")]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise ProbeError(f"{place}: no list of models; this is no OpenAI-compatible server; {_CHECK}") from None
        if not named:
            raise NotReadyError(f"{place}: lists no model; expected an OpenAI-compatible server with at least one")
        return named

    def ask(self, kind: str, text: str, tokens: int, **more: Any) -> Run:
        """One greedy streaming request to its end. ``more``: further keys of the request. An answer that breaks off is
        a Run with ``broken``; UsageError where the key is refused."""
        first, status = self._stream(kind, tokens, self._body(text, tokens, more, self._refused))
        if status in (401, 403):
            raise UsageError(self._no_entry(status))
        if status not in (400, 422):
            return first
        for without in _fewer([each for each in _OPTIONAL if each not in self._refused
                               and (each in more or each not in ("logprobs", "ignore_eos"))]):
            run, status = self._stream(kind, tokens, self._body(text, tokens, more, self._refused | without))
            if status == 200:
                self._refused |= without
                return run
        return first

    def _body(self, text: str, tokens: int, more: Mapping[str, Any], refused: set[str]) -> dict[str, Any]:
        asked = ({"messages": [{"role": "user", "content": text}]} if self.api == "chat"
                 else {"prompt": f"{text}\n\nAnswer: "})
        usage = {key: True for key in ("include_usage", "continuous_usage_stats") if key not in refused}
        body = {"model": self.model, **asked, "max_tokens": tokens, "temperature": 0, "stream": True,
                "stream_options": usage, **more}
        return {key: value for key, value in body.items() if key not in refused}

    def _stream(self, kind: str, tokens: int, body: Mapping[str, Any]) -> tuple[Run, int]:
        interrupt.check()
        path = "/v1/chat/completions" if self.api == "chat" else "/v1/completions"
        request = self._http.build_request("POST", self.root + path, json=body)
        arrivals: list[tuple[float, bytes]] = []
        watch: _Watch | None = None
        error, broken, media, status = "", "", "", 0
        begun = time.monotonic()
        try:
            response = self._http.send(request, stream=True)
            try:
                status = response.status_code
                media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
                if status != 200:
                    response.read()
                    return Run(kind, tokens, error=f"HTTP {status}: {self._safe(response.text[:300])}",
                               broken="status"), status
                watch = _Watch(self.deadlines, begun, response)
                size, tail = 0, b""
                for content in response.iter_raw():
                    interrupt.check()
                    arrivals.append((time.monotonic() - begun, content))
                    if b"data:" in content:
                        watch.heard()
                    size, tail = size + len(content), (tail + content)[-32:]
                    if ended(tail) or size > _MOST_BYTES:
                        break
            finally:
                if watch:
                    watch.stop()
                response.close()
        except httpx.TimeoutException as late:
            error, broken = f"no answer within {self._waited(late)}", "deadline"
        except (httpx.HTTPError, OSError) as cut:
            error, broken = f"the stream broke off: {self._safe(cut)}", "stream"
        except httpx.InvalidURL as wrong:
            raise UsageError(f"{self.root}: not an address ({self._safe(wrong)}); expected http://host:port") from None
        if watch and watch.expired:
            error, broken = watch.expired, "deadline"
        if media not in ("", "text/event-stream") and not (broken or any(b"data:" in each for _, each in arrivals)):
            error, broken = f"the server does not stream: it answered stream: true with {media[:60]}", "stream"
        return run_of(kind, tokens, arrivals, error, broken), status

    def _waited(self, late: httpx.TimeoutException) -> str:
        seconds = self.deadlines.connect if isinstance(late, httpx.ConnectTimeout) else self.deadlines.first
        return f"{seconds:g} s"

    def _no_entry(self, status: int) -> str:
        state = "refuses the API key" if self._key else "asks for an API key"
        return (f"{self.root} {state} (HTTP {status}); expected a key that it knows; give --api-key-file FILE or set "
                "TUNECHECK_API_KEY")

    def _safe(self, said: object) -> str:
        text = str(said) or type(said).__name__
        return " ".join((text.replace(self._key, "***") if self._key else text).split())[:300]


def _fewer(options: list[str]) -> list[set[str]]:
    """Each alone, then more and more of them."""
    return [*({each} for each in options), *(set(options[:count]) for count in range(2, len(options) + 1))]


class _Watch:
    """Ends a stream that is late. httpx's own timeout restarts with every byte, so with every ping of a server whose
    engine is dead; and it is one for the first token and for the gaps."""

    def __init__(self, deadlines: Deadlines, begun: float, response: httpx.Response) -> None:
        self.expired = ""
        self._limits, self._begun, self._last = deadlines, begun, begun
        self._events = 0
        self._socket = response.extensions["network_stream"].get_extra_info("socket")
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def heard(self) -> None:
        self._last = time.monotonic()
        self._events += 1

    def stop(self) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(_POLL):
            self.expired = self._late(time.monotonic())
            if self.expired:
                with suppress(OSError):     # wakes the reader up; closing would not
                    self._socket.shutdown(socket.SHUT_RDWR)
                return

    def _late(self, now: float) -> str:
        limits = self._limits
        if now - self._begun > limits.whole:
            return f"not at its end after {limits.whole:g} s"
        # The first event may hold only a role.
        if self._events < 2:
            return f"no text within {limits.first:g} s" if now - self._begun > limits.first else ""
        if now - self._last > limits.between:
            return f"nothing more came for {limits.between:g} s"
        return ""
