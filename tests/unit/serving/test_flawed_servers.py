"""Servers with a flaw, none of which may be accepted, and sound ones with a quirk, none of which may be refused.

The first block of each table is the review's (2026-11-22), rebuilt; the rest are ours. A flawed server counts as found
where the outcome is fail or unknown, or where the client says so at once; ``by`` names the finding that has to tell."""

from __future__ import annotations

import json
import random
import re
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.serving.oracle import CANARIES, PROSE, Ask, Case, Oracle, _Handler, answer, packed, pieces, serving, sse

from tunecheck.errors import TunecheckError, UsageError
from tunecheck.model.finding import worst
from tunecheck.recipes.frozen import Canary
from tunecheck.serving import reach, session
from tunecheck.serving.client import Client, Deadlines, Reach
from tunecheck.serving.plan import Plan
from tunecheck.serving.verdict import Want, judge

_PLAN = Plan("full", 1, 140, 0, (1024,), (), tuple(
    Canary(question, expect, 32, 512 if expect == "Tokyo" else 0) for question, expect in CANARIES.items()))
#: These show only in an answer of some length.
_LONG = replace(_PLAN, tokens=420)
_NEED_LONG = {"words of prose, shuffled", "a loop longer than the window", "a loop of half the answer"}
_QUICK = Deadlines(0.5, first=0.6, between=0.6, whole=1.0)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    pytest.importorskip("httpx")
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def no_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_COUNTER_LAG", 0.05)


def _usage(tokens: Any, size: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": size, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": 0}, **more}


def _inflated(factor: float, **more: Any) -> Case:
    """Fewer tokens than were asked for, and a usage that says they are all there. Of a short answer it is true."""
    return Case(say=lambda ask: "".join(pieces(answer(ask))[:int(ask.tokens / factor)]),
                claim=lambda ask, tokens, size: _usage(
                    min(ask.tokens, round(tokens * factor)) if tokens > 20 else tokens, size),
                events=lambda ask, events: [_length(event) for event in events], **more)


def _length(event: Any) -> Any:
    if isinstance(event, dict) and event.get("choices") and event["choices"][0].get("finish_reason"):
        event["choices"][0]["finish_reason"] = "length"
    return event


def _padded(token: str) -> Callable[[Ask, list[dict[str, Any]]], Any]:
    def chances(ask: Ask, entries: list[dict[str, Any]]) -> Any:
        dice = random.Random(1)
        return entries + [{"token": token, "logprob": -dice.random()} for _ in range(ask.tokens - len(entries))]

    return chances


def _prose(make: Callable[[Ask], str]) -> Callable[[Ask], str]:
    return lambda ask: make(ask) if "Explain at length" in ask.question else answer(ask)


_DICE = random.Random(7)
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def _letters(dice: random.Random) -> str:
    return " ".join("".join(dice.choice(_LETTERS) for _ in range(dice.randint(2, 9))) for _ in range(900))


def _salad(dice: random.Random) -> str:
    words = ["river", "table", "window", "engine", "market", "silver", "teacher", "valley", "copper", "anchor",
        "forest",
             "kernel", "memory", "driver", "switch", "figure", "number", "letter", "garden", "bridge"]
    return " ".join(dice.choice(words) for _ in range(900))


def _shuffled(dice: random.Random) -> str:
    words = PROSE.split()
    dice.shuffle(words)
    return " ".join(words)


def _logprobs(value: Any) -> Callable[[Ask, list[dict[str, Any]]], Any]:
    return lambda ask, entries: [{**each, "logprob": value(number) if callable(value) else value}
                                 for number, each in enumerate(entries)]


def _cut(front: int, back: int) -> Callable[[str], str]:
    """What a server does that keeps so many words of each end."""
    def see(prompt: str) -> str:
        words = prompt.split(" ")
        return prompt if len(words) <= front + back else " ".join(words[:front] + words[len(words) - back:])

    return see


def _asked_size(case: Case) -> Case:
    """The prompt is cut, and usage says what was sent."""
    case.claim = lambda ask, tokens, size: _usage(
        tokens, len(pieces(ask.body["messages"][0]["content"])) + case.beside)
    return case


def _always(part: bytes | Callable[[int], bytes], gap: float = 0.02, media: str = "text/event-stream") -> Case:
    def send(handler: _Handler, ask: Ask) -> bool:
        handler.head(media)
        return handler.for_ever(part, gap)

    return Case(send=send)


def _raw(first: bytes, part: bytes, gap: float) -> Case:
    """Not even a head of its own."""
    def send(handler: _Handler, ask: Ask) -> bool:
        handler.wfile.write(first)
        return handler.for_ever(part, gap)

    return Case(send=send)


