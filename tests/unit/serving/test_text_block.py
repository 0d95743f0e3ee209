"""The text that `vllm bench serve` and `sglang.bench_serving` print is judged as their JSON is, or refused with the
option that writes the JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serving.test_foreign import _SGLANG, _VLLM

from tunecheck.errors import Flaw, UsageError
from tunecheck.serving.files import read
from tunecheck.serving.verdict import Want, judge

HEAD, RULE = "============ Serving Benchmark Result ============", "=" * 50
#: Key in the JSON -> name in the text, in its order there.
VLLM_NAMES = {"completed": "Successful requests", "failed": "Failed requests",
              "max_concurrency": "Maximum request concurrency", "duration": "Benchmark duration (s)",
              "total_input_tokens": "Total input tokens", "total_output_tokens": "Total generated tokens",
              "output_throughput": "Output token throughput (tok/s)", "mean_ttft_ms": "Mean TTFT (ms)"}
SGLANG_NAMES = {"backend": "Backend", "max_concurrency": "Max request concurrency",
                "completed": "Successful requests", "duration": "Benchmark duration (s)",
                "total_output_tokens": "Total generated tokens",
                "total_output_tokens_retokenized": "Total generated tokens (retokenized)",
                "output_throughput": "Output token throughput (tok/s)"}
CASES = [(_VLLM, VLLM_NAMES), ({**_VLLM, "output_throughput": 480.0}, VLLM_NAMES), ({**_VLLM, "failed": 3}, VLLM_NAMES),
         (_SGLANG, SGLANG_NAMES), ({**_SGLANG, "backend": "vllm-chat"}, SGLANG_NAMES),
         ({**_SGLANG, "total_output_tokens_retokenized": 210}, SGLANG_NAMES),
         ({**_SGLANG, "total_output_tokens_retokenized": 1210}, SGLANG_NAMES)]
NEEDED = ("completed", "duration", "total_output_tokens", "output_throughput")


def printed(data: dict[str, Any], names: dict[str, str], head: str = HEAD) -> str:
    lines = [f"{name + ':':<40} {data[key]:<10}" for key, name in names.items() if key in data]
    return "\n".join([head, *lines, "---------------Time to First Token----------------", RULE, ""])


def usage(path: Path) -> tuple[str, str, str]:
    found = next(each for each in judge(read(str(path)), Want()) if each.id == "usage")
    return found.outcome, found.code, found.text


@pytest.mark.parametrize("form", ["{}", "$ vllm bench serve --model m\nINFO 07-01 starting\n{}bye\n", "headless",
                                  "quoted"])
@pytest.mark.parametrize(("data", "names"), CASES)
def test_it_is_judged_as_its_json(tmp_path: Path, data: dict[str, Any], names: dict[str, str], form: str) -> None:
    text = printed(data, names, "" if form == "headless" else HEAD)
    text = "".join(f"> {line}\n" for line in text.splitlines()) if form == "quoted" else \
        text if form == "headless" else form.format(text)
    (tmp_path / "text").write_text(text)
    (tmp_path / "json").write_text(json.dumps(data))
    outcome, code, said = usage(tmp_path / "text")
    assert (outcome, code) == usage(tmp_path / "json")[:2]
    # What only the JSON could have told, and how to have it.
    assert ("--save-result" if names is VLLM_NAMES else "--output-file") in said
    assert ("'Failed requests'" in said) == (names is SGLANG_NAMES)
    assert read(str(tmp_path / "text")).runs[0].group == 4


@pytest.mark.parametrize("form", ["left out", "no number", "cut"])
@pytest.mark.parametrize(("data", "names", "key"), [
    (data, names, key) for data, names in (CASES[0], CASES[3])
    for key in (*NEEDED, *(("total_output_tokens_retokenized",) if names is SGLANG_NAMES else ()))])
def test_one_without_a_figure_that_is_needed_is_refused(
        tmp_path: Path, data: dict[str, Any], names: dict[str, str], key: str, form: str) -> None:
    text = printed({**data, key: "nan"} if form == "no number" else data, names)
    if form != "no number":
        line = next(each for each in text.splitlines() if each.startswith(f"{names[key]}:"))
        text = text.replace(line + "\n", "") if form == "left out" else text.replace(line, line[:12])
    (tmp_path / "text").write_text(text)
    with pytest.raises(UsageError) as refused:
        read(str(tmp_path / "text"))
    assert refused.value.flaw is Flaw.WRONG_TYPE and names[key] in str(refused.value)
    assert ("--save-result" if names is VLLM_NAMES else "--output-file") in str(refused.value)


def test_every_block_of_a_text_is_a_figure(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(printed(_VLLM, VLLM_NAMES) + printed({**_VLLM, "completed": 9}, VLLM_NAMES))
    assert len(read(str(tmp_path / "text")).runs) == 2


def test_a_pipe_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (printed(_VLLM, VLLM_NAMES), json.dumps(_VLLM)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        there = tmp_path / "there"
        there.write_text(text)
        assert read("-") == read(str(there))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(UsageError) as told:
        read("-")
    assert told.value.flaw is Flaw.OTHER_KIND
