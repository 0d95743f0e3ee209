"""A stream of server-sent events, parsed after it ended: what came when is kept as it came. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .arrivals import Arrival, whole_lines
from .gaps import gaps_of
from .measured import Run, Usage

__all__ = ["run_of"]

_LINE = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
#: Where engines put what the model thinks aloud, the first that is there: reasoning_content (SGLang, DeepSeek, older
#: vLLM), reasoning (vLLM since 0.16, OpenRouter), reasoning_details and thinking (OpenRouter, Mistral).
_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
#: No honest answer is longer; and what looks at texts afterwards has to end.
_MOST_TEXT = 1 << 20


@dataclass
class _Seen:
    """What the events of one stream carried."""

    text: list[str] = field(default_factory=list)
    size: int = 0
    times: list[float] = field(default_factory=list)
    first: float | None = None
    pieces: int = 0
    usages: list[Usage] = field(default_factory=list)
    first_tokens: int | None = None
    logprobs: list[float | None] | None = None
    written: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    finish: str | None = None


def run_of(kind: str, asked: int, arrivals: Sequence[Arrival], error: str = "", broken: str = "") -> Run:
    """Return what one stream delivered. Usage is read from any event (an engine may put it beside the last text or into
    an event without choices) and the last one counts; the first token is the first text that is more than white space,
    so that an event with only a role, or blanks sent ahead, do not count; a missing end mark is no error."""
    seen = _Seen()
    for when, event in _events(arrivals):
        problem = _problem(event)
        if problem:
            error, broken = error or f"the engine reported: {problem}", broken or "engine"
        name = event.get("model")
        if name and isinstance(name, str) and len(seen.names) < 4:
            seen.names.add(name[:200])
        usage = _usage(event.get("usage"))
        if usage:
            seen.usages.append(usage)
        for choice in _dicts(event.get("choices")):
            _choice(seen, choice, when, usage)
        if seen.size > _MOST_TEXT:
            error, broken = error or f"more than {_MOST_TEXT >> 20} MiB of text for {asked} tokens", broken or "stream"
            break
    gaps = gaps_of(seen.times)
    covered = sum(len(each) for each in seen.written)
    empty = sum(not each for each in seen.written)
    return Run(kind, asked, _last(seen.usages), "".join(seen.text), seen.first,
               seen.times[-1] if seen.times else None, len(seen.times), seen.first_tokens, gaps.quantiles, seen.finish,
               None if seen.logprobs is None else tuple(seen.logprobs), error, broken, gap_p99_ms=gaps.p99,
               gap_bins=gaps.bins, pieces=seen.pieces, names=tuple(sorted(seen.names)),
               covered=covered if seen.written else None, blank_entries=empty)


def _choice(seen: _Seen, choice: dict[str, Any], when: float, usage: Usage | None) -> None:
    text = _text_of(choice)
    if text:
        seen.text.append(text)
        seen.size += len(text)
        seen.pieces += 1
        if not seen.times or seen.times[-1] != when:
            seen.times.append(when)
        if seen.first is None and not text.isspace():
            seen.first = when
            # What came before it was white space, and is neither first token nor gap.
            seen.times = [when]
            seen.first_tokens = usage.completion if usage else None
    read = _logprobs(choice.get("logprobs"))
    if read is not None:
        logprobs, written = read
        if seen.logprobs is None:
            seen.logprobs = []
        seen.logprobs += logprobs
        seen.written += written
    if isinstance(choice.get("finish_reason"), str):
        seen.finish = choice["finish_reason"]


def _events(arrivals: Sequence[Arrival]) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the JSON objects behind ``data:``, each with the arrival that completed it. An event may have several lines
    of data; many servers leave out the empty line between events, so a line that is an object by itself is an event.
    Comments (pings), other fields and what is no JSON object are passed over."""
    held: list[bytes] = []
    when, begun = 0.0, False
    for when, content in whole_lines(arrivals):
        if not held and b"data:" not in content:
            continue
        lines = _LINE.split(content)
        for each in lines[:-1] if content[-1:] in b"\r\n" else lines:
            line = each if begun else each.removeprefix(_BOM)
            begun = True
            if not line:
                if held and (event := _object(b"\n".join(held))) is not None:
                    yield when, event
                held = []
            elif line.startswith(b"data:"):
                data = line[5:]
                if data.strip() == b"[DONE]":
                    continue
                event = None if held else _object(data)
                if event is not None:
                    yield when, event
                else:
                    held.append(data.removeprefix(b" "))
    if held and (event := _object(b"\n".join(held))) is not None:
        yield when, event


def _object(content: bytes) -> dict[str, Any] | None:
    # Looked at first: an exception for each line of a long event would cost more than the event.
    inner = content.strip()
    if not (inner.startswith(b"{") and inner.endswith(b"}")):
        return None
    try:
        found = json.loads(inner)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text_of(choice: dict[str, Any]) -> str:
    """Return content and reasoning of a chat's delta, or a completion's text: reasoning is work too."""
    delta = choice.get("delta")
    held = delta if isinstance(delta, dict) else {}
    reasoning = next((found for name in _REASONING if (found := _text(held.get(name)))), "")
    return reasoning + _text(held.get("content")) + _text(choice.get("text"))


def _text(value: object) -> str:
    """Return the text of a value: a text, or a list of parts: {"type": "text", "text": ...}, or thinking with parts of
    its own. "" for anything else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = [each if isinstance(each, str) else each.get("text") or each.get("thinking") or ""
             for each in value if isinstance(each, (str, dict))]
    return "".join(each if isinstance(each, str) else "".join(
        str(inner.get("text") or "") for inner in _dicts(each)) for each in parts)


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
    """Return a count as a whole number, also where a server writes it as 12.0; None for what is no count."""
    if type(value) is float and math.isfinite(value) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**40 else None


def _last(usages: list[Usage]) -> Usage | None:
    if not usages:
        return None
    last = usages[-1]
    cached = last.cached if last.cached is not None else max(
        (each.cached for each in usages if each.cached is not None), default=None)
    fell = any(later.completion < earlier.completion for earlier, later in pairwise(usages))
    return Usage(max(each.prompt for each in usages), last.completion, cached, fell)


def _logprobs(value: object) -> tuple[list[float | None], list[str]] | None:
    """Return logprobs per token, None for one that is null or no number, and what each token is written as. Chat:
    content[].logprob, reasoning_content[] beside it (some servers); completions: token_logprobs[]."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("content"), list):
        entries = _dicts(value["content"])
        written = [_written(each) for each in entries if "token" in each]
        return [_logprob(each.get("logprob")) for each in entries], written
    if isinstance(value.get("token_logprobs"), list):
        tokens = value.get("tokens")
        return ([_logprob(each) for each in value["token_logprobs"]],
                [str(each) for each in tokens] if isinstance(tokens, list) else [])
    return None


def _written(entry: dict[str, Any]) -> str:
    # Half of a character has no text of its own, but bytes.
    token = str(entry.get("token") or "")
    return token or ("\ufffd" if entry.get("bytes") else "")


def _logprob(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _problem(event: dict[str, Any]) -> str:
    """Return the error that an event inside a stream reports, "" for none: the HTTP status said 200 long ago."""
    error = event.get("error") or (event if event.get("object") == "error" else None)
    if not error:
        return ""
    return str(error.get("message") or error if isinstance(error, dict) else error)[:300]
