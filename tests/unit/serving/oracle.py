"""An OpenAI-compatible server without a model: healthy unless told otherwise, one behaviour for each case.

All cases share one server on loopback; each has a path of its own. Its "tokens" are short pieces of words, its answers
are the canaries', the needles' of what it saw of the prompt, and prose of the corpus. What a case changes is a hook."""

from __future__ import annotations

import functools
import json
import random
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["CANARIES", "Ask", "Case", "Oracle", "pieces", "serving", "sse"]

_CORPUS = " ".join((Path(__file__).resolve().parents[2] / "engine/corpus.txt").read_text().split())
#: Prose of the corpus in which nothing stands twice.
PROSE = _CORPUS[600:4600]
CANARIES = {"What is 17 + 25? Answer with the number only.": "42",
            "What is the capital of Japan? Answer with one word.": "Tokyo"}
_BESIDE = 9


@functools.lru_cache(256)
def pieces(text: str) -> tuple[str, ...]:
    """Words with the blank before them, long ones in two: about 4.3 characters each. Chinese characters one by one."""
    found = []
    for word in re.findall(r"\s*[\u3000-\u9fff]|\s*[^\s\u3000-\u9fff]+|\s+$", text):
        half = len(word) if len(word) < 7 else (len(word) + 1) // 2
        found += [word[:half], *([word[half:]] if half < len(word) else [])]
    return tuple(found)


@dataclass
class Ask:
    """One request as the oracle sees it."""

    prompt: str
    tokens: int
    logprobs: bool
    body: dict[str, Any]
    number: int

    @property
    def question(self) -> str:
        return self.prompt.rpartition("\n\n")[2] if "\n\n" in self.prompt else re.sub(r"^\[\w+\] ", "", self.prompt)


def answer(ask: Ask) -> str:
    if ask.question in CANARIES:
        return CANARIES[ask.question]
    if "code of the red door" in ask.question:
        found = [re.search(rf"The code of the {door} door is (\d+)", ask.prompt) for door in ("red", "blue")]
        return " ".join(each[1] if each else "unknown" for each in found)
    return PROSE if "Explain at length" in ask.question else "Hello, how can I help you today?"


def chances(tokens: Sequence[str]) -> list[dict[str, Any]]:
    dice = random.Random(len(tokens))
    return [{"token": each, "logprob": -round(dice.random() * 0.8, 5), "bytes": list(each.encode())}
            for each in tokens]


def sse(events: list[Any]) -> bytes:
    return b"".join(each if isinstance(each, bytes) else b"data: " + json.dumps(each).encode() + b"\n\n"
                    for each in events)


@dataclass
class Case:
    """Hooks; each gets what a healthy server would do. ``see``: the prompt that the model gets; ``say``: the answer;
    ``claim``: usage of (asked, tokens, prompt tokens), None for none; ``chances``: logprobs of (ask, entries), None:
    the server gives none; ``tokenize``: count of a text, None: no such page; ``event``: one event of text;
    ``events``: all of the stream; ``send``: writes everything itself, or returns False; ``names``: what /v1/models
    lists; ``group``: tokens an event; ``gap``: seconds between parts; ``refuse``: keys of the request to answer 422
    to; ``metrics``: the factor of its own counter, None: no page; ``get``: another GET answer by page."""

    see: Callable[[str], str] = lambda prompt: prompt
    say: Callable[[Ask], str] = answer
    claim: Callable[[Ask, int, int], Any] = lambda ask, tokens, size: {
        "prompt_tokens": size, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": 0}}
    chances: Callable[[Ask, list[dict[str, Any]]], Any] | None = lambda ask, entries: entries
    tokenize: Callable[[str], int] | None = None
    event: Callable[[dict[str, Any]], Any] = lambda event: event
    events: Callable[[Ask, list[Any]], list[Any]] = lambda ask, events: events
    send: Callable[[_Handler, Ask], bool] = lambda handler, ask: False
    head: dict[str, str] = field(default_factory=dict)
    name: str = "m"
    models: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "m", "max_model_len": 8192}])
    group: int = 1
    refuse: tuple[str, ...] = ()
    metrics: float | None = None
    get: Callable[[_Handler, str], bool] = lambda handler, page: False
    pack: Callable[[bytes], bytes] | None = None
    beside: int = _BESIDE
    generated: float = 0.0
    requests: int = 0


