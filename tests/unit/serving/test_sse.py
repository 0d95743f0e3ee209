"""What a stream delivered, whatever its form: where usage stands, what the first token is, errors inside."""

from __future__ import annotations

import json
import time

import pytest

from tunecheck.serving.arrivals import Arrivals
from tunecheck.serving.sse import run_of


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
    assert (run.broken, run.text) == ("engine", "a") and run.error.endswith(": CUDA error")


@pytest.mark.parametrize(("logprobs", "expected"), [
    ({"content": [{"logprob": -0.5}, {"logprob": None}]}, (-0.5, None)),
    ({"token_logprobs": [-0.5, float("nan")]}, (-0.5, None)), ({"content": None}, None), ([], None)])
def test_logprobs(logprobs: object, expected: object) -> None:
    event = b"data: " + json.dumps({"choices": [{"text": "a", "logprobs": logprobs}]}).encode() + b"\n\n"
    assert run_of("logprobs", 9, [(0.0, event)]).logprobs == expected


def _ended(content: bytes) -> bool:
    held = Arrivals()
    held.add(0.0, content)
    return held.ended


def test_only_the_end_mark_ends_a_stream() -> None:
    assert _ended(b'"finish_reason":"stop"}\n\ndata: [DONE]\n\n')
    assert not _ended(_event("data: [DONE]"))


def _lines(event: dict[str, object], end: str) -> bytes:
    """One event over several lines, as the standard for server-sent events allows."""
    return "".join(f"data: {line}{end}" for line in json.dumps(event, indent=2).splitlines()).encode() + end.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("step", [1, 7, 4096])
def test_an_event_of_several_lines(end: str, step: int) -> None:
    events = [{"choices": [{"delta": {"content": part}, "finish_reason": None}]} for part in ("a", "b")]
    content = "\ufeff".encode() + b"".join(_lines(each, end) for each in events)
    run = run_of("timed", 9, [(float(at), content[at:at + step]) for at in range(0, len(content), step)])
    assert (run.text, run.pieces) == ("ab", 2)


@pytest.mark.parametrize(("delta", "text"), [
    ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
    ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                  {"type": "text", "text": "b"}]}, "hmb"),
    ({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "hm"),
    ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}], "content": ""}, "hm"),
    ({"thinking": "hm", "content": None}, "hm"), ({"content": 3}, ""), ({"content": [3, None, {"text": 4}]}, ""),
])
def test_where_the_text_stands(delta: object, text: str) -> None:
    event = b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"
    assert run_of("timed", 9, [(0.0, event)]).text == text


def test_white_space_is_no_first_token() -> None:
    run = run_of("timed", 9, [(0.1, _event(" \n", usage=_usage(1))), (0.6, _event("a", usage=_usage(2)))])
    assert (run.first_s, run.first_tokens, run.reads, run.text) == (0.6, 2, 1, " \na")


@pytest.mark.parametrize(("count", "tokens"), [(2.0, 2), (2.5, 0), (True, 0), ("2", 0), (1e300, 0), (-1, 0)])
def test_a_count_written_as_a_float(count: object, tokens: int) -> None:
    event = b"data: " + json.dumps({"choices": [], "usage": {"completion_tokens": count}}).encode() + b"\n\n"
    assert run_of("timed", 9, [(0.0, event)]).tokens == tokens


def test_a_line_without_end_costs_linear_time() -> None:
    """80 MB in one line took 268 s when every read was joined to what came before."""
    took = []
    for reads in (1000, 4000):
        held, begun = Arrivals(), time.process_time()
        for number in range(reads):
            held.add(float(number), b"x" * 4096)
        held.finished(0.0)
        took.append(time.process_time() - begun)
    assert took[1] < 12 * took[0] + 0.2, took
