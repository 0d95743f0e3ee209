"""A streaming client for OpenAI-compatible servers. Notes what arrives and when, and parses it afterwards: at 5000
events a second nothing else may be done in between."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ..errors import Misuse, ProbeError, UsageError
from ..util import interrupt
from .arrivals import Arrivals, most_bytes
from .http_exchange import Deadlines, Exchange, ExchangeError, HttpClient
from .measured import Run
from .reach import own_machine, without_v1
from .sse import run_of

__all__ = ["Client", "Deadlines", "NotReadyError", "Reach"]

#: What a strict server may not know, the most wanted last (transformers answers 422 to ignore_eos). A request that
#: fails even without them failed for another reason, and nothing is left out of the next.
_OPTIONAL = ("logprobs", "ignore_eos", "continuous_usage_stats", "stream_options")
#: What no server that is only starting answers.
_ELSEWHERE = (404, 405, 410)
_LATER = (429, 503)
#: getaddrinfo's words: Errno -2, -3 and -5 (glibc).
_NO_NAME = re.compile(r"Name or service not known|name resolution|No address associated")
_CHECK = "check --base"
_TRIES = 20


class NoServer(StrEnum):
    """Why no model can be asked."""

    #: Another server, or none of that name: waiting does not help.
    ELSEWHERE = "elsewhere"
    NO_LIST = "no-list"
    NOT_READY = "not-ready"
    NO_MODEL = "no-model"


class NotReadyError(ProbeError):
    """No server answers yet; waiting may help."""


@dataclass(frozen=True)
class Reach:
    """How a server is reached beside its address. ``headers``: further headers of every request; ``fields``: further
    keys of its body; ``ca``: a file of certificates; ``plain``: the key may go over plain HTTP to another machine."""

    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    ca: str | None = None
    plain: bool = False


class Client:
    """One server and one model on it. ``base``: http://host:port, with or without a path and /v1; ``api``: chat or
    completions; ``key``: sent as a bearer token, and taken out of whatever is reported. UsageError where the key would
    go to another machine in clear."""

    def __init__(self, base: str, model: str = "", key: str = "", api: str = "chat",
                 deadlines: Deadlines | None = None, reach: Reach | None = None) -> None:
        self.root = without_v1(base)
        self.model, self.api, self._key = model, api, key
        self.deadlines, self._reach = deadlines or Deadlines(), reach or Reach()
        #: Requests that were answered "later" and asked again.
        self.retried = 0
        #: HTTP status of the last request; 0 where there was no answer.
        self.status = 0
        self._refused: set[str] = set()
        if key and not self._reach.plain and not base.lower().startswith("https:") and not own_machine(base):
            raise UsageError(f"{self.root}: the API key would go to another machine over plain HTTP, where everybody "
                             "on the way can read it; expected https; give an https address, or --allow-plain-http",
                             Misuse.NOT_ENCRYPTED)
        headers = {**self._reach.headers, **({"Authorization": f"Bearer {key}"} if key else {})}
        self._http = HttpClient(self.deadlines, headers, base.lower().startswith("https:"), self._reach.ca)

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, seconds: float = 10.0) -> tuple[int, str]:
        """Return status and text of a small document; (0, reason) where there was no answer within ``seconds``."""
        return self._small("GET", path, seconds)

    def document(self, path: str, body: Any = None) -> dict[str, Any]:
        """Return a small JSON document; {} where there is none. ``body``: sent with POST, None for a GET."""
        status, text = self._small("GET" if body is None else "POST", path, 10.0, body)
        try:
            found = json.loads(text) if status == 200 else {}
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _small(self, method: str, path: str, seconds: float, body: Any = None) -> tuple[int, str]:
        try:
            status, text = self._http.small(method, self.root + path, seconds, body)
        except ExchangeError as error:
            return 0, self._safe(error)
        return status, text

    def models(self) -> list[dict[str, Any]]:
        """Return the models that the server serves, at least one, each with its id. ProbeError where nothing answers or
        what answers is no OpenAI-compatible server, UsageError where the key is refused."""
        status, text = self.get("/v1/models")
        if status in (401, 403):
            raise UsageError(self._no_entry(status), Misuse.REFUSED)
        place = f"{self.root}/v1/models"
        if status in _ELSEWHERE or _NO_NAME.search(text if not status else ""):
            raise ProbeError(f"{place}: {f'HTTP {status}' if status else text}; expected an OpenAI-compatible server; "
                             f"{_CHECK}", NoServer.ELSEWHERE)
        if status != 200:
            raise NotReadyError(f"{place}: {f'HTTP {status}' if status else text}; expected a server that is ready",
                                NoServer.NOT_READY)
        try:
            listed = json.loads(text)["data"]
            named = [each for each in listed if isinstance(each, dict) and each.get("id")]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise ProbeError(f"{place}: no list of models; this is no OpenAI-compatible server; {_CHECK}",
                             NoServer.NO_LIST) from None
        if not named:
            raise NotReadyError(f"{place}: lists no model; expected an OpenAI-compatible server with at least one",
                                NoServer.NO_MODEL)
        return named

    def tokens_of(self, text: str) -> int | None:
        """Return how many tokens the engine's own tokenizer makes of a text; None where it has no such page. vLLM and
        SGLang answer {"count": n, "tokens": [...]}; llama.cpp: {"tokens": [...]}."""
        found = self.document("/tokenize", {"model": self.model, "prompt": text, "content": text,
                                            "add_special_tokens": False, "add_special": False})
        tokens, count = found.get("tokens"), found.get("count")
        if isinstance(tokens, list):
            return len(tokens)
        return count if type(count) is int and count >= 0 else None

    def ask(self, kind: str, text: str, tokens: int, **more: Any) -> Run:
        """Send one greedy streaming request and read its answer to the end. ``more``: further keys of the request. An
        answer that breaks off is a Run with ``broken``; UsageError where the key is refused."""
        until = time.monotonic() + self.deadlines.whole
        first, status = self._patient(kind, tokens, self._body(text, tokens, more, self._refused), until)
        if status in (401, 403):
            raise UsageError(self._no_entry(status), Misuse.REFUSED)
        if status not in (400, 422):
            return first
        for without in _fewer([each for each in _OPTIONAL if each not in self._refused
                               and (each in more or each not in ("logprobs", "ignore_eos"))]):
            run, status = self._patient(kind, tokens, self._body(text, tokens, more, self._refused | without), until)
            if status == 200:
                self._refused |= without
                return run
        return first

    def _body(self, text: str, tokens: int, more: Mapping[str, Any], refused: set[str]) -> dict[str, Any]:
        asked = ({"messages": [{"role": "user", "content": text}]} if self.api == "chat"
                 else {"prompt": f"{text}\n\nAnswer: "})
        usage = {key: True for key in ("include_usage", "continuous_usage_stats") if key not in refused}
        body = {"model": self.model, **asked, "max_tokens": tokens, "temperature": 0, "stream": True,
                "stream_options": usage, **self._reach.fields, **more}
        return {key: value for key, value in body.items() if key not in refused}

    def _patient(self, kind: str, tokens: int, body: Mapping[str, Any], until: float) -> tuple[Run, int]:
        """Send the request, and again where the server says when (Retry-After) and that is before ``until``. Return the
        run and its HTTP status."""
        waited = 0.0
        for _ in range(_TRIES):
            run, status, later = self._stream(kind, tokens, body, until)
            if status not in _LATER or later is None or time.monotonic() + later >= until:
                break
            self.retried += 1
            _sleep(later)
            waited += later
        return replace(run, waited_s=waited) if waited else run, status

    def _stream(self, kind: str, tokens: int, body: Mapping[str, Any],
                until: float) -> tuple[Run, int, float | None]:
        """Return the run, its HTTP status, and after how many seconds the server wants to be asked again."""
        interrupt.check()
        path = "/v1/chat/completions" if self.api == "chat" else "/v1/completions"
        limits = replace(self.deadlines, whole=max(0.001, until - time.monotonic()))
        held = Arrivals()
        error, broken, media, status = "", "", "", 0
        self.status = 0
        begun = ended = time.monotonic()
        try:
            with self._http.open("POST", self.root + path, limits, body) as answer:
                begun, status, media = answer.begun, answer.status, answer.media
                self.status = status
                if status != 200:
                    return self._status(kind, tokens, answer), status, _later(answer.header("Retry-After"))
                # The body as a measure of what may come back.
                most = most_bytes(tokens, sum(len(str(each)) for each in body.values()))
                for content in answer.content(most):
                    interrupt.check()
                    ended = time.monotonic()
                    lines = held.add(ended - begun, content)
                    if lines:
                        answer.note_arrival(lines)
                    if held.ended:
                        break
                    if held.size > most:
                        error, broken = f"the answer is larger than {most >> 20} MiB for {tokens} tokens", "stream"
                        break
                if answer.late:
                    raise ExchangeError(answer.late, True)
        except ExchangeError as wrong:
            text = self._safe(wrong)
            error, broken = (text, "deadline") if wrong.late else (f"the stream broke off: {text}", "stream")
        arrivals = held.finished(ended - begun)
        if media not in ("", "text/event-stream") and not (broken or any(b"data:" in each for _, each in arrivals)):
            error, broken = f"the server does not stream: it answered stream: true with {media[:60]}", "stream"
        run = run_of(kind, tokens, arrivals, error, broken)
        if self._key and self._key in run.text:
            run = replace(run, text=run.text.replace(self._key, "***"))
        return replace(run, error=self._safe(run.error) if run.error else "",
                       names=tuple(self._safe(name) for name in run.names)), status, None

    def _status(self, kind: str, tokens: int, answer: Exchange) -> Run:
        where = answer.header("Location")
        text = f"it sends to {where[:200]}; give that as --base" if 300 <= answer.status < 400 and where else \
            answer.error_text()
        return Run(kind, tokens, error=f"HTTP {answer.status}: {self._safe(text)}", broken="status")

    def _no_entry(self, status: int) -> str:
        state = "refuses the API key" if self._key else "asks for an API key"
        return (f"{self.root} {state} (HTTP {status}); expected a key that it knows; give --api-key-file FILE or set "
                "TUNECHECK_API_KEY")

    def _safe(self, said: object) -> str:
        text = str(said) or type(said).__name__
        return " ".join((text.replace(self._key, "***") if self._key else text).split())[:300]


def _later(said: str) -> float | None:
    """Return the seconds that a Retry-After header asks to wait: seconds, or a date (RFC 9110, 10.2.3). None for any
    other text."""
    if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", said.strip()):
        return max(0.05, float(said))
    try:
        return max(0.05, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _sleep(seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        interrupt.check()
        time.sleep(min(left, 0.5))


def _fewer(options: list[str]) -> list[set[str]]:
    """Return sets of optional keys to leave out, in the order in which they are tried: each alone, then more and more
    of them."""
    return [*({each} for each in options), *(set(options[:count]) for count in range(2, len(options) + 1))]
