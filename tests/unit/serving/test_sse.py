"""What a stream delivered, whatever its form: where usage stands, what the first token is, errors inside."""

from __future__ import annotations

import json

import pytest

from tunecheck.serving.sse import ended, run_of


def _event(text: str | None = None, finish: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def _usage(completion: int, **details: int) -> dict[str, object]:
    return {"prompt_tokens": 7, "completion_tokens": completion, "prompt_tokens_details": details or None}


_ROLE = b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
_LAST = b'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\n'
_DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize(("stream", "tokens", "text"), [
    ([_ROLE, _event("a"), _event("b", "length"), _LAST, _DONE], 2, "ab"),           # llama.cpp, vLLM, SGLang
    ([_event("a"), _event("b", "stop", usage=_usage(2))], 2, "ab"),                 # transformers: no end mark either
    ([_event("a", usage=_usage(3)), _event("b", "length", usage=_usage(6))], 6, "ab"),      # cumulative: never 9
    ([b": ping\n\n", _event("a", "stop").replace(b"data: ", b"data:"), b"event: x\r\ndata: [1]\r\n\r\n"], 0, "a"),
    ([b"data: {broken\n\n", b"data: null\n\n", b"data: {\"choices\": 3, \"usage\": []}\n\n"], 0, ""),
    ([b'data: {"choices": [{"text": "a", "finish_reason": "stop"}], "usage": {"completion_tokens": true}}'], 0, "a"),
    ([b'data: {"choices": [{"delta": {"reasoning_content": "think"}}]}\n\n', _event(" say")], 0, "think say"),
])  # fmt: skip
def test_usage_and_text(stream: list[bytes], tokens: int, text: str) -> None:
    run = run_of("timed", 9, [(0.1 * number, part) for number, part in enumerate(stream)])
    assert (run.tokens, run.text, run.error) == (tokens, text, "")
    whole = run_of("timed", 9, [(1.0, b"".join(stream))])
    assert (whole.tokens, whole.text, whole.reads) == (tokens, text, 1 if text else 0)


def test_an_event_may_come_in_pieces_and_a_role_is_no_token() -> None:
    content = b"".join([_ROLE, _event("a", usage=_usage(1)), _event("b", "length", usage=_usage(2, cached_tokens=5))])
    run = run_of("timed", 9, [(0.01 * at, content[at:at + 1]) for at in range(len(content))])
    first = content.index(b"\n", content.index(b'"a"'))
    assert run.first_s == pytest.approx(0.01 * first)
    assert (run.first_tokens, run.reads, run.usage and run.usage.cached) == (1, 2, 5)


def test_a_count_that_falls_is_noticed() -> None:
    run = run_of("timed", 9, [(0.0, _event("a", usage=_usage(5))), (1.0, _event("b", usage=_usage(1)))])
    assert run.usage and run.usage.fell


@pytest.mark.parametrize("event", [b'{"error": {"message": "CUDA error", "code": 500}}', b'{"error": "CUDA error"}',
                                   b'{"object": "error", "message": "CUDA error"}'])  # fmt: skip
def test_an_error_inside_the_stream(event: bytes) -> None:
    run = run_of("timed", 9, [(0.0, _event("a")), (0.1, b"data: " + event + b"\n\n")])
    assert (run.broken, run.error, run.text) == ("engine", "the engine reported: CUDA error", "a")


@pytest.mark.parametrize(("logprobs", "expected"), [
    ({"content": [{"logprob": -0.5}, {"logprob": None}]}, (-0.5, None)),
    ({"token_logprobs": [-0.5, float("nan")]}, (-0.5, None)), ({"content": None}, None), ([], None)])
def test_logprobs(logprobs: object, expected: object) -> None:
    event = b"data: " + json.dumps({"choices": [{"text": "a", "logprobs": logprobs}]}).encode() + b"\n\n"
    assert run_of("logprobs", 9, [(0.0, event)]).logprobs == expected


def test_only_the_end_mark_ends_a_stream() -> None:
    assert ended(b'"finish_reason":"stop"}\n\ndata: [DONE]\n\n')
    assert not ended(_event("data: [DONE]"))
