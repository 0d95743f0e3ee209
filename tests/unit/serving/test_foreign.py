"""Result files of other clients: how each counts, what its file proves, and no accusation without evidence."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import UsageError
from tunecheck.serving.files import read
from tunecheck.serving.foreign import measured_of_foreign, recognised
from tunecheck.serving.verdict import Want, judge

#: The shapes are those of the clients' own files: vLLM 0.33.0, SGLang 0.5.23, guidellm 0.8.1, aiperf 0.13.0.
_VLLM: dict[str, Any] = {"date": "x", "backend": "openai-chat", "model_id": "m", "num_prompts": 2, "max_concurrency": 4,
                         "duration": 10.0, "completed": 2, "failed": 0, "total_input_tokens": 40,
                         "total_output_tokens": 1000, "output_throughput": 100.0, "mean_ttft_ms": 3.5}
_SGLANG: dict[str, Any] = {"backend": "sglang", "duration": 10.0, "completed": 2, "total_output_tokens": 1000,
                           "total_output_tokens_retokenized": 990, "output_throughput": 100.0, "max_concurrency": 4}
_BENCH: dict[str, Any] = {"build_commit": "abc", "model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128,
                          "avg_ts": 128.0, "stddev_ts": 1.0, "samples_ns": [1_000_000_000, 1_000_000_000]}
_AIPERF: dict[str, Any] = {"output_token_throughput": {"unit": "tokens/sec", "avg": 100.0},
                           "request_count": {"avg": 20.0}, "request_latency": {"avg": 1900.0},
                           "time_to_first_token": {"unit": "ms", "avg": 500.0}, "output_sequence_length": {"avg": 50.0},
                           "benchmark_duration": {"avg": 10.0}, "input_config": {"endpoint": {}}}
_EVALSCOPE: dict[str, Any] = {"Time taken for tests (s)": 10.0, "Number of concurrency": 4, "Succeed requests": 20,
                              "Failed requests": 0, "Output token throughput (tok/s)": 100.0,
                              "Average output tokens per request": 50.0}
#: The names that evalscope writes since 2026.
_EVALSCOPE_NEW: dict[str, Any] = {"Test Duration (s)": 20.0, "Concurrency": 8, "Success Requests": 40,
                                  "Failed Requests": 0, "Output Throughput (tok/s)": 300.0, "Avg Output Tokens": 150.0}
#: genai-perf: no duration, no stream; its older versions have no request_count either.
_GENAI: dict[str, Any] = {"request_throughput": {"unit": "requests/sec", "avg": 2.0},
                          "request_latency": {"unit": "ms", "avg": 480.0}, "request_count": {"avg": 60.0},
                          "output_token_throughput": {"unit": "tokens/sec", "avg": 180.0},
                          "output_sequence_length": {"unit": "tokens", "avg": 90.0}, "input_config": {
                              "model_names": ["m"], "perf_analyzer": {"stimulus": {"concurrency": 3}}}}
#: genai-perf 0.0.16, run here on lab/paced_server.py, of whose 16 answers 4 had no text: its own figures.
_GENAI_EMPTY: dict[str, Any] = {**_GENAI, "request_throughput": {"avg": 5.413416645716265},
                                "request_count": {"avg": 12.0}, "output_sequence_length": {"avg": 64.0},
                                "output_token_throughput": {"avg": 259.84399899438074}}
#: SGLang 0.5.23 bench_serving --backend sglang-oai-chat --random-output-len 68, run here on lab/paced_server.py, which
#: sent 8 answers of 64 words, and usage to nobody who did not ask: its own figures.
_SGLANG_ASKED: dict[str, Any] = {"backend": "sglang-oai-chat", "completed": 8, "duration": 1.801521612011129,
                                 "total_output_tokens": 544, "total_output_tokens_retokenized": 512,
                                 "output_throughput": 301.9669574725254, "max_concurrency": 4}
#: aiperf 0.13.0 on the same server, with a tokenizer of its own and with --use-server-token-count: its own figures.
_AIPERF_OWN: dict[str, Any] = {**_AIPERF, "request_count": {"avg": 16.0}, "output_sequence_length": {"avg": 64.0},
                               "request_throughput": {"avg": 3.8046690138154906},
                               "output_token_throughput": {"avg": 243.4988168841914},
                               "benchmark_duration": {"avg": 4.199141632},
                               "usage_completion_tokens_diff_pct": {"avg": 0.0},
                               "total_usage_completion_tokens": {"avg": 1024.0}}
_AIPERF_SERVER: dict[str, Any] = {
    **{name: held for name, held in _AIPERF_OWN.items() if name != "usage_completion_tokens_diff_pct"},
    "request_throughput": {"avg": 3.8058391446728943}, "output_token_throughput": {"avg": 243.57370525906524},
    "benchmark_duration": {"avg": 4.091032832}, "input_config": {"endpoint": {"use_server_token_count": True}}}
#: evalscope perf 1.14.1 --open-loop --rate 6 on the same server: its own figures.
_EVALSCOPE_OPEN: dict[str, Any] = {"Test Duration (s)": 3.2327, "Concurrency": -1, "Request Rate (req/s)": 6.0,
                                   "Total Requests": 16, "Success Requests": 16, "Failed Requests": 0,
                                   "Output Throughput (tok/s)": 316.7669, "Avg Output Tokens": 64.0}
#: As some publish vLLM's file: the times alone.
_VLLM_TIMES: dict[str, Any] = {"backend": "vllm", "model_id": "m", "tokenizer_id": "m", "num_prompts": 20,
                               "mean_ttft_ms": 150.0, "mean_tpot_ms": 60.0}


def _guidellm(text: str, tokens: float = 100.0, kept: int = 1) -> dict[str, Any]:
    return {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [{
        "config": {"strategy": {"type_": "concurrent", "streams": 4}},
        "metrics": {"request_totals": {"successful": 1, "errored": 0},
                    "output_token_count": {"successful": {"total_sum": tokens}},
                    "output_tokens_per_second": {"successful": {"mean": 50.0}}},
        "requests": {"successful": [{"output": text}] * kept}}]}


def _whole_answers(**more: Any) -> dict[str, Any]:
    """llm-inference-bench 0.4.10, mode completion_stats."""
    return {"metadata": {"mode": "completion_stats", "model": "m"}, "methodology": {}, "level_summaries": [], "runs": [
        {"concurrency": 1, "ok": True, "completion_tokens": 1000, "elapsed": 10.0, "e2e_tok_s": 100.0,
         "estimated_tokens": False, "content_text": "", "reasoning_text": "", **more}]}


_TABLE = """
| model              |     size |   params | backend | ngl |  test |            t/s |
| ------------------ | -------: | -------: | ------- | --: | ----: | -------------: |
| qwen35 122B Q4_K_M | 70.1 GiB | 122.00 B | CUDA    |  99 | pp512 | 2710.00 ± 5.00 |
| qwen35 122B Q4_K_M | 70.1 GiB | 122.00 B | CUDA    |  99 | tg128 |   79.00 ± 0.20 |
"""


_CASES: list[tuple[Any, str, str]] = [
    (_VLLM, "unknown", "the file keeps neither texts nor a second count"),
    ({**_VLLM, "generated_texts": ["x" * 4000], "output_lens": [500, 500]}, "pass", "4.00 characters a token"),
    ({**_VLLM, "output_throughput": 480.0}, "fail", "1000 tokens / 10.000 s = 100.00, the file says 480.00"),
    ({**_VLLM, "output_lens": [100, 108]}, "fail", "its requests have 208 tokens together"),
    # Reasoning that its chat client does not keep, or tokens behind an ignored end: nobody is accused.
    ({**_VLLM, "generated_texts": ["x" * 400]}, "unknown", "1000 tokens for 400 characters of text"),
    ({**_VLLM, "generated_texts": [""]}, "unknown", "keeps no reasoning"),
    ({**_VLLM, "generated_texts": ["x" * 9500]}, "fail", "1000 tokens for 9500 characters of text"),
    ({**_VLLM, "num_prompts": 5}, "unknown", "3 of its requests failed"),
    ({**_VLLM, "errors": ["", "Bad Gateway"]}, "unknown", "1 of its requests failed"),
    ({**_VLLM, "completed": 0, "failed": 2, "total_output_tokens": 0, "output_throughput": 0.0}, "unknown",
     "2 of its requests failed"),
    (_VLLM_TIMES, "unknown", "without a figure of generated tokens"),
    ([_SGLANG, {}], "unknown", "1 of 2 entries of the file cannot be read"),
    ({**_VLLM, "failed": 3}, "unknown", "3 of its requests failed"),
    ({**_VLLM, "duration": 0.0}, "unknown", "no tokens or no time"),
    (_SGLANG, "pass", "its own tokenizer makes 990 of the text"),
    # Over the OpenAI API its count may be the length that it asked for, and usage that never came proves nothing.
    (_SGLANG_ASKED, "warn", "544 tokens, and its own tokenizer makes 512 of the text"),
    ({name: held for name, held in _SGLANG.items() if name != "backend"}, "warn", "does not ask for usage"),
    ({**_SGLANG, "backend": "vllm-chat"}, "warn", "it counts the length that it asked for"),
    ({**_SGLANG, "backend": "sglang-native"}, "pass", "the engine's count in each event of /generate"),
    ({**_SGLANG_ASKED, "total_output_tokens_retokenized": 256}, "unknown", "the answers were shorter than it asked"),
    ({**_SGLANG_ASKED, "total_output_tokens_retokenized": 0}, "unknown", "keeps nothing of what was delivered"),
    ({**_SGLANG, "total_output_tokens_retokenized": 210}, "unknown", "tokens behind an end that it asked to ignore"),
    ({**_SGLANG, "total_output_tokens_retokenized": 1210}, "fail", "its own tokenizer makes 1210 of the text"),
    (_guidellm("x" * 430), "pass", "4.30 characters a token"),
    (_guidellm("x" * 43), "unknown", "0.43 a token"),
    (_guidellm("x" * 990), "fail", "9.90 a token"), (_guidellm("x", kept=0), "unknown", "neither texts nor"),
    (_AIPERF, "warn", "a tokenizer of their own"),
    ({**_AIPERF, "input_config": {"endpoint": {"use_server_token_count": True}}}, "unknown", "server's own token"),
    # Its rates are over another span than its benchmark_duration.
    (_AIPERF_OWN, "pass", "1024 tokens, and its own tokenizer makes 1024 of the text"),
    (_AIPERF_SERVER, "unknown", "server's own token count; the file keeps neither"),
    ({**_AIPERF_SERVER, "input_config": {}}, "unknown", "server's own token count; the file keeps neither"),
    ({**_AIPERF_OWN, "total_usage_completion_tokens": {"avg": 4915.0}}, "warn", "the server's usage says 4915"),
    ({**_AIPERF_OWN, "total_usage_completion_tokens": {"avg": 700.0}}, "warn", "the server's usage says 700"),
    ({**_AIPERF_OWN, "output_token_throughput": {"avg": 480.0}}, "fail", "= 243.50, the file says 480.00"),
    ({**_AIPERF_OWN, "output_sequence_length": {"avg": 128.0}}, "unknown", "16 of its 32 requests had no text"),
    ({**_AIPERF, "was_cancelled": True}, "unknown", "it was cancelled"),
    ({**_AIPERF, "error_summary": [{"error_details": {"code": 500}, "count": 4}]}, "unknown", "4 of its requests"),
    (_GENAI, "warn", "a tokenizer of their own"),
    ({**_GENAI, "output_token_throughput": {"avg": 400.0}}, "fail", "= 180.00, the file says 400.00"),
    (_GENAI_EMPTY, "unknown", "4 of its 16 requests had no text"),
    ({**_GENAI_EMPTY, "output_token_throughput": {"avg": 500.0}}, "fail", "= 346.46, the file says 500.00"),
    ({**_GENAI_EMPTY, "output_token_throughput": {}}, "unknown", "it states no rate of tokens"),
    ({**_AIPERF, "output_token_throughput": {}}, "unknown", "it states no rate of tokens"),
    ({name: held for name, held in _GENAI.items() if name != "request_count"}, "unknown", "no tokens or no time"),
    # The mean of the samples' rates, 150, is not the rate of their mean time, 133.
    ([{**_BENCH, "n_gen": 100, "avg_ts": 150.0, "samples_ns": [500_000_000, 1_000_000_000]}], "warn", "no server"),
    ([_BENCH], "warn", "no server, no sampling and no text"),
    ([{**_BENCH, "avg_ts": 500.0}], "fail", "the file contradicts itself"),
    ([{**_BENCH, "n_gen": 0, "n_prompt": 512}], "unknown", "without a figure of generated tokens"),
    (_whole_answers(), "unknown", "neither texts nor a second count"),
    (_whole_answers(content_text="x" * 4000), "pass", "4.00 characters a token"),
    (_whole_answers(content_text="x" * 400), "fail", "0.40 a token"),
    (_whole_answers(e2e_tok_s=480.0), "fail", "the file says 480.00"),
    (_whole_answers(estimated_tokens=True), "unknown", "it says itself that it estimated"),
    (_whole_answers(ok=False), "unknown", "1 of its requests failed"),
    (_EVALSCOPE, "unknown", "neither texts nor a second count"),
    ({**_EVALSCOPE, "Average output tokens per request": 10.0}, "fail", "= 20.00, the file says 100.00"),
    (_EVALSCOPE_NEW, "unknown", "neither texts nor a second count"),
    (_EVALSCOPE_OPEN, "unknown", "neither texts nor a second count"),
    ({**_EVALSCOPE_NEW, "Output Throughput (tok/s)": 900.0}, "fail", "= 300.00, the file says 900.00"),
    ({**_EVALSCOPE_NEW, "Failed Requests": 2}, "unknown", "2 of its requests failed"),
    (_TABLE.replace("79.00 ± 0.20", "**79.00 ± 0.20**"), "warn", "1 of 1 runs"),
    (_TABLE.replace("±", "\N{REPLACEMENT CHARACTER}").replace("tg128", "pp512+tg128"), "warn", "1 of 1 runs"),
    (f"{_TABLE}\ntext\n\n| model | test | t/s |\n|---|--:|--:|\n| other | tg64 @ d4096 | 12.5 ± 0.1 |\n", "warn",
     "2 of 2 runs"),
    (_TABLE, "warn", "no server, no sampling and no text"),
    ([{**_BENCH, "samples_ns": [], "avg_ns": 1_000_000_000}], "warn", "no server, no sampling"),
]


@pytest.mark.parametrize(("data", "outcome", "says"), _CASES)
def test_each_client(tmp_path: Path, data: Any, outcome: str, says: str) -> None:
    (tmp_path / "f").write_text(data if isinstance(data, str) else json.dumps(data))
    found = judge(read(str(tmp_path / "f")), Want())
    usage = next(each for each in found if each.id == "usage")
    assert (usage.outcome, says in usage.text) == (outcome, True), usage
    assert not any("nonce" in each.text or "NaN" in each.text for each in found)


#: What only its own presence tells: a client without failures writes the same as one whose failures were taken out,
#: and so it is with whose count it takes.
_SAYS_ALONE = {"error_summary", "count", "was_cancelled", "errors", "failed", "Failed Requests", "num_prompts",
               "estimated_tokens", "endpoint", "use_server_token_count", "total_usage_completion_tokens"}


def _spots(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key of every mapping in it."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if isinstance(data, dict):
            yield (*path, key)
        yield from _spots(value, (*path, key))


def _accepted(data: Any) -> bool:
    if not recognised(data):
        return False
    found = [each.outcome for each in judge(measured_of_foreign(data), Want()) if each.id == "usage"]
    return bool(found) and set(found) <= {"pass", "warn"}


@pytest.mark.parametrize("data", [each for each, outcome, _ in _CASES if outcome in ("fail", "unknown")])
def test_what_is_taken_out_of_a_file_makes_it_no_better(data: Any) -> None:
    for path in _spots(data):
        less = copy.deepcopy(data)
        part = less
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        assert _SAYS_ALONE.intersection(path) or not _accepted(less), path


def _usage(path: Path) -> str:
    return "; ".join(f"{each.outcome} {each.text}" for each in judge(read(str(path)), Want()) if each.id == "usage")


def test_every_line_of_json_is_a_figure(tmp_path: Path) -> None:
    """SGLang's client appends a line a run, llama-bench -o jsonl writes one a test, the prompts' among them."""
    path = tmp_path / "f"
    path.write_text(f"{json.dumps({**_SGLANG, 'output_throughput': 7.0})}\n{json.dumps(_SGLANG)}\n")
    assert "fail" in _usage(path) and "1 of 2 runs" in _usage(path) and "the file says 7.00" in _usage(path)
    prompt = {**_BENCH, "n_gen": 0, "n_prompt": 512}
    path.write_text("\n".join(map(json.dumps, (_BENCH, _BENCH, prompt))))
    assert _usage(path).startswith("warn") and "2 of 2 runs" in _usage(path)
    path.write_text(f"{json.dumps(_SGLANG)}\n{json.dumps(_SGLANG)[:90]}")
    assert "unknown" in _usage(path) and "1 of 2 entries" in _usage(path)


@pytest.mark.parametrize(("data", "model", "streams"), [
    ({**_SGLANG, "server_info": {"model_path": "org/m"}}, "org/m", 4),
    ({**_AIPERF, "input_config": {"endpoint": {"model_names": ["org/m"]}, "loadgen": {"concurrency": 6}}}, "org/m", 6),
    ({**_AIPERF, "input_config": {"models": {"items": [{"name": "m"}]}, "phases": [
        {"name": "warmup", "exclude_from_results": True, "concurrency": 1}, {"name": "profiling", "concurrency": 9}]}},
     "m", 9), (_GENAI, "m", 3), (_EVALSCOPE_NEW, "", 8),
    (_EVALSCOPE_OPEN, "", 2)])
def test_model_and_streams(tmp_path: Path, data: Any, model: str, streams: int) -> None:
    (tmp_path / "f").write_text(json.dumps(data))
    seen = read(str(tmp_path / "f"))
    assert (seen.model, seen.runs[0].group) == (model, streams)


@pytest.mark.parametrize("data", [
    {**_VLLM, "total_output_tokens": "x", "duration": None, "output_throughput": float("nan"), "output_lens": 3},
    {"metadata": 3, "benchmarks": [3, {"metrics": 3, "config": []}]}, {**_BENCH, "samples_ns": "x", "n_gen": [1]},
    {**_AIPERF, "request_count": 3, "input_config": None}, "| model | test | t/s |\n| m | tg0 | 9 |\n| m | tgx | . |"])
def test_hostile_files(tmp_path: Path, data: Any) -> None:
    (tmp_path / "f").write_text(data if isinstance(data, str) else json.dumps(data))
    try:
        found = judge(read(str(tmp_path / "f")), Want())
    except UsageError:
        return
    assert next(each for each in found if each.id == "usage").outcome in ("unknown", "warn")
