"""An engine's progress from its Prometheus page. Pure.

Names, read off the engines' sources and metrics documentation, 2026-11: vLLM num_requests_running and _waiting, SGLang
num_running_reqs and num_queue_reqs, llama.cpp requests_processing and requests_deferred; generation_tokens_total and
prompt_tokens_total of the first two, tokens_predicted_total and prompt_tokens_total of llama.cpp."""

from __future__ import annotations

import math
import re

from ..absence import Absence
from .model import Code, Engine

__all__ = ["engine_of_page"]

_RUNNING = ("num_requests_running", "num_running_reqs", "requests_processing")
_WAITING = ("num_requests_waiting", "num_queue_reqs", "requests_deferred")
_GENERATED = ("generation_tokens_total", "tokens_predicted_total")
#: Whatever of these moves is progress: a long prompt gives no token for a while.
_MOVES = (*_GENERATED, "prompt_tokens_total", "iteration_tokens_total_sum", "n_decode_total")
_SAMPLE = re.compile(r"(?:vllm|sglang|llamacpp):(\w{1,80})(?:\{[^\n]{0,2000}\})?[ \t]+([^ \t\r\n]{1,40})")
_MOST_LINES = 100_000


def engine_of_page(status: int, text: str) -> Engine:
    """What the page says; a code where it says nothing that can be used. Values are summed over labels."""
    if status in (404, 501):
        return Engine(absence=Absence.NOT_SUPPORTED, code=Code.NO_METRICS)
    if status != 200:
        return Engine(absence=Absence.FAILED, code=Code.METRICS_UNREADABLE)
    found: dict[str, float] = {}
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        sample = _SAMPLE.match(line)
        if sample and sample[1] in (*_RUNNING, *_WAITING, *_MOVES):
            value = _number(sample[2])
            if value is None:       # a counter that is no number is no evidence of anything
                return Engine(absence=Absence.NOT_UNDERSTOOD, code=Code.METRICS_UNREADABLE)
            found[sample[1]] = found.get(sample[1], 0.0) + value
    running, moved = _sum(found, _RUNNING), _sum(found, _MOVES)
    if running is None or moved is None:
        return Engine(absence=Absence.NOT_UNDERSTOOD, code=Code.METRICS_UNREADABLE)
    waiting = _sum(found, _WAITING)
    return Engine(round(running), None if waiting is None else round(waiting), moved, _sum(found, _GENERATED))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _sum(found: dict[str, float], names: tuple[str, ...]) -> float | None:
    told = [found[name] for name in names if name in found]
    return sum(told) if told else None
