"""Result files of other clients, read for one question: how did it count its tokens, and what in the file proves that?

Each reader makes rows of a file; judging is the same for all (``_weighed``). Sources, read 2026-11-22: vLLM 0.33.0
benchmarks/serve.py, SGLang 0.5.23 benchmark/serving.py, guidellm 0.8.1, aiperf 0.13.0, genai-perf 0.0.16, llama.cpp
tools/llama-bench, evalscope perf 1.14.1 (and its names until 1.3). All but llama-bench and llm-inference-bench were
also run against a server of known counts (lab/paced_server.py). No file is accused without evidence in itself: what
cannot be told is unknown.

Less text than tokens accuses nobody by itself: these clients ask to go on behind the end (ignore_eos), and what comes
then may be special tokens without text (inferred, not measured); vLLM's chat client keeps no reasoning. A run of
SGLang's client was published with 833,623 of 4,096,000 tokens in the text (read 2026-11-23). More text than tokens
does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .measured import USAGE, Measured, Run, Usage

__all__ = ["measured_of_foreign", "measured_of_table", "recognised"]

#: A rate is tokens over seconds as its own file states both; files round.
_AGREE = 0.02
#: Characters a token of real vocabularies.
_CHARS = (1.0, 9.0)
_RETOKENISED = 0.1


@dataclass(frozen=True)
class _Row:
    """One figure of a file. ``way``: how its client counts: usage, asked (the length that it asked for), tokenizer,
    engine, unknown; ``how``: the same as a sentence. ``counts``: tokens of each request; ``texts``: what each answered;
    ``again``: the client's own second count. ``hidden``: why there may be tokens whose text the client never sees;
    ``spoilt``: why it is no figure at all."""

    tokens: float
    seconds: float
    rate: float
    way: str
    how: str
    streams: int = 1
    failed: float = 0
    counts: Sequence[float] = ()
    texts: Sequence[str] = ()
    again: float = 0
    hidden: str = ""
    spoilt: str = ""


def recognised(data: object) -> str:
    """Return the name of the client that wrote the file, of several the first that is known; "" for none."""
    for one in data if isinstance(data, list) else [data]:
        if isinstance(one, dict):
            for name, (marks, _) in _READERS.items():
                if all(mark in one for mark in marks):
                    return name
    return ""


def measured_of_foreign(data: Any) -> Measured:
    """Return every figure of the file as a run; ``recognised`` has to have a name for it."""
    name = recognised(data)
    every = data if isinstance(data, list) else [data]
    rows = [row for one in every if (writer := recognised(one)) for row in _READERS[writer][1](one)]
    strange = sum(not recognised(one) for one in every)
    lost = (Run("published", counted_by="unknown", error=f"{strange} of {len(every)} entries of the file cannot be "
                "read, or are of no client that is known"),) if strange else ()
    first = next(one for one in every if recognised(one))
    engine = first.get("backend")
    return Measured((tuple(map(_weighed, rows)) or (_nothing(name),)) + lost, "published",
                    engine=engine[:100] if isinstance(engine, str) else name,
                    no_counter="a published file has none", model=_model(first))


def _model(first: Mapping[str, Any]) -> str:
    """Return the name of the model, which each client writes in another place."""
    config = first.get("input_config")
    listed = _at(config, "models", "items")
    places = (first.get("model_id"), first.get("model_filename"), first.get("model"),
              _at(first, "server_info", "model_path"), _at(config, "endpoint", "model_names"),
              _at(config, "model_names"), _at(listed[0], "name") if isinstance(listed, list) and listed else None)
    for found in places:
        one = found[0] if isinstance(found, list) and found else found
        if isinstance(one, str) and one:
            return one[:200]
    return ""


def measured_of_table(text: str) -> Measured | None:
    """Return the figures of llama-bench's Markdown; None where the text is none. ``| model | ... | test | t/s |``, one
    row a test, and as many tables, each with a head of its own, as were run or pasted into a page."""
    head: list[str] | None = None
    found, model, rows = False, "", []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            head = None
            continue
        cells = [cell.strip(" *`\t") for cell in line.strip().strip("|").split("|")]
        if {"model", "test", "t/s"} <= set(cells):
            head, found = cells, True
        elif head is not None and len(cells) == len(head) and not set("".join(cells)) <= set("-: "):
            held = dict(zip(head, cells, strict=True))
            model = model or held["model"]
            rate = re.match(r"([0-9.]{1,12})(?![0-9.])", held["t/s"])
            made = re.match(r"(?:pp(\d{1,7})\+)?tg(\d{1,7})(?!\d)", held["test"])
            if rate and made:
                tokens = float(made[1] or 0) + float(made[2])
                rows.append(_Row(tokens, tokens / _positive(rate[1]), float(_positive(rate[1])), "engine", _ENGINE))
    if not found:
        return None
    return Measured(tuple(map(_weighed, rows)) or (_nothing("llama-bench"),), "published", engine="llama.cpp",
                    no_counter="a published file has none", model=model[:200])


def _nothing(name: str) -> Run:
    return Run("published", counted_by="unknown", error=f"a file of {name} without a figure of generated tokens")


def _weighed(row: _Row) -> Run:
    """Return the row as a run, with what the file itself proves for its count, or against it."""
    way, why = row.way, row.how
    texts = sum(map(len, row.texts))
    summed = sum(row.counts)
    if row.failed:
        way, why = "unknown", f"{row.failed:.0f} of its requests failed; {row.how}"
    elif row.spoilt:
        way, why = "unknown", f"{row.spoilt}; {row.how}"
    elif not row.tokens or not row.seconds:
        way, why = "unknown", f"it has no tokens or no time; {row.how}"
    elif not row.rate:
        way, why = "unknown", f"it states no rate of tokens, so nothing to hold its count against; {row.how}"
    elif abs(row.rate - row.tokens / row.seconds) > _AGREE * row.rate:
        way, why = "contradiction", (f"{row.tokens:.0f} tokens / {row.seconds:.3f} s = "
                                     f"{row.tokens / row.seconds:.2f}, the file says {row.rate:.2f}")
    elif row.counts and abs(summed - row.tokens) > _AGREE * row.tokens:
        way, why = "contradiction", f"its requests have {summed:.0f} tokens together, the total says {row.tokens:.0f}"
    elif row.hidden and row.again and row.again < (1 - _RETOKENISED) * row.tokens:
        way, why = "unknown", (f"it counted {row.tokens:.0f} tokens, and its own tokenizer makes {row.again:.0f} of "
                               f"the text: usage is too high, or {row.hidden}; the file cannot say which")
    elif row.again and abs(row.again - row.tokens) > _RETOKENISED * row.tokens:
        way, why = "contradiction", (f"it counted {row.tokens:.0f} tokens, and its own tokenizer makes "
                                     f"{row.again:.0f} of the text")
    elif row.hidden and row.texts and texts < _CHARS[0] * row.tokens:
        way, why = "unknown", (f"{row.tokens:.0f} tokens for {texts} characters of text, {texts / row.tokens:.2f} a "
                               f"token: usage is too high, or {row.hidden}; the file cannot say which")
    elif texts and not _CHARS[0] <= texts / row.tokens <= _CHARS[1]:
        way, why = "contradiction", (f"{row.tokens:.0f} tokens for {texts} characters of text, "
                                     f"{texts / row.tokens:.2f} a token")
    elif row.way == USAGE and not (row.again or texts):
        way, why = "claimed", f"{row.how}; the file keeps neither texts nor a second count"
    elif row.way == "asked" and not (row.again or texts):
        way, why = "unknown", f"{row.how}; the file keeps nothing of what was delivered"
    elif row.again:
        why = f"{row.how}; {row.tokens:.0f} tokens, and its own tokenizer makes {row.again:.0f} of the text"
    elif texts:
        why = f"{row.how}; {texts / row.tokens:.2f} characters a token"
    # The text is weighed here; a run's own limits are of single streams.
    usage = Usage(0, int(row.tokens)) if way == USAGE else None
    return Run("timed" if row.streams == 1 else "published", int(row.tokens), usage, last_s=row.seconds or None,
        error=why,
               group=row.streams, finish="length" if way == USAGE else None, counted_by=way)


_USAGE_OR = "the client takes usage where the server sends it, and otherwise its own tokenizer's count of the text"
_ENGINE = "the engine's own loop over random tokens: no server, no sampling and no text, so no request gets it"


_BEHIND = "tokens behind an end that it asked to ignore had no text"


def _vllm(data: Mapping[str, Any]) -> Iterator[_Row]:
    if not data.get("total_output_tokens") and not data.get("output_throughput") and not data.get("failed"):
        return          # cut down to its times, as some publish it
    done, asked = _number(data.get("completed")), _number(data.get("num_prompts"))
    # Earlier versions write no failed.
    failed = max(_number(data.get("failed")), asked - done if "completed" in data else 0, _errors(data))
    yield _Row(_number(data.get("total_output_tokens")), _number(data.get("duration")),
               _number(data.get("output_throughput")), USAGE,
               f"vLLM's bench serve: {_USAGE_OR}; its TTFT may be that of a chunk with only a role",
               int(_number(data.get("max_concurrency")) or _number(data.get("multi_turn_concurrency")) or 2), failed,
               _numbers(data.get("output_lens")), _texts(data.get("generated_texts")),
               hidden=f"its chat client keeps no reasoning, or {_BEHIND}")


#: Backends of its /generate, where every event states the engine's own count (meta_info.completion_tokens).
_NATIVE = ("sglang", "sglang-native")


def _sglang(data: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the figure of a file of SGLang's client. Over the OpenAI API it asks for no usage, and so counts what it
    asked for: 544 tokens were published of a server that sent 512 (measured with 0.5.23 and --random-output-len 68).
    The file does not say whether usage came."""
    native = data.get("backend") in _NATIVE
    yield _Row(_number(data["total_output_tokens"]), _number(data["duration"]), _number(data["output_throughput"]),
               USAGE if native else "asked", "SGLang's bench_serving: " + (
                   "the engine's count in each event of /generate" if native else
                   "over the OpenAI API it does not ask for usage: where the server sends none, it counts the length "
                   "that it asked for"),
               max(1, round(_number(data.get("max_concurrency")) or 2)), _errors(data),
               _numbers(data.get("output_lens")), _texts(data.get("generated_texts")),
               _number(data["total_output_tokens_retokenized"]),
               hidden=_BEHIND if native else f"the answers were shorter than it asked for, or {_BEHIND}")


