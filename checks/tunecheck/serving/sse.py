"""A stream of server-sent events, parsed after it ended: what came when is kept as it came. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from .gaps import gaps_of
from .measured import Run, Usage

__all__ = ["ended", "run_of"]

#: A read per network arrival: seconds since the request, bytes.
Arrival = tuple[float, bytes]
_LINE = re.compile(rb"\r\n|\n|\r")


def ended(tail: bytes) -> bool:
    """Whether these last bytes of a stream are its end mark. Text cannot look like it: JSON closes after it."""
    return tail.rstrip().endswith((b"data: [DONE]", b"data:[DONE]"))


def run_of(kind: str, asked: int, arrivals: Sequence[Arrival], error: str = "", broken: str = "") -> Run:
    """What one stream delivered. Usage is read from any event (an engine may put it beside the last text or into an
    event without choices) and the last one counts; the first token is the first text that is not empty, so that an
    event with only a role does not count; a missing end mark is no error."""
    text: list[str] = []
    times: list[float] = []
    usages: list[Usage] = []
    chances: list[float | None] = []
    saw_chances, finish, first_tokens = False, None, None
    for when, event in _events(arrivals):
        problem = _problem(event)
        if problem:
            error, broken = error or f"the engine reported: {problem}", broken or "engine"
        usage = _usage(event.get("usage"))
        if usage:
            usages.append(usage)
        for choice in _dicts(event.get("choices")):
            said = _said(choice)
            if said:
                text.append(said)
                if not times or times[-1] != when:
                    times.append(when)
                if len(times) == 1 and usage:
                    first_tokens = usage.completion
            found = _chances(choice.get("logprobs"))
            if found is not None:
                saw_chances = True
                chances += found
            if isinstance(choice.get("finish_reason"), str):
                finish = choice["finish_reason"]
    gaps = gaps_of(times)
    return Run(kind, asked, _last(usages), "".join(text), times[0] if times else None, times[-1] if times else None,
               len(times), first_tokens, gaps.quantiles, finish, tuple(chances) if saw_chances else None, error, broken,
               gap_p99_ms=gaps.p99, gap_bins=gaps.bins)


def _events(arrivals: Sequence[Arrival]) -> Iterator[tuple[float, dict[str, Any]]]:
    """The JSON objects behind ``data:``, each with the arrival that completed its line. Comments (pings), other fields
    and what is no JSON object are passed over."""
    rest = b""
    for when, content in [*arrivals, (arrivals[-1][0] if arrivals else 0.0, b"\n")]:
        *lines, rest = _LINE.split(rest + content)
        for line in lines:
            if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
                continue
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield when, event


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _said(choice: dict[str, Any]) -> str:
    """Content and reasoning of a chat's delta, or a completion's text: reasoning is work too."""
    delta = choice.get("delta")
    held = delta if isinstance(delta, dict) else {}
    reasoning = held.get("reasoning_content") or held.get("reasoning")
    parts = (reasoning, held.get("content"), choice.get("text"))
    return "".join(part for part in parts if isinstance(part, str))


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    completion = _count(value.get("completion_tokens"))
    if completion is None:
        return None
    return Usage(_count(value.get("prompt_tokens")) or 0, completion, _count(cached))


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**40 else None


def _last(usages: list[Usage]) -> Usage | None:
    if not usages:
        return None
    last = usages[-1]
    cached = last.cached if last.cached is not None else max(
        (each.cached for each in usages if each.cached is not None), default=None)
    fell = any(later.completion < earlier.completion for earlier, later in pairwise(usages))
    return Usage(max(each.prompt for each in usages), last.completion, cached, fell)


def _chances(value: object) -> list[float | None] | None:
    """Logprobs per token; None for one that is null or no number. Chat: content[].logprob; completions:
    token_logprobs[]."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("content"), list):
        return [_chance(each.get("logprob")) for each in _dicts(value["content"])]
    if isinstance(value.get("token_logprobs"), list):
        return [_chance(each) for each in value["token_logprobs"]]
    return None


def _chance(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _problem(event: dict[str, Any]) -> str:
    """An error inside a stream: the HTTP status said 200 long ago."""
    error = event.get("error") or (event if event.get("object") == "error" else None)
    if not error:
        return ""
    return str(error.get("message") or error if isinstance(error, dict) else error)[:300]