def _page(wanted: str, first: bytes, part: bytes, gap: float) -> Case:
    def get(handler: _Handler, page: str) -> bool:
        if page != wanted:
            return False
        handler.wfile.write(first)
        return handler.for_ever(part, gap)

    return Case(get=get)


def _status(status: int, body: str = "{}", after: int = 0, times: int = 10**6, **head: str) -> Case:
    def send(handler: _Handler, ask: Ask) -> bool:
        return after < ask.number <= after + times and handler.whole(status, body, **head)

    return Case(send=send)


def _event(content: str | None, **more: Any) -> bytes:
    delta = {} if content is None else {"content": content}
    return b"data: " + json.dumps({"choices": [{"delta": delta, "finish_reason": None}], **more}).encode() + b"\n\n"


def _stops(after: int, end: Any = None) -> Callable[[Ask, list[Any]], list[Any]]:
    return lambda ask, events: events[:after] + ([end] if end is not None else [])


def _usage_in_all(value: Callable[[int], Any]) -> Callable[[Ask, list[Any]], list[Any]]:
    return lambda ask, events: [{**each, "usage": _usage(value(number), len(pieces(ask.prompt)) + 9)}
                                if isinstance(each, dict) else each for number, each in enumerate(events)]


def _later_wrong(wrong: str, expect: str, part: int) -> Callable[[Ask], str]:
    """A known answer is wrong, before (0) or after (1) the timed run."""
    seen: list[int] = []

    def say(ask: Ask) -> str:
        if CANARIES.get(ask.question) != expect:
            return answer(ask)
        seen.append(1)
        return wrong if len(seen) - 1 == part else expect

    return say


def _timed_only(factor: float) -> Case:
    """Honest where logprobs are asked for, and nowhere else."""
    def say(ask: Ask) -> str:
        text = answer(ask)
        return text if ask.logprobs else "".join(pieces(text)[:int(ask.tokens / factor)])

    return Case(say=say, events=lambda ask, events: [_length(event) for event in events],
                claim=lambda ask, tokens, size: _usage(
                    ask.tokens if tokens > 20 and not ask.logprobs else tokens, size))


