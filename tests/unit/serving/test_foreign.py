"""Result files of other clients: how each counts, what its file proves, and no accusation without evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import UsageError
from tunecheck.serving.files import read
from tunecheck.serving.verdict import Want, judge

#: The shapes are those of the clients' own files: vLLM 0.33.0, SGLang 0.5.23, guidellm 0.8.1, aiperf 0.13.0.
_VLLM: dict[str, Any] = {"date": "x", "backend": "openai-chat", "model_id": "m", "num_prompts": 2, "max_concurrency": 4,
                         "duration": 10.0, "completed": 2, "failed": 0, "total_input_tokens": 40,
                         "total_output_tokens": 1000, "output_throughput": 100.0, "mean_ttft_ms": 3.5}
_SGLANG: dict[str, Any] = {"backend": "sglang-oai", "duration": 10.0, "completed": 2, "total_output_tokens": 1000,
                           "total_output_tokens_retokenized": 990, "output_throughput": 100.0, "max_concurrency": 4}
_BENCH: dict[str, Any] = {"build_commit": "abc", "model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128,
                          "avg_ts": 128.0, "stddev_ts": 1.0, "samples_ns": [1_000_000_000, 1_000_000_000]}
_AIPERF: dict[str, Any] = {"output_token_throughput": {"unit": "tokens/sec", "avg": 100.0},
                           "request_count": {"avg": 20.0},
                           "time_to_first_token": {"unit": "ms", "avg": 500.0}, "output_sequence_length": {"avg": 50.0},
                           "benchmark_duration": {"avg": 10.0}, "input_config": {"endpoint": {}}}
_EVALSCOPE: dict[str, Any] = {"Time taken for tests (s)": 10.0, "Number of concurrency": 4, "Succeed requests": 20,
                              "Failed requests": 0, "Output token throughput (tok/s)": 100.0,
                              "Average output tokens per request": 50.0}


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


@pytest.mark.parametrize(("data", "outcome", "says"), [
    (_VLLM, "unknown", "the file keeps neither texts nor a second count"),
    ({**_VLLM, "generated_texts": ["x" * 4000], "output_lens": [500, 500]}, "pass", "4.00 characters a token"),
    ({**_VLLM, "output_throughput": 480.0}, "fail", "1000 tokens / 10.000 s = 100.00, the file says 480.00"),
    ({**_VLLM, "output_lens": [100, 108]}, "fail", "its requests have 208 tokens together"),
    ({**_VLLM, "generated_texts": ["x" * 400]}, "fail", "1000 tokens for 400 characters of text"),
    ({**_VLLM, "failed": 3}, "unknown", "3 of its requests failed"),
    ({**_VLLM, "duration": 0.0}, "unknown", "no tokens or no time"),
    (_SGLANG, "pass", "its own tokenizer makes 990 of the text"),
    ({**_SGLANG, "total_output_tokens_retokenized": 210}, "fail", "its own tokenizer makes 210 of the text"),
    (_guidellm("x" * 430), "pass", "4.30 characters a token"),
    (_guidellm("x" * 43), "fail", "0.43 a token"), (_guidellm("x", kept=0), "unknown", "neither texts nor"),
    (_AIPERF, "warn", "a tokenizer of their own"),
    ({**_AIPERF, "input_config": {"endpoint": {"use_server_token_count": True}}}, "unknown", "server's own token"),
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
    (_TABLE, "warn", "no server, no sampling and no text"),
])
def test_each_client(tmp_path: Path, data: Any, outcome: str, says: str) -> None:
    (tmp_path / "f").write_text(data if isinstance(data, str) else json.dumps(data))
    found = judge(read(str(tmp_path / "f")), Want())
    usage = next(each for each in found if each.id == "usage")
    assert (usage.outcome, says in usage.text) == (outcome, True), usage
    assert not any("nonce" in each.text or "NaN" in each.text for each in found)


def test_lines_of_json_are_read_by_their_last(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{json.dumps(_SGLANG)}\n{json.dumps({**_SGLANG, 'output_throughput': 7.0})}\n")
    assert "the file says 7.00" in str(judge(read(str(tmp_path / "f")), Want()))


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
