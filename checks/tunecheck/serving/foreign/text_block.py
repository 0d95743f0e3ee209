"""The block of text that `vllm bench serve` and `sglang.bench_serving` print, which is what most people publish.

Its lines are the figures of the clients' JSON under other names (vLLM 0.33.0, SGLang 0.5.23); it keeps no texts, no
counts of single requests and no name of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...errors import Flaw, UsageError
from ..measured import Measured
from .recognise import measured_of_foreign

__all__ = ["measured_of_text"]

_HEAD = re.compile(r"=== {0,3}Serving Benchmark Result {0,3}===")
_FIGURE = re.compile(r"[>|\s]*(?P<label>[A-Z][\w ()/.-]{1,60}?):\s+(?P<value>\S{1,60})[|\s]*")
_DURATION, _TOKENS, _RATE = "Benchmark duration (s)", "Total generated tokens", "Output token throughput (tok/s)"
_DONE, _LOST, _AGAIN = "Successful requests", "Failed requests", "Total generated tokens (retokenized)"
_KEYS = {_DURATION: "duration", _TOKENS: "total_output_tokens", _RATE: "output_throughput", _DONE: "completed",
         _AGAIN: "total_output_tokens_retokenized", _LOST: "failed", "Backend": "backend",
         "Maximum request concurrency": "max_concurrency", "Max request concurrency": "max_concurrency"}


def measured_of_text(text: str, where: str) -> Measured | None:
    """Return the figures of every such block; None where the text has none. UsageError for a block without a figure
    that the judge needs."""
    blocks = list(_blocks(text))
    if not blocks:
        return None
    for number, block in enumerate(blocks, 1):
        sglang = "backend" in block or _KEYS[_AGAIN] in block
        missing = [label for label in (_DONE, _DURATION, _TOKENS, _RATE, *((_AGAIN,) if sglang else ()))
                   if not isinstance(block.get(_KEYS[label]), float)]
        if missing:
            which = f"block {number} of {len(blocks)}: " if len(blocks) > 1 else ""
            raise UsageError(f"{where}: {which}the text block of a benchmark without {' and '.join(missing)}; give the "
                             f"whole block, or better the client's JSON: {_better(sglang)}", Flaw.WRONG_TYPE)
    found = measured_of_foreign(blocks)
    told = "a text block tells neither the model nor what was answered" + (
        "" if all(_KEYS[_LOST] in each for each in blocks) else f", nor how many requests failed (no line {_LOST!r})")
    more = _better(_KEYS[_AGAIN] in blocks[0])
    return replace(found, runs=tuple(replace(run, error=f"{run.error}; {told}: {more} keeps it") for run in found.runs))


def _better(sglang: bool) -> str:
    return "--output-file FILE --output-details" if sglang else "--save-result --save-detailed"


def _blocks(text: str) -> Iterator[dict[str, Any]]:
    """Yield the figures of each block by the names that its client's JSON has for them. What is no number is left
    out."""
    # Its head is easily left out of a paste.
    block: dict[str, Any] | None = {} if f"{_RATE}:" in text and not _HEAD.search(text) else None
    for line in text.splitlines():
        if _HEAD.search(line):
            if block is not None:
                yield block
            block = {}
        elif block is not None and (match := _FIGURE.fullmatch(line)) and (key := _KEYS.get(match["label"])):
            if key == "backend":
                block.setdefault(key, match["value"])
            elif re.fullmatch(r"\d{1,14}(?:\.\d{1,9})?", match["value"]):
                block.setdefault(key, float(match["value"]))
    if block is not None:
        yield block