def _errors(data: Mapping[str, Any]) -> int:
    """Return how many requests failed, of files with details: a text for each request, empty where it went well."""
    return sum(bool(each) for each in _texts(data.get("errors")))


def _guidellm(data: Mapping[str, Any]) -> Iterator[_Row]:
    for bench in _dicts(data.get("benchmarks")):
        good = _dicts(_at(bench, "requests", "successful"))
        total = _number(_at(bench, "metrics", "output_token_count", "successful", "total_sum"))
        rate = _number(_at(bench, "metrics", "output_tokens_per_second", "successful", "mean"))
        # A report may keep a sample of its requests: only all of them have the total's tokens and text.
        all_kept = len(good) == _number(_at(bench, "metrics", "request_totals", "successful"))
        # Its rate is over the tokens' own span, not over the benchmark's duration: no quotient to check it by.
        yield _Row(total, total / rate if rate else 0, rate, USAGE, f"guidellm: {_USAGE_OR}",
                   int(_number(_at(bench, "config", "strategy", "streams")) or 2),
                   _number(_at(bench, "metrics", "request_totals", "errored")),
                   texts=[f"{each.get('reasoning_output') or ''}{each.get('output') or ''}" for each in good]
                   if all_kept else (), hidden=_BEHIND)


def _aiperf(data: Mapping[str, Any]) -> Iterator[_Row]:
    rate = _number(_at(data, "output_token_throughput", "avg"))
    requests = _number(_at(data, "request_count", "avg"))
    length = _number(_at(data, "output_sequence_length", "avg"))
    # Both rates are over one span: genai-perf writes none, and aiperf's benchmark_duration is another, from the first
    # request to the last answer: 4.09 s where the rates are over 4.20 s (measured with 0.13.0, 16 requests).
    each_s = _number(_at(data, "request_throughput", "avg"))
    span = requests / each_s if each_s else _number(_at(data, "benchmark_duration", "avg"))
    tokens = requests * length
    empty = _without_text(requests, each_s, tokens, rate)
    config = data.get("input_config")
    way, how, usage = _aiperf_way(data, tokens)
    # Beside usage its own count is the second; its rate is of its own.
    again, tokens, rate = (tokens, usage, rate * usage / tokens) if usage else (0.0, tokens, rate)
    # Schema 1.3 has phases, before it was loadgen; genai-perf's own has it by the stimulus.
    phases = [each for each in _dicts(_at(config, "phases")) if not each.get("exclude_from_results")]
    streams = _number(_at(phases[0], "concurrency")) if len(phases) == 1 else _number(_at(
        config, "loadgen", "concurrency")) or _number(_at(config, "perf_analyzer", "stimulus", "concurrency"))
    failed = _number(_at(data, "error_request_count", "avg")) or sum(
        _number(each.get("count")) for each in _dicts(data.get("error_summary")))
    spoilt = "it was cancelled" if data.get("was_cancelled") is True else (
        f"by its rates {empty} of its {requests + empty:.0f} requests had no text" if empty else "")
    yield _Row(tokens, span, rate, way, how, int(streams or 2), failed,
               again=again, spoilt=spoilt)