def _drip_models() -> Case:
    return _page("v1/models", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n",
        b" ", 0.02)


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
_BAD: dict[str, tuple[Callable[[], Case], str]] = {
    # The review's.
    **{f"usage x {factor}": (lambda factor=factor: _inflated(factor), "tokens-witness")
       for factor in (1.1, 1.25, 1.5, 2.0, 3.0, 4.8)},
    **{f"usage x {factor}, /metrics the same": (lambda factor=factor: _inflated(factor, metrics=factor),
        "tokens-witness")
       for factor in (1.1, 2.0, 4.8)},
    "letters at random, each time others": (lambda: Case(say=_prose(lambda ask: _letters(_DICE))), "output"),
    "letters at random, always the same": (lambda: Case(say=_prose(lambda ask: _letters(random.Random(3)))), "output"),
    "words at random": (lambda: Case(say=_prose(lambda ask: _salad(_DICE))), "output"),
    "words at random, always the same": (lambda: Case(say=_prose(lambda ask: _salad(random.Random(3)))), "output"),
    "a loop longer than the window": (lambda: Case(say=_prose(lambda ask: (PROSE[:800] + " ") * 5)), "output"),
    "prompts cut to 200 words, front lost": (lambda: Case(see=_cut(0, 200)), "prompt-size"),
    "prompts cut to 200 words, front lost, usage as asked": (lambda: _asked_size(Case(see=_cut(0, 200))), "needle"),
    "another model's name": (lambda: Case(name="gpt-4o-mini"), "model-name"),
    "head drips in": (lambda: _raw(_HEAD, b"X-A: b\r\n", 0.02), "answers"),
    "100 Continue again and again": (lambda: _raw(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02), "answers"),
    "/v1/models drips": (_drip_models, "raises"),
    "empty deltas for ever": (lambda: _always(_event("")), "answers"),
    "one line without end": (lambda: _always(b"data: {" + b"x" * 65536, 0.0), "answers"),
    # Counts.
    "usage x 0.5": (lambda: Case(claim=lambda ask, tokens, size: _usage(max(1, tokens // 2), size)), "tokens-witness"),
    "usage x 1.5, no logprobs, honest tokenizer": (
        lambda: _inflated(1.5, chances=None, tokenize=lambda text: len(pieces(text))), "tokens-witness"),
    "usage x 1.1, no logprobs, honest tokenizer": (
        lambda: _inflated(1.1, chances=None, tokenize=lambda text: len(pieces(text))), "tokens-witness"),
    "usage x 2, no witness": (lambda: _inflated(2.0, chances=None), "tokens-witness"),
    "usage x 4.8, no witness, /metrics the same": (lambda: _inflated(4.8, chances=None, metrics=4.8), "tokens-witness"),
    "usage x 2, logprobs filled up without text": (lambda: _inflated(2.0, chances=_padded("")), "tokens-witness"),
    "usage x 2, logprobs filled up with text": (lambda: _inflated(2.0, chances=_padded(" and")), "tokens-witness"),
    "usage x 1.5 only without logprobs": (lambda: _timed_only(1.5), "tokens-witness"),
    "usage x 2 only without logprobs": (lambda: _timed_only(2.0), "tokens-witness"),
    "proposals counted: more than asked": (
        lambda: Case(claim=lambda ask, tokens, size: _usage(tokens * 5, size)), "tokens-asked"),
    "usage less than its length": (lambda: Case(claim=lambda ask, tokens, size: _usage(tokens * 3 // 4, size)),
                                   "tokens-asked"),
    "no usage": (lambda: Case(claim=lambda ask, tokens, size: None), "usage"),
    "usage null": (lambda: Case(events=lambda ask, events: [
        {**each, "usage": None} if isinstance(each, dict) else each for each in events]), "usage"),
    "usage as text": (lambda: Case(claim=lambda ask, tokens, size: _usage(str(tokens), size)), "usage"),
    "usage negative": (lambda: Case(claim=lambda ask, tokens, size: _usage(-tokens, size)), "usage"),
    "usage falls": (lambda: Case(events=_usage_in_all(lambda number: 500 - number if number < 120 else 300)), "usage"),
    "its counter has half": (lambda: Case(metrics=0.5), "tokens-server"),
    "its counter has twice": (lambda: Case(metrics=2.0), "tokens-server"),
    "an answer from the cache": (lambda: Case(claim=lambda ask, tokens, size: _usage(
        tokens, size, prompt_tokens_details={"cached_tokens": max(0, size - 1)})), "prompt-cache"),
    "prompt tokens always 9": (lambda: Case(claim=lambda ask, tokens, size: _usage(tokens, 9)), "prompt-size"),
    "prompt tokens never": (lambda: Case(claim=lambda ask, tokens, size: {"completion_tokens": tokens}), "prompt-size"),
    "prompt tokens x 1.5": (lambda: Case(claim=lambda ask, tokens, size: _usage(tokens, size * 3 // 2),
                                         tokenize=lambda text: len(pieces(text))), "prompt-size"),
    "prompts cut, middle lost": (lambda: Case(see=_cut(100, 100)), "prompt-size"),
    "prompts cut, middle lost, usage as asked": (lambda: _asked_size(Case(see=_cut(100, 100))), "needle"),
    "prompts cut, end lost": (lambda: _asked_size(Case(see=_cut(240, 0))), "canary"),
    "prompts cut to 128 words": (lambda: Case(see=_cut(0, 128)), "prompt-size"),
    "long prompts seen as empty": (lambda: _asked_size(Case(see=lambda text: text if len(text) < 1200 else "")),
        "canary"),
    # Texts.
    "words of prose, shuffled": (lambda: Case(say=_prose(lambda ask: _shuffled(random.Random(5)))), "output"),
    "sampled, not greedy": (lambda: Case(say=_prose(lambda ask: PROSE[(at := _DICE.randrange(0, 3000)):at + 4000])),
                            "repeatable"),
    "one character": (lambda: Case(say=_prose(lambda ask: "D" * 4000)), "output"),
    "a short loop": (lambda: Case(say=_prose(lambda ask: "the same thing again and again, " * 99)), "output"),
    "a loop of half the answer": (lambda: Case(say=_prose(lambda ask: (PROSE[:560] + " ") * 9)), "output"),
    "U+FFFD": (lambda: Case(say=_prose(lambda ask: PROSE.replace("e", "\ufffd"))), "output"),
    "control characters": (lambda: Case(say=_prose(lambda ask: PROSE.replace("e", "\x01"))), "output"),
    "no text": (lambda: Case(say=_prose(lambda ask: PROSE), event=lambda event: {
        **event, "choices": [{**event["choices"][0], "delta": {}}]}), "tokens-text"),
    "one answer to all": (lambda: Case(say=lambda ask: PROSE), "canary"),
    "17 + 25 wrong before": (lambda: Case(say=_later_wrong("43", "42", 0)), "canary"),
    "17 + 25 wrong after": (lambda: Case(say=_later_wrong("43", "42", 1)), "canary"),
    "Tokyo wrong behind a long prompt": (lambda: Case(say=_later_wrong("Kyoto", "Tokyo", 0)), "canary"),
    "the answer inside a longer number": (lambda: Case(say=_later_wrong("424242", "42", 0)), "canary"),
    "unlikely tokens": (lambda: Case(chances=_logprobs(lambda number: -4 - number % 7 / 10)), "logprobs"),
    "logprobs null": (lambda: Case(chances=_logprobs(None)), "logprobs"),
    "logprobs NaN": (lambda: Case(chances=_logprobs(float("nan"))), "logprobs"),
    "logprobs all the same": (lambda: Case(chances=_logprobs(-1.5)), "logprobs"),
    "logprobs above 0": (lambda: Case(chances=_logprobs(lambda number: 0.1 + number / 1000)), "logprobs"),
    "megabytes of text": (lambda: Case(say=_prose(lambda ask: PROSE), event=lambda event: {
        **event, "choices": [{**event["choices"][0], "delta": {"content": "word " * 4000}}]}), "answers"),
    # Ends.
    "finish_reason null": (lambda: Case(events=lambda ask, events: [each for each in events if not (
        isinstance(each, dict) and each["choices"] and each["choices"][0]["finish_reason"])]), "answers"),
    "finish_reason abort": (lambda: Case(events=lambda ask, events: [json.loads(json.dumps(each).replace(
        '"length"', '"abort"')) if isinstance(each, dict) else each for each in events]), "answers"),
    "cut in the middle": (lambda: Case(events=_stops(4)), "answers"),
    "an error in the stream": (lambda: Case(events=_stops(4, {"error": {"message": "CUDA error"}})), "answers"),
    "reset in the middle": (lambda: Case(send=lambda handler, ask: _reset(handler)), "answers"),
    "shorter than its Content-Length": (lambda: Case(head={"Content-Length": "99999999"}, events=_stops(4)), "answers"),
    "one JSON document": (lambda: _status(200, json.dumps({"choices": [{"message": {"content": "42"}}]})), "answers"),
    "HTTP 500": (lambda: _status(500, "oh"), "answers"),
    "HTTP 500 from the sixth request": (lambda: _status(500, "oh", after=5), "answers"),
    "HTTP 404": (lambda: _status(404), "answers"),
    "another address": (lambda: _status(307, "", Location="http://127.0.0.1:9/v1"), "answers"),
    "HTTP 401": (lambda: _status(401), "raises"),
    "429 for ever": (lambda: _status(429, Retry_After="0"), "answers"),
    "503 without Retry-After": (lambda: _status(503), "answers"),
    "503, come back in an hour": (lambda: _status(503, Retry_After="3600"), "answers"),
    "packed as nothing known": (lambda: Case(head={"Content-Encoding": "br"}), "answers"),
    "gzip that is none": (lambda: Case(head={"Content-Encoding": "gzip"}), "answers"),
    "events that are no JSON": (lambda: Case(events=lambda ask, events: [b"data: {oops\n\n"] * 5), "answers"),
    # Time and memory.
    "no head": (lambda: _raw(b"", b"", 0.05), "answers"),
    "status line drips": (lambda: _raw(b"HTTP/1.1 200 ", b"O", 0.02), "answers"),
    "a head without end": (lambda: _raw(_HEAD, b"X-A: " + b"b" * 4096 + b"\r\n", 0.0), "answers"),
    "pings for ever": (lambda: _always(b": ping\n\n"), "answers"),
    "roles for ever": (lambda: _always(b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'), "answers"),
    "white space for ever": (lambda: _always(_event(" \n ")), "answers"),
    "usage for ever": (lambda: _always(b'data: {"choices": [], "usage": {"completion_tokens": 3}}\n\n'), "answers"),
    "text drips for ever": (lambda: _always(_event("word ")), "answers"),
    "text without end": (lambda: _always(_event("word " * 400), 0.0), "answers"),
    "one byte at a time": (lambda: _always(lambda number: b"data: {"[number % 7:number % 7 + 1], 0.01), "answers"),
    "empty lines without end": (lambda: _always(b"\n" * 65536, 0.0), "answers"),
    "comments without end": (lambda: _always(b":" + b" " * 65536 + b"\n", 0.0), "answers"),
    "text, then nothing": (lambda: Case(send=lambda handler, ask: _silent(handler, _event("word "))), "answers"),
    "text, then pings": (lambda: Case(send=lambda handler, ask: _then(handler, _event("word "), b": ping\n\n")),
        "answers"),
    "text, then empty deltas": (lambda: Case(send=lambda handler, ask: _then(handler, _event("word "), _event(""))),
                                "answers"),
    "a gzip bomb": (lambda: Case(send=lambda handler, ask: _bomb(handler)), "answers"),
    "an error text without end": (lambda: _raw(b"HTTP/1.1 500 Oh\r\n\r\n", b"x" * 65536, 0.0), "answers"),
    "an error text that drips": (lambda: _raw(b"HTTP/1.1 500 Oh\r\n\r\n", b"x", 0.02), "answers"),
    "deep JSON": (lambda: Case(events=lambda ask, events: [b"data: " + b'{"a":' * 50000 + b"}" * 50000 + b"\n\n"]),
                  "answers"),
    "a huge number": (lambda: Case(events=lambda ask, events: [b'data: {"usage": {"completion_tokens": ' + b"9" * 50000
                                                               + b"}}\n\n"]), "answers"),
    "/v1/models without end": (lambda: _page("v1/models", b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536, 0.0), "raises"),
    "/v1/models without a head": (lambda: _page("v1/models", b"", b"", 0.05), "raises"),
    "/v1/models is a gzip bomb": (lambda: Case(get=lambda handler, page: page == "v1/models" and _bomb(handler)),
        "raises"),
}


def _reset(handler: _Handler) -> bool:
    handler.head()
    handler.wfile.write(_event("word "))
    handler.connection.close()
    return True


def _silent(handler: _Handler, first: bytes) -> bool:
    handler.head()
    handler.wfile.write(first)
    handler.server.ending.wait(2)
    return True


def _then(handler: _Handler, first: bytes, part: bytes) -> bool:
    handler.head()
    handler.wfile.write(first)
    return handler.for_ever(part, 0.02)


def _bomb(handler: _Handler) -> bool:
    packer = zlib.compressobj(9, wbits=31)
    packer.compress(b" " * (1 << 20))
    part = packer.compress(b" " * (16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    handler.head(**{"Content-Encoding": "gzip"})
    first = zlib.compressobj(9, wbits=31)
    handler.wfile.write(first.compress(b" " * (16 << 20)) + first.flush(zlib.Z_FULL_FLUSH))
    with_rest = part[10:] if part[:2] == b"\x1f\x8b" else part
    return handler.for_ever(with_rest, 0.0)


def _moved(name: str, wrap: Callable[[str], Any] = lambda text: text) -> Callable[[dict[str, Any]], Any]:
    """The text stands in another field of the delta."""
    def event(held: dict[str, Any]) -> Any:
        delta = held["choices"][0]["delta"]
        if delta.get("content"):
            delta[name] = wrap(delta.pop("content"))
        return held

    return event


def _once(status: int, number: int, **head: str) -> Case:
    return _status(status, "later", after=number, times=1, **head)


def _lines(end: str = "\n", space: str = " ", blank: bool = True, ahead: str = "") -> Callable[[bytes], bytes]:
    return lambda content: (ahead + content.decode().replace("\n\n", "\n\n" if blank else "\n").replace(
        "data: ", f"data:{space}").replace("\n", end)).encode()


def _pretty(ask: Ask, events: list[Any]) -> list[Any]:
    return [each if isinstance(each, bytes) else "".join(
        f"data: {line}\n" for line in json.dumps(each, indent=1).splitlines()).encode() + b"\n" for each in events]


def _paced(size: int, gap: float) -> Case:
    def send(handler: _Handler, ask: Ask) -> bool:
        content = sse(list(handler.events(case, ask)))
        handler.head()
        for at in range(0, len(content), size):
            handler.wfile.write(content[at:at + size])
            time.sleep(gap)
        return True

    case = Case(send=send)
    return case


def _thinks(ask: Ask, events: list[Any]) -> list[Any]:
    """The first half is thought aloud, and logprobs are of the rest alone."""
    told = [each for each in events if isinstance(each, dict) and each["choices"]
            and each["choices"][0]["delta"].get("content")]
    for each in told[:len(told) // 2]:
        each["choices"][0]["delta"] = {"reasoning": each["choices"][0]["delta"]["content"]}
        each["choices"][0]["logprobs"] = None
    return events


_COUNTED: Any = lambda text: len(pieces(text))      # noqa: E731
_SOUND: dict[str, Callable[[], Case]] = {
    # The review's.
    "events of several lines": lambda: Case(events=_pretty),
    "usage as floats": lambda: Case(claim=lambda ask, tokens, size: _usage(float(tokens), float(size))),
         # type: ignore[arg-type]
    "content as parts": lambda: Case(event=_moved("content", lambda text: [{"type": "text", "text": text}])),
    "reasoning_details": lambda: Case(event=_moved("reasoning_details", lambda text: [
        {"type": "reasoning.text", "text": text}])),
    "gzip": lambda: Case(pack=lambda content: packed(content, 31), head={"Content-Encoding": "gzip"}),
    "429 once, Retry-After": lambda: _once(429, 3, Retry_After="0"),
    "503 once, Retry-After": lambda: _once(503, 5, Retry_After="0"),
    # Ours: streams.
    "healthy": lambda: Case(),
    "503 at once, Retry-After a date": lambda: _once(503, 0, Retry_After="Sun, 22 Nov 2020 00:00:00 GMT"),
    "CRLF": lambda: Case(pack=_lines("\r\n")),
    "no blank behind data:": lambda: Case(pack=_lines(space="")),
    "no empty line between events": lambda: Case(pack=_lines(blank=False)),
    "events of several lines, CRLF": lambda: Case(events=_pretty, pack=_lines("\r\n")),
    "pings between": lambda: Case(events=lambda ask, events: [part for each in events for part in (b": ping\n\n",
        each)]),
    "event and id lines": lambda: Case(events=lambda ask, events: [part for each in events for part in (
        b"event: message\nid: 7\nretry: 100\n", each)]),
    "a byte order mark": lambda: Case(pack=_lines(ahead="\ufeff")),
    "no end mark": lambda: Case(events=lambda ask, events: events[:-1]),
    "usage beside the last choice": lambda: Case(events=lambda ask, events: [
        *events[:-3], {**events[-3], "usage": events[-2]["usage"]}, events[-1]]),
    "usage in every event": lambda: Case(events=lambda ask, events: _usage_in_all(
        lambda number: min(number, len(events) - 4))(ask, events)),
    "usage null until the last": lambda: Case(events=lambda ask, events: [
        {"usage": None, **each} if isinstance(each, dict) else each for each in events]),
    "empty deltas between": lambda: Case(events=lambda ask, events: [part for each in events for part in (
        _event(""), each)]),
    "events without choices": lambda: Case(events=lambda ask, events: [{"choices": []}, *events]),
    "deflate": lambda: Case(pack=lambda content: packed(content, 15), head={"Content-Encoding": "deflate"}),
    "identity said": lambda: Case(head={"Content-Encoding": "identity"}),
    "a charset": lambda: Case(head={"Content-Type": "text/event-stream; charset=utf-8"}),
    "text/plain": lambda: Case(head={"Content-Type": "text/plain"}),
    "many headers": lambda: Case(head={f"X-{number}": "v" * 100 for number in range(50)}),
    "bytes in pieces": lambda: _paced(511, 0.0),
    "slow pieces": lambda: _paced(4000, 0.002),
    "white space first": lambda: Case(say=lambda ask: "\n\n " + answer(ask)),
    "nulls in the delta": lambda: Case(event=lambda event: {**event, "choices": [{**event["choices"][0], "delta": {
        "tool_calls": None, "function_call": None, "refusal": None, "reasoning": None,
            **event["choices"][0]["delta"]}}]}),
    "more fields": lambda: Case(event=lambda event: {**event, "system_fingerprint": "x", "service_tier": None}),
    # Reasoning of each engine.
    "reasoning_content": lambda: Case(event=_moved("reasoning_content")),
    "reasoning": lambda: Case(event=_moved("reasoning")),
    "reasoning and its details": lambda: Case(event=lambda event: _moved("reasoning_details", lambda text: [
        {"text": text}])(_both(event))),
    "thinking in parts": lambda: Case(event=_moved("content", lambda text: [
        {"type": "thinking", "thinking": [{"type": "text", "text": text}]}])),
    "logprobs of the answer alone, tokenizer": lambda: Case(events=_thinks, tokenize=_COUNTED),
    "logprobs of the answer alone": lambda: Case(events=_thinks),
    # Witnesses.
    "an end mark is counted": lambda: Case(claim=lambda ask, tokens, size: _usage(min(ask.tokens, tokens + 1), size)),
    "two marks are hidden": lambda: Case(claim=lambda ask, tokens, size: _usage(min(ask.tokens, tokens + 2), size)),
    "five tokens an event": lambda: Case(group=5),
    "five tokens an event, no logprobs, tokenizer": lambda: Case(group=5, chances=None, tokenize=_COUNTED),
    "no logprobs, an event a token": lambda: Case(chances=None),
    "no logprobs, no usage of the cache": lambda: Case(chances=None, claim=lambda ask, tokens, size: {
        "prompt_tokens": size, "completion_tokens": tokens}),
    "logprobs refused": lambda: Case(refuse=("logprobs",)),
    "ignore_eos refused": lambda: Case(refuse=("ignore_eos",)),
    "continuous usage refused": lambda: Case(refuse=("continuous_usage_stats",)),
    "two of them refused": lambda: Case(refuse=("continuous_usage_stats", "ignore_eos")),
    "tokenizer cuts 2 % otherwise": lambda: Case(tokenize=lambda text: round(len(pieces(text)) * 1.02)),
    "its counter": lambda: Case(metrics=1.0),
    "sure tokens": lambda: Case(chances=_logprobs(lambda number: -0.0 if number % 3 else -0.2 - number / 1000)),
    "logprobs without tokens' names": lambda: Case(chances=lambda ask, entries: [
        {"logprob": each["logprob"]} for each in entries]),
    # Names, limits, templates.
    "a folder before the name": lambda: Case(name="/srv/models/M"),
    "a date behind the name": lambda: Case(name="m-2026-11-01"),
    "its root's name": lambda: Case(name="org/base", models=[{"id": "m", "root": "org/base", "max_model_len": 8192}]),
    "an alias": lambda: Case(name="tiny", models=[{"id": "m", "aliases": ["tiny"], "max_model_len": 8192}]),
    "no name": lambda: Case(name=""),
    "no limit": lambda: Case(models=[{"id": "m"}]),
    "a small limit": lambda: Case(models=[{"id": "m", "max_model_len": 1500}]),
    "a long template": lambda: Case(beside=900),
    "two tokens a word": lambda: Case(claim=lambda ask, tokens, size: _usage(tokens, 2 * size)),
    "answers in sentences": lambda: Case(say=lambda ask: f"The answer is {answer(ask)}." if len(answer(ask)) < 20
                                         else answer(ask)),
    "answers in German": lambda: Case(say=_prose(lambda ask: _GERMAN)),
    "answers in Chinese": lambda: Case(say=_prose(lambda ask: _CHINESE), chances=None, tokenize=_COUNTED),
    "answers as a list": lambda: Case(say=_prose(lambda ask: "\n".join(
        f"{number}. **{part[:30]}**: {part}" for number, part in enumerate(PROSE.split(". "), 1)))),
    "parts late from its first answer": lambda: Case(say=_parting()),
    "finds no needle": lambda: Case(say=lambda ask: "I do not know." if "red door" in ask.question else answer(ask)),
    "metrics without end": lambda: _page("metrics", b"HTTP/1.1 200 OK\r\n\r\n", b"# x\n" * 16384, 0.0),
}
_GERMAN = (
    "Zuerst wird der Server in das Rack eingebaut und an das Netz angeschlossen, danach prüft man die Firmware und die "
    "Einstellungen des Mainboards. Die Karten müssen in den richtigen Steckplätzen sitzen, damit jede von ihnen alle "
    "Leitungen bekommt. Dann installiert man das Betriebssystem mit einem passenden Kernel und dem Treiber des "
    "Herstellers, und startet neu. Wenn alle Geräte sichtbar sind, misst man den Durchsatz zwischen den Karten und "
    "vergleicht ihn mit dem, was die Verbindung leisten kann. Erst wenn die Werte stimmen, lädt man das Modell und "
    "fragt es etwas, dessen Antwort bekannt ist. Am Ende schreibt man auf, was gemessen wurde, und überwacht den "
    "Betrieb. ")
_CHINESE = (
    "这是一个没有空格的句子,讲的是服务器如何准备推理。 每一步都要先证明,再继续往下走,否则就停下来。 "
    "内核参数、驱动版本和链路宽度都会被检查,结果写进报告。 "
    "然后安装操作系统,再安装驱动程序,最后重新启动机器。 "
    "如果所有设备都能看到,就测量它们之间的带宽,并与理论值比较。 "
    "只有当数值正确时,才加载模型并提出已知答案的问题。 ")


def _both(event: dict[str, Any]) -> dict[str, Any]:
    delta = event["choices"][0]["delta"]
    if delta.get("content"):
        delta["reasoning"] = delta["content"]
    return event


def _parting() -> Callable[[Ask], str]:
    """As batched engines do: the same beginning, then another sentence."""
    asked: list[int] = []

    def say(ask: Ask) -> str:
        if "Explain at length" not in ask.question:
            return answer(ask)
        asked.append(1)
        return PROSE[:120] + PROSE[120 + 37 * len(asked):]

    return say


def _seen(oracle: Oracle, case: Case, deadlines: Deadlines | None = None, plan: Plan = _PLAN,
          **more: Any) -> tuple[str, dict[str, str]]:
    """Outcome, and each finding that is neither pass nor skip."""
    client = Client(oracle.base(case), deadlines=deadlines or Deadlines(2, 5, 5, 10), **more)
    try:
        session_ = session.Session(client, plan)
        findings = judge(session_.measure(), Want())
    except TunecheckError as error:
        return "raises", {"raises": str(error)}
    finally:
        client.close()
    return worst(findings), {each.id: f"{each.outcome}: {each.text}" for each in reversed(findings)
                             if each.outcome in ("fail", "unknown", "warn")}


@pytest.mark.parametrize("name", _BAD)
def test_no_flawed_server_is_accepted(oracle: Oracle, name: str) -> None:
    make, by = _BAD[name]
    begun = time.monotonic()
    quick = _QUICK if by in ("answers", "raises") else None
    outcome, said = _seen(oracle, make(), quick, _LONG if name in _NEED_LONG else _PLAN)
    print(f"BAD | {name} | {outcome} | {by}: {said.get(by, said)}"[:300])     # the table: pytest -rP
    assert outcome in ("fail", "unknown", "raises") and by in said, (outcome, said)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("name", _SOUND)
def test_no_sound_server_is_refused(oracle: Oracle, name: str) -> None:
    outcome, said = _seen(oracle, _SOUND[name]())
    print(f"SOUND | {name} | {outcome}")
    # All at once: a burst, as from a loopback without a model.
    assert set(said) <= {"delivery"}, (outcome, said)


def test_a_key_never_goes_to_another_machine_in_clear(oracle: Oracle) -> None:
    for base in ("http://10.0.0.7:30000", "http://gpu7:30000/openai/v1", "http://127.0.0.1.evil.example",
        "http://[::2]"):
        with pytest.raises(UsageError, match=rf"^{re.escape(base.removesuffix('/v1'))}: .*--allow-plain-http"):
            Client(base, key="s3cret")
        Client(base, key="s3cret", reach=Reach(plain=True)).close()
    for base in ("https://gpu7", "http://127.0.0.1:1", "http://localhost:1/v1", "http://[::1]:1"):
        Client(base, key="s3cret").close()


def test_headers_and_fields_are_sent_and_a_key_in_the_text_is_hidden(oracle: Oracle) -> None:
    told: list[Any] = []

    def send(handler: _Handler, ask: Ask) -> bool:
        told.append((handler.headers["X-Tenant"], handler.headers["Authorization"], ask.body["chat_template_kwargs"]))
        return False

    client = Client(oracle.base(Case(send=send, say=lambda ask: "your key is s3cret")), "m", "s3cret", reach=Reach(
        {"X-Tenant": "lab"}, {"chat_template_kwargs": {"enable_thinking": False}}))
    run = client.ask("canary", "hello", 32)
    client.close()
    assert told == [("lab", "Bearer s3cret", {"enable_thinking": False})] and run.text == "your key is ***"


@pytest.mark.parametrize(("make", "given", "says"), [
    (reach.headers, ["Authorization: Bearer x"], "--header Authorization: .*--api-key-file"),
    (reach.headers, ["X-Api-Key: x"], "--header X-Api-Key: .*--api-key-file"),
    (reach.headers, ["Host: x"], "--header Host: x: "), (reach.headers, ["X: a\r\nY: b"], "--header X: a\r\nY: b: "),
    (reach.fields, ["temperature=1"], "--field temperature: "), (reach.fields, ["a"], "--field a: .*NAME=JSON"),
    (reach.fields, ["effort=low"], """--field effort: low .*'effort="low"'""")])
def test_what_no_request_may_carry(make: Callable[[list[str]], Any], given: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}"):
        make(given)


def test_memory_is_bounded_whatever_is_sent(oracle: Oracle) -> None:
    """One read a byte would cost a hundred times its size: it is counted with it."""
    case = Case(send=lambda handler, ask: _then(handler, b"", b"\n" * 7))
    client = Client(oracle.base(case), "m", deadlines=Deadlines(1, 2, 2, 2))
    tracemalloc.start()
    client.ask("timed", "hello", 100)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    client.close()
    assert most < 64 << 20


def test_white_space_ahead_is_not_the_first_token(oracle: Oracle) -> None:
    def send(handler: _Handler, ask: Ask) -> bool:
        handler.head()
        handler.wfile.write(_event(" \n"))
        time.sleep(0.3)
        handler.wfile.write(sse(list(handler.events(case, ask))))
        return True

    case = Case(send=send)
    client = Client(oracle.base(case), "m")
    run = client.ask("timed", "hello", 100)
    client.close()
    assert run.first_s is not None and run.first_s >= 0.3


def test_retry_after_is_waited_for_and_not_timed(oracle: Oracle) -> None:
    client = Client(oracle.base(_once(429, 0, Retry_After="0.4")), "m")
    begun = time.monotonic()
    run = client.ask("timed", "hello", 100)
    client.close()
    assert time.monotonic() - begun >= 0.4 and client.retried == 1
    assert run.text and run.first_s is not None and run.first_s < time.monotonic() - begun - 0.35
