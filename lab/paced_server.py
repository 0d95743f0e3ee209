"""A server without a model whose times are known: every answer is 64 words, the first after a wait of its own, the
others at a pace of its own. One process and one loop, so that sixteen streams cost it little. It streams OpenAI's chat
and completions, and SGLang's /generate. Like the engines it sends usage only where a request asks for it
(stream_options.include_usage); /generate states its count in every event.

    python3 -m lab.paced_server [PORT]        # says where it listens on its first line, ends with its standard input

Waits are spread evenly over a span by the golden ratio, so that as many answers have the same percentiles; GET /again
begins with the first of them again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["FIRST", "PACE", "TOKENS"]

TOKENS = 64
#: Seconds, least and most: to the first word, and between two.
FIRST, PACE = (0.2, 0.3), (0.008, 0.012)
_GOLDEN = 0.6180339887498949
_USAGE = {"prompt_tokens": 20, "completion_tokens": TOKENS}


def _chat(asked: Any) -> Iterator[dict[str, Any]]:
    """The events of an answer: one before the first word, one for each word, and what follows the last."""
    def event(choices: list[dict[str, Any]], usage: object = None) -> dict[str, Any]:
        return {"id": "x", "object": "chat.completion.chunk", "model": "m", "usage": usage, "choices": choices}

    def delta(finish: str | None = None, **held: str) -> list[dict[str, Any]]:
        return [{"index": 0, "finish_reason": finish, "delta": held}]

    yield event(delta(role="assistant", content=""))
    for at in range(TOKENS):
        yield event(delta(content=f" word{at}"))
    yield event(delta("length"))
    if _asks_usage(asked):
        yield event([], _USAGE)


def _completions(asked: Any) -> Iterator[dict[str, Any]]:
    held = {"id": "x", "object": "text_completion", "model": "m", "usage": None}
    for at in range(TOKENS):
        yield {**held, "choices": [{"index": 0, "text": f" word{at}",
                                    "finish_reason": "length" if at == TOKENS - 1 else None}]}
    if _asks_usage(asked):
        yield {**held, "choices": [], "usage": _USAGE}


def _generate(asked: Any) -> Iterator[dict[str, Any]]:
    """SGLang's own: the text so far, and how many tokens it is."""
    text = ""
    for at in range(TOKENS):
        text += f" word{at}"
        yield {"text": text, "meta_info": {**_USAGE, "completion_tokens": at + 1}}


def _asks_usage(asked: Any) -> bool:
    return bool((asked.get("stream_options") or {}).get("include_usage"))


_DIALECTS = {"/v1/chat/completions": _chat, "/v1/completions": _completions, "/generate": _generate}
#: Events before the first word.
_AHEAD = {"/v1/chat/completions": 1}


class _Server:
    def __init__(self) -> None:
        self._asked = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                size = next((int(line.split(":")[1]) for line in head.lower().split("\r\n")
                             if line.startswith("content-length:")), 0)
                body = await reader.readexactly(size)
                path = head.split()[1]
                if path in _DIALECTS:
                    await self._answer(writer, _DIALECTS[path](json.loads(body)), _AHEAD.get(path, 0))
                else:
                    self._asked = 0 if path == "/again" else self._asked
                    self._whole(writer, path)
                await writer.drain()
        writer.close()

    def _whole(self, writer: asyncio.StreamWriter, path: str) -> None:
        known = path.endswith(("/v1/models", "/health"))
        body = json.dumps({"object": "list", "data": [{"id": "m", "max_model_len": 8192}]} if known else {}).encode()
        writer.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
            b"200 OK" if known else b"404 Not Found", len(body), body))

    async def _answer(self, writer: asyncio.StreamWriter, events: Iterator[dict[str, Any]], ahead: int) -> None:
        loop = asyncio.get_running_loop()
        begun, number = loop.time(), self._asked
        self._asked += 1
        first = FIRST[0] + (FIRST[1] - FIRST[0]) * (number * _GOLDEN % 1)
        pace = PACE[0] + (PACE[1] - PACE[0]) * (number * _GOLDEN * _GOLDEN % 1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at, event in enumerate(events, -ahead):
            if 0 <= at < TOKENS:
                await asyncio.sleep(max(0.0, begun + first + at * pace - loop.time()))
            if writer.is_closing():
                raise ConnectionResetError
            self._part(writer, b"data: " + json.dumps(event).encode() + b"\n\n")
        self._part(writer, b"data: [DONE]\n\n")
        self._part(writer, b"")

    def _part(self, writer: asyncio.StreamWriter, content: bytes) -> None:
        writer.write(b"%x\r\n%s\r\n" % (len(content), content))


async def _serve(port: int) -> None:
    server = await asyncio.start_server(_Server().talk, "127.0.0.1", port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(ended.set)), daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