class Oracle(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cases: dict[str, Case] = {}
        self.ending = threading.Event()

    def base(self, case: Case) -> str:
        name = f"c{len(self.cases)}"
        self.cases[name] = case
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Oracle]:
    server = Oracle()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Oracle

    def log_message(self, format: str, *args: object) -> None:
        pass

    def whole(self, status: int, body: bytes | str, media: str = "application/json", **head: str) -> bool:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {"Content-Type": media, "Content-Length": str(len(content)), **{
                key.replace("_", "-"): value for key, value in head.items()}}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True
        return True

    def head(self, media: str = "text/event-stream", **head: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": media, **head, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def for_ever(self, part: bytes | Callable[[int], bytes], gap: float = 0.0) -> bool:
        """The same again and again, until the other side has enough."""
        self.close_connection = True
        number = 0
        with suppress(OSError):
            while not self.server.ending.wait(gap) if gap else not self.server.ending.is_set():
                self.wfile.write(part if isinstance(part, bytes) else part(number))
                self.wfile.flush()
                number += 1
        return True

    def _case(self) -> tuple[Case, str]:
        _, name, page = self.path.split("/", 2)
        return self.server.cases[name], page

    def do_GET(self) -> None:
        case, page = self._case()
        if case.get(self, page):
            return
        if page == "v1/models":
            self.whole(200, json.dumps({"object": "list", "data": case.models}))
        elif page == "metrics" and case.metrics is not None:
            self.whole(200, f"vllm:generation_tokens_total {case.generated * case.metrics}\n", "text/plain")
        else:
            self.whole(404, "{}")

    def do_POST(self) -> None:
        case, page = self._case()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if page == "tokenize":
            if case.tokenize is None:
                self.whole(404, "{}")
            else:
                self.whole(200, json.dumps({"count": case.tokenize(body["prompt"])}))
            return
        case.requests += 1
        text = body["messages"][0]["content"] if "messages" in body else body["prompt"].removesuffix("\n\nAnswer: ")
        ask = Ask(case.see(text), body["max_tokens"], bool(body.get("logprobs")), body, case.requests)
        flat = {**body, **body.get("stream_options", {})}
        if any(key in flat for key in case.refuse):
            self.whole(422, '{"detail": "Unexpected field"}')
        elif not case.send(self, ask):
            self._stream(case, ask)

    def _stream(self, case: Case, ask: Ask) -> None:
        content = sse(case.events(ask, list(self.events(case, ask))))
        self.head(**case.head)
        self.wfile.write(case.pack(content) if case.pack else content)

    def events(self, case: Case, ask: Ask) -> Iterator[Any]:
        """Role, text, finish, usage, end mark: as vLLM sends them."""
        every = pieces(case.say(ask))
        tokens = every[:ask.tokens]
        size = len(pieces(ask.prompt)) + case.beside
        case.generated += len(tokens)
        entries = case.chances(ask, chances(tokens)) if ask.logprobs and case.chances else None
        chat = "messages" in ask.body

        def one(text: str | None, finish: str | None = None, given: Any = None, role: bool = False) -> dict[str, Any]:
            delta = {**({"role": "assistant"} if role else {}), **({} if text is None else {"content": text})}
            held = {"delta": delta} if chat else {"text": text or ""}
            found = None if given is None else {"content": given} if chat else {
                "token_logprobs": [each["logprob"] for each in given], "tokens": [each["token"] for each in given]}
            return {"id": "x", "object": "chunk", "model": case.name,
                    "choices": [{"index": 0, **held, "logprobs": found, "finish_reason": finish}]}

        if chat:
            yield case.event(one("", role=True))
        for at in range(0, len(tokens), case.group):
            part = tokens[at:at + case.group]
            last = at + case.group >= len(tokens)
            # What is left of invented entries comes with the last one.
            given = None if entries is None else entries[at:] if last else entries[at:at + case.group]
            yield case.event(one("".join(part), given=given))
        yield case.event(one(None, "length" if len(every) > ask.tokens else "stop"))
        usage = case.claim(ask, len(tokens), size)
        if usage is not None:
            yield {"id": "x", "model": case.name, "choices": [], "usage": usage}
        yield b"data: [DONE]\n\n"


def packed(content: bytes, form: int) -> bytes:
    packer = zlib.compressobj(wbits=form)
    return packer.compress(content) + packer.flush()