def _aiperf_way(data: Mapping[str, Any], tokens: float) -> tuple[str, str, float]:
    """Return how the client counted, the same as a sentence, and the server's usage where that agrees with a count of
    the client's own, else 0."""
    usage = _number(_at(data, "total_usage_completion_tokens", "avg"))
    # It writes how far usage is from its own count; of the server's count alone there is nothing to write.
    beside = usage > 0 and isinstance(_at(data, "usage_completion_tokens_diff_pct"), dict)
    if _at(data, "input_config", "endpoint", "use_server_token_count") is True or (usage and not beside):
        return USAGE, "aiperf with the server's own token count", 0.0
    if beside and tokens and abs(usage - tokens) <= _RETOKENISED * usage:
        return USAGE, "aiperf with the server's usage beside its own count", usage
    if not isinstance(data.get("input_config"), dict):
        return "unknown", "aiperf or genai-perf without its input_config, which says whose count it takes", 0.0
    return "tokenizer", ("aiperf and genai-perf count the text with a tokenizer of their own: right only where it is "
                         "the model's, and without what the server does not show" + (
                             f"; it counts {tokens:.0f} tokens, the server's usage says {usage:.0f}" if beside else "")
                         ), 0.0


def _without_text(counted: float, each_s: float, tokens: float, rate: float) -> int:
    """Return how many requests had no text. genai-perf's rate of requests counts those too, its request_count and its
    tokens do not: 5.41 of 16, where request_count is 12 (measured with 0.0.16)."""
    every = each_s * tokens / rate if rate else 0.0
    # Published rates are rounded.
    return round(every - counted) if 1e-3 * counted < every - counted < 1e9 else 0


