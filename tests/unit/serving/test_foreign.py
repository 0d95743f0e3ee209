"""Result files of other clients: how each counts, what its file proves, and no accusation without evidence."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
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


#: Each code's outcome.
_OUTCOMES = {"ok": "pass", "claimed": "unknown", "counting-unknown": "unknown", "contradiction": "fail",
             "asked-not-delivered": "warn", "client-tokenizer": "warn", "counted-in-engine": "warn"}
#: A file, the code of its usage, and the figures that stand beside it.
_CASES: list[tuple[Any, str, str]] = [
    (_VLLM, "claimed", ""),
    ({**_VLLM, "generated_texts": ["x" * 4000], "output_lens": [500, 500]}, "ok", "4.00"),
    ({**_VLLM, "output_throughput": 480.0}, "contradiction", "1000 10.000 100.00 480.00"),
    ({**_VLLM, "output_lens": [100, 108]}, "contradiction", "208"),
    # Reasoning that its chat client does not keep, or tokens behind an ignored end: nobody is accused.
    ({**_VLLM, "generated_texts": ["x" * 400]}, "counting-unknown", "1000 400"),
    ({**_VLLM, "generated_texts": [""]}, "counting-unknown", "0 0.00"),
    ({**_VLLM, "generated_texts": ["x" * 9500]}, "contradiction", "1000 9500"),
    ({**_VLLM, "num_prompts": 5}, "counting-unknown", "3"),
    ({**_VLLM, "errors": ["", "Bad Gateway"]}, "counting-unknown", "1 1 1"),
    ({**_VLLM, "completed": 0, "failed": 2, "total_output_tokens": 0, "output_throughput": 0.0}, "counting-unknown",
     "2"),
    (_VLLM_TIMES, "counting-unknown", ""),
    ([_SGLANG, {}], "counting-unknown", "1 1 2 2"),
    ({**_VLLM, "failed": 3}, "counting-unknown", "3"),
    ({**_VLLM, "duration": 0.0}, "counting-unknown", ""),
    (_SGLANG, "ok", "990"),
    # Over the OpenAI API its count may be the length that it asked for, and usage that never came proves nothing.
    (_SGLANG_ASKED, "asked-not-delivered", "544 512"),
    ({name: held for name, held in _SGLANG.items() if name != "backend"}, "asked-not-delivered", ""),
    ({**_SGLANG, "backend": "vllm-chat"}, "asked-not-delivered", ""),
    ({**_SGLANG, "backend": "sglang-native"}, "ok", ""),
    ({**_SGLANG_ASKED, "total_output_tokens_retokenized": 256}, "counting-unknown", "544 256"),
    ({**_SGLANG_ASKED, "total_output_tokens_retokenized": 0}, "counting-unknown", ""),
    ({**_SGLANG, "total_output_tokens_retokenized": 210}, "counting-unknown", "1000 210"),
    ({**_SGLANG, "total_output_tokens_retokenized": 1210}, "contradiction", "1210"),
    (_guidellm("x" * 430), "ok", "4.30"),
    (_guidellm("x" * 43), "counting-unknown", "0.43"),
    (_guidellm("x" * 990), "contradiction", "9.90"), (_guidellm("x", kept=0), "claimed", ""),
    (_AIPERF, "client-tokenizer", ""),
    ({**_AIPERF, "input_config": {"endpoint": {"use_server_token_count": True}}}, "claimed", ""),
    # Its rates are over another span than its benchmark_duration.
    (_AIPERF_OWN, "ok", "1024 1024"),
    (_AIPERF_SERVER, "claimed", ""),
    ({**_AIPERF_SERVER, "input_config": {}}, "claimed", ""),
    ({**_AIPERF_OWN, "total_usage_completion_tokens": {"avg": 4915.0}}, "client-tokenizer", "4915"),
    ({**_AIPERF_OWN, "total_usage_completion_tokens": {"avg": 700.0}}, "client-tokenizer", "700"),
    ({**_AIPERF_OWN, "output_token_throughput": {"avg": 480.0}}, "contradiction", "243.50 480.00"),
    ({**_AIPERF_OWN, "output_sequence_length": {"avg": 128.0}}, "counting-unknown", "16 32"),
    ({**_AIPERF, "was_cancelled": True}, "counting-unknown", ""),
    ({**_AIPERF, "error_summary": [{"error_details": {"code": 500}, "count": 4}]}, "counting-unknown", "4"),
    (_GENAI, "client-tokenizer", ""),
    ({**_GENAI, "output_token_throughput": {"avg": 400.0}}, "contradiction", "180.00 400.00"),
    (_GENAI_EMPTY, "counting-unknown", "4 16"),
    ({**_GENAI_EMPTY, "output_token_throughput": {"avg": 500.0}}, "contradiction", "346.46 500.00"),
    ({**_GENAI_EMPTY, "output_token_throughput": {}}, "counting-unknown", ""),
    ({**_AIPERF, "output_token_throughput": {}}, "counting-unknown", ""),
    ({name: held for name, held in _GENAI.items() if name != "request_count"}, "counting-unknown", ""),
    # The mean of the samples' rates, 150, is not the rate of their mean time, 133.
    ([{**_BENCH, "n_gen": 100, "avg_ts": 150.0, "samples_ns": [500_000_000, 1_000_000_000]}], "counted-in-engine", ""),
    ([_BENCH], "counted-in-engine", ""),
    ([{**_BENCH, "avg_ts": 500.0}], "contradiction", "128.00 500.00"),
    ([{**_BENCH, "n_gen": 0, "n_prompt": 512}], "counting-unknown", ""),
    (_whole_answers(), "claimed", ""),
    (_whole_answers(content_text="x" * 4000), "ok", "4.00"),
    (_whole_answers(content_text="x" * 400), "contradiction", "0.40"),
    (_whole_answers(e2e_tok_s=480.0), "contradiction", "480.00"),
    (_whole_answers(estimated_tokens=True), "counting-unknown", ""),
    (_whole_answers(ok=False), "counting-unknown", "1 1 1"),
    (_EVALSCOPE, "claimed", ""),
    ({**_EVALSCOPE, "Average output tokens per request": 10.0}, "contradiction", "20.00 100.00"),
    (_EVALSCOPE_NEW, "claimed", ""),
    (_EVALSCOPE_OPEN, "claimed", ""),
    ({**_EVALSCOPE_NEW, "Output Throughput (tok/s)": 900.0}, "contradiction", "300.00 900.00"),
    ({**_EVALSCOPE_NEW, "Failed Requests": 2}, "counting-unknown", "2"),
    (_TABLE.replace("79.00 ± 0.20", "**79.00 ± 0.20**"), "counted-in-engine", "1 1"),
    (_TABLE.replace("±", "\N{REPLACEMENT CHARACTER}").replace("tg128", "pp512+tg128"), "counted-in-engine", "1 1"),
    (f"{_TABLE}\ntext\n\n| model | test | t/s |\n|---|--:|--:|\n| other | tg64 @ d4096 | 12.5 ± 0.1 |\n",
     "counted-in-engine", "2 2"),
    (_TABLE, "counted-in-engine", ""),
    ([{**_BENCH, "samples_ns": [], "avg_ns": 1_000_000_000}], "counted-in-engine", ""),
]


@pytest.mark.parametrize(("data", "code", "figures"), _CASES)
def test_each_client(tmp_path: Path, data: Any, code: str, figures: str) -> None:
    (tmp_path / "f").write_text(data if isinstance(data, str) else json.dumps(data))
    found = judge(read(str(tmp_path / "f")), Want())
    usage = next(each for each in found if each.id == "usage")
    assert (usage.outcome, usage.code) == (_OUTCOMES[code], code), usage
    assert not Counter(figures.split()) - Counter(re.findall(r"\d+(?:\.\d+)?", usage.text)), usage
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


@pytest.mark.parametrize("data", [each for each, code, _ in _CASES if _OUTCOMES[code] in ("fail", "unknown")])
def test_what_is_taken_out_of_a_file_makes_it_no_better(data: Any) -> None:
    for path in _spots(data):
        less = copy.deepcopy(data)
        part = less
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        assert _SAYS_ALONE.intersection(path) or not _accepted(less), path


def _usage(path: Path) -> dict[str, list[str]]:
    """Each code of it, with the figures in its text."""
    return {each.code: re.findall(r"\d+(?:\.\d+)?", each.text) for each in judge(read(str(path)), Want())
            if each.id == "usage"}


def test_every_line_of_json_is_a_figure(tmp_path: Path) -> None:
    """SGLang's client appends a line a run, llama-bench -o jsonl writes one a test, the prompts' among them."""
    path = tmp_path / "f"
    path.write_text(f"{json.dumps({**_SGLANG, 'output_throughput': 7.0})}\n{json.dumps(_SGLANG)}\n")
    assert _usage(path) == {"contradiction": ["1", "2", "1000", "10.000", "100.00", "7.00"]}
    prompt = {**_BENCH, "n_gen": 0, "n_prompt": 512}
    path.write_text("\n".join(map(json.dumps, (_BENCH, _BENCH, prompt))))
    assert _usage(path) == {"counted-in-engine": ["2", "2"]}
    path.write_text(f"{json.dumps(_SGLANG)}\n{json.dumps(_SGLANG)[:90]}")
    assert _usage(path) == {"counting-unknown": ["1", "2", "1", "2"]}


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
