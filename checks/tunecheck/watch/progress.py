"""An engine's progress from its Prometheus page. Pure.

Names, read off the engines' sources and metrics documentation, 2026-11: vLLM num_requests_running and _waiting, SGLang
num_running_reqs and num_queue_reqs, llama.cpp requests_processing and requests_deferred; generation_tokens_total and
prompt_tokens_total of the first two, tokens_predicted_total and prompt_tokens_total of llama.cpp. SGLang counts the
tokens of a request at its end, and the work of its steps in realtime_tokens_total; llama.cpp counts steps in
n_decode_total. vLLM's replicas have the label engine, SGLang's dp_rank. The label mode of realtime_tokens_total is
decode, prefill_compute or prefill_cache."""

from __future__ import annotations

import math
import re

from ..model.absence import Absence
from .model import Code, Engine, Part

__all__ = ["engine_of_page"]

_RUNNING = ("num_requests_running", "num_running_reqs", "requests_processing")
_WAITING = ("num_requests_waiting", "num_queue_reqs", "requests_deferred")
_GENERATED = ("generation_tokens_total", "tokens_predicted_total")
#: Whatever of these moves is progress: a long prompt gives no token for a while.
_MOVES = (*_GENERATED, "prompt_tokens_total", "iteration_tokens_total_sum", "n_decode_total", "realtime_tokens_total")
_REPLICA = re.compile(r'[{,](?:engine|dp_rank)="([^"]{1,40})"')
_MOST_REPLICAS = 64
_SAMPLE = re.compile(r"(?:vllm|sglang|llamacpp):(\w{1,80})(\{[^\n]{0,2000}\})?[ \t]+([^ \t\r\n]{1,40})")
_DECODES = re.compile(r'[{,]mode="decode"')
#: As the text format of Prometheus has them: float() would take more.
_VALUE = re.compile(r"[+]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?")
_MOST_LINES = 100_000
#: No engine counts further in years; above it a float counts no single step any more.
_MOST_VALUE = 1e15


def engine_of_page(status: int, text: str) -> Engine:
    """What the page says; a code where it says nothing that can be used. Values are summed over labels."""
    if status in (404, 501):
        return Engine(absence=Absence.NOT_SUPPORTED, code=Code.NO_METRICS)
    if status in (401, 403):
        return Engine(absence=Absence.NO_PERMISSION, code=Code.KEY_REFUSED)
    if status == 503:       # llama.cpp says so to everything while it loads its model
        return Engine(absence=Absence.NOT_READ)
    if status != 200:
        return Engine(absence=Absence.FAILED, code=Code.METRICS_UNREADABLE)
    replicas: dict[str, dict[str, float]] = {}
    decoded: float | None = None
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        sample = _SAMPLE.match(line)
        if sample and sample[1] in (*_RUNNING, *_WAITING, *_MOVES):
            value = _number(sample[3])
            if value is None:       # a counter that is no number is no evidence of anything
                return Engine(absence=Absence.NOT_UNDERSTOOD, code=Code.METRICS_UNREADABLE)
            if sample[1] == "realtime_tokens_total" and _DECODES.search(sample[2] or ""):
                decoded = (decoded or 0.0) + value
            named = _REPLICA.search(sample[2] or "")
            found = replicas.setdefault(named[1] if named else "", {}) if len(replicas) < _MOST_REPLICAS else \
                replicas.get(named[1] if named else "", {})
            found[sample[1]] = found.get(sample[1], 0.0) + value
    whole: dict[str, float] = {}
    for found in replicas.values():
        for name, value in found.items():
            whole[name] = whole.get(name, 0.0) + value
    running, moved, waiting = _sum(whole, _RUNNING), _sum(whole, _MOVES), _sum(whole, _WAITING)
    if running is None or moved is None:
        return Engine(absence=Absence.NOT_UNDERSTOOD, code=Code.METRICS_UNREADABLE)
    if decoded is None and (text.startswith("vllm:") or "\nvllm:" in text):
        decoded = _sum(whole, _GENERATED)       # the others count a request's tokens at its end
    return Engine(round(running), None if waiting is None else round(waiting), moved, _sum(whole, _GENERATED),
                  replicas=_parts(replicas), decoded=decoded,
                  steps=whole.get("n_decode_total"), prompted=whole.get("prompt_tokens_total"))


def _parts(replicas: dict[str, dict[str, float]]) -> tuple[Part, ...]:
    """Where each replica tells both, requests and counters."""
    if len(replicas) < 2 or not all(_sum(found, _RUNNING) is not None and _sum(found, _MOVES) is not None
                                    for found in replicas.values()):
        return ()
    return tuple(Part(name, round((_sum(found, _RUNNING) or 0.0) + (_sum(found, _WAITING) or 0.0)),
                      _sum(found, _MOVES) or 0.0) for name, found in sorted(replicas.items()))


def _number(text: str) -> float | None:
    value = float(text) if _VALUE.fullmatch(text) else math.nan
    return value if value <= _MOST_VALUE else None      # not nan, not inf


def _sum(found: dict[str, float], names: tuple[str, ...]) -> float | None:
    told = [found[name] for name in names if name in found]
    return sum(told) if told else None