def _llama_bench(data: Mapping[str, Any]) -> Iterator[_Row]:
    made, rate, stated_ns = _number(data["n_gen"]), _number(data["avg_ts"]), _number(data.get("avg_ns"))
    if made:
        both = made + _number(data.get("n_prompt"))
        # avg_ts is the mean of the samples' rates, which is not the rate of their mean time.
        spans = [each for each in _numbers(data.get("samples_ns")) if each]
        mean = sum(both / each for each in spans) * 1e9 / len(spans) if spans else (
            both * 1e9 / stated_ns if stated_ns else 0.0)
        yield _Row(both, both / mean if mean else 0, rate, "engine", f"llama-bench: {_ENGINE}")


def _completion_stats(data: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the rows of llm-inference-bench's other mode: whole answers, a row each."""
    for run in _dicts(data.get("runs")):
        guessed = bool(run.get("estimated_tokens"))
        yield _Row(_number(run.get("completion_tokens")), _number(run.get("elapsed")), _number(run.get("e2e_tok_s")),
                   "unknown" if guessed else USAGE, "llm-inference-bench's completion statistics: "
                   + ("it says itself that it estimated these tokens" if guessed else "usage of each whole answer"),
                   max(1, int(_number(run.get("concurrency")))), 0 if run.get("ok") else 1,
                   texts=_texts([f"{run.get('reasoning_text') or ''}{run.get('content_text') or ''}"]))


#: evalscope's names at fde259d2 (2026-08, perf_constants.py), and those until 1.3.
_TIME = ("Test Duration (s)", "Time taken for tests (s)")
_RATE = ("Output Throughput (tok/s)", "Output token throughput (tok/s)")


def _evalscope(data: Mapping[str, Any]) -> Iterator[_Row]:
    def either(*names: str) -> float:
        return next((_number(data[name]) for name in names if name in data), 0.0)

    span, rate = either(*_TIME), either(*_RATE)
    tokens = either("Avg Output Tokens", "Average output tokens per request") * either(
        "Success Requests", "Succeed requests")
    yield _Row(tokens or rate * span, span, rate, USAGE, f"evalscope perf: {_USAGE_OR}",
               int(either("Concurrency", "Number of concurrency") or 2), either("Failed Requests", "Failed requests"))


_Reader = Callable[[Mapping[str, Any]], Iterator[_Row]]
#: Keys that all have to be there; the first that fits is taken.
_READERS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "SGLang bench_serving": (("total_output_tokens_retokenized", "total_output_tokens", "duration",
        "output_throughput"),
                             _sglang),
    "vLLM bench serve": (("total_output_tokens", "duration", "output_throughput", "completed"), _vllm),
    "vLLM bench serve, times only": (("tokenizer_id", "num_prompts", "mean_ttft_ms", "mean_tpot_ms"), _vllm),
    "guidellm": (("benchmarks", "metadata"), _guidellm),
    "llm-inference-bench": (("metadata", "runs", "methodology", "level_summaries"), _completion_stats),
    "aiperf": (("output_token_throughput", "request_latency", "output_sequence_length"), _aiperf),
    "llama-bench": (("n_gen", "n_prompt", "avg_ts", "build_commit"), _llama_bench),
    "evalscope": ((_RATE[0], _TIME[0]), _evalscope),
    "evalscope, earlier names": ((_RATE[1], _TIME[1]), _evalscope),
}


def _at(data: object, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _numbers(value: object) -> list[float]:
    return [_number(each) for each in value] if isinstance(value, list) else []


def _number(value: object) -> float:
    """Return the value as a number; 0 for what is no finite number of tokens, seconds or requests."""
    good = isinstance(value, (int, float)) and not isinstance(value,
        bool) and math.isfinite(value) and 0 <= value < 1e15
    return float(value) if good else 0.0  # type: ignore[arg-type]


def _positive(text: str) -> float:
    try:
        return max(1e-9, float(text))
    except ValueError:
        return 1e-9
