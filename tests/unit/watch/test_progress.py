"""Metrics pages: those of engines, those that lie, those that are none."""

from __future__ import annotations

import pytest

from tunecheck.watch.model import Code
from tunecheck.watch.progress import engine_of_page

VLLM = """# HELP vllm:num_requests_running Number of requests in model execution batches.
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 100.0
vllm:generation_tokens_total{engine="0",model_name="m"} 50.0
vllm:iteration_tokens_total_sum{engine="0",model_name="m"} 7.0
"""
SGLANG = """sglang:num_running_reqs{model_name="m",tp_rank="0"} 2.0
sglang:num_queue_reqs{model_name="m"} 0.0
sglang:generation_tokens_total{model_name="m"} 10.0
sglang:prompt_tokens_total{model_name="m"} 4.0
"""
LLAMA = """llamacpp:prompt_tokens_total 12
llamacpp:tokens_predicted_total 30
llamacpp:n_decode_total 31
llamacpp:requests_processing 1
llamacpp:requests_deferred 0
"""


@pytest.mark.parametrize(("text", "running", "waiting", "moved", "generated"), [
    (VLLM, 3, 1, 157.0, 50.0), (SGLANG, 2, 0, 14.0, 10.0), (LLAMA, 1, 0, 73.0, 30.0),
    (VLLM + VLLM.replace('engine="0"', 'engine="1"'), 6, 2, 314.0, 100.0)])
def test_engines(text: str, running: int, waiting: int, moved: float, generated: float) -> None:
    found = engine_of_page(200, text)
    assert (found.running, found.waiting, found.moved, found.generated, found.code) == (
        running, waiting, moved, generated, None)


@pytest.mark.parametrize(("status", "text", "code"), [
    (404, "not found", Code.NO_METRICS), (501, "start it with --metrics", Code.NO_METRICS),
    (500, VLLM, Code.METRICS_UNREADABLE), (200, "<html><body>Welcome</body></html>", Code.METRICS_UNREADABLE),
    (200, "", Code.METRICS_UNREADABLE), (200, "\0" * 1000, Code.METRICS_UNREADABLE),
    (200, VLLM.replace(" 50.0", " NaN"), Code.METRICS_UNREADABLE),
    (200, VLLM.replace(" 3.0", " -3.0"), Code.METRICS_UNREADABLE),
    (200, VLLM.replace(" 50.0", " +Inf"), Code.METRICS_UNREADABLE),
    (200, VLLM.replace(" 50.0", " fifty"), Code.METRICS_UNREADABLE),
    (200, "vllm:num_requests_running 3.0\n", Code.METRICS_UNREADABLE),
    (200, "vllm:generation_tokens_total 3.0\n", Code.METRICS_UNREADABLE)])
def test_pages_that_tell_nothing(status: int, text: str, code: Code) -> None:
    found = engine_of_page(status, text)
    assert found.code is code and found.absence is not None and found.running is None


def test_a_page_without_end_takes_no_time() -> None:
    assert engine_of_page(200, "x" * 4_000_000).code is Code.METRICS_UNREADABLE
    assert engine_of_page(200, "vllm:a{" * 500_000).code is Code.METRICS_UNREADABLE
    assert engine_of_page(200, "vllm:num_requests_running{" + "}{" * 1_000_000).code is Code.METRICS_UNREADABLE
