"""Published raw files: how were their tokens counted? The form is that of the verify runs behind a well-known
198 tok/s; the numbers of the first three rows are theirs, as stated in public."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import Flaw, UsageError
from tunecheck.model.finding import Finding, worst
from tunecheck.serving.document import document, measured_of
from tunecheck.serving.files import read
from tunecheck.serving.published import measured_of_published
from tunecheck.serving.verdict import Want, judge


def row(tokens: int, wall: float, **more: Any) -> dict[str, Any]:
    return {"concurrency": 1, "context_tokens": 0, "aggregate_tps": tokens / wall, "total_tokens": tokens,
            "wall_time": wall, "num_completed": 1, "num_errors": 0, "server_gen_throughput": tokens / wall,
            "server_utilization": 0.0, "server_spec_accept_rate": 0.0, "ttft_avg": 0.12, **more}


def raw(*rows: dict[str, Any], most: int = 8192) -> dict[str, Any]:
    return {"metadata": {"model": "m", "duration_per_test": 30, "max_tokens": most, "engine": "sglang"},
            "prefill": {}, "results": list(rows), "summary_table": {}}


@pytest.mark.parametrize(("tokens", "wall"), [(6026, 30.079), (5935, 30.089), (5950, 30.090)])
def test_the_198_were_characters(tokens: int, wall: float) -> None:
    [finding] = [each for each in judge(measured_of_published(raw(row(tokens, wall)), "f"), Want())
                 if each.id == "usage"]
    assert (finding.outcome, finding.code) == ("fail", "characters-counted")
    for figure in (f"{tokens}", f"{wall:.3f}", f"{tokens / wall:.2f}", "30"):      # the stream was cut at 30 s
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.])", finding.text), figure


def _usage(found: list[Finding]) -> str:
    return next(f"{each.outcome} {each.code}" for each in found if each.id == "usage")


@pytest.mark.parametrize(("one", "says"), [
    (row(2048, 18.606), "pass ok"),                                         # reached its limit: usage was waited for
    (row(6026, 30.079, total_chars=24104), "fail characters-counted"),
    (row(4000, 30.1, aggregate_tps=147.2, server_gen_throughput=147.2), "fail gauge"),
    (row(3014, 30.1, aggregate_tps=0.0), "unknown counting-unknown"),
    (row(0, 30.1), "unknown counting-unknown"), (row(4000, 30.1, num_errors=3), "unknown counting-unknown"),
    (row(687, 6.535), "unknown counting-unknown"),
    (row(5000, 30.1, server_utilization=0.6), "unknown counting-unknown")])
def test_each_way_of_counting(one: dict[str, Any], says: str) -> None:
    seen = measured_of_published(raw(one, most=2048 if one["total_tokens"] == 2048 else 8192), "f")
    assert _usage(judge(seen, Want())) == says
    assert not says.startswith("pass") or [run.tokens for run in seen.runs] == [2048]


def cell(**more: Any) -> dict[str, Any]:
    """A row of llm-inference-bench 0.4.30 to 0.7.3, by its fields as they were read on 2026-11-23."""
    return {"concurrency": 8, "context_tokens": 0, "aggregate_tps": 400.0, "measurement_seconds": 30.0,
            "aggregate_source": "openai_continuous_usage", "client_output_tokens": 12000, "total_tokens": 12000,
            "effective_concurrency": 8.0, "server_gen_throughput": 398.0, "num_errors": 0, "underfilled": False,
            "capacity_limited": False, "loop_detected": False, "warmup_timed_out": False, "failure_reason": "",
            "ttft_p50": 0.05, **more}


@pytest.mark.parametrize(("one", "says"), [
    (cell(), "pass ok"), (cell(concurrency=1), "pass ok"), (cell(server_gen_throughput=0.0), "unknown claimed"),
    (cell(server_output_tokens=12003), "pass ok"), (cell(server_output_tokens=2500), "unknown server-disagrees"),
    (cell(server_gen_throughput=1900.0), "unknown server-disagrees"),
    (cell(client_output_tokens=0, total_tokens=0), "unknown claimed"),
    (cell(aggregate_tps=1900.0), "fail contradiction"),
    (cell(aggregate_source="server_gen_throughput_gauge"), "fail gauge"),
    (cell(aggregate_source="chars_div_4_estimate"), "fail characters-counted"),
    (cell(aggregate_source="something"), "unknown counting-unknown"),
    (cell(aggregate_tps=None, failure_reason="loop"), "unknown counting-unknown"),
    (cell(num_errors=2), "unknown counting-unknown"), (cell(loop_detected=True), "unknown counting-unknown"),
    (cell(underfilled=True), "unknown counting-unknown")])
@pytest.mark.parametrize("form", ["plain", "lil-bench", "packed"])
def test_rows_that_say_where_their_tokens_come_from(tmp_path: Path, one: dict[str, Any], says: str, form: str) -> None:
    data: dict[str, Any] = raw(one)
    if form != "plain":
        data = {"schema": "lil-bench-result/1", "results": {"p2pmark": {"status": "ok"}, "bench": data}}
    text = json.dumps(data).encode()
    (tmp_path / "f").write_bytes(gzip.compress(text) if form == "packed" else text)
    seen = read(str(tmp_path / "f"))
    found = judge(seen, Want())
    assert _usage(found) == says, found
    assert not says.startswith("pass") or [run.tokens for run in seen.runs] == [12000]
    assert not any("nonce" in each.text or "NaN" in each.text for each in found)


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08", gzip.compress(b"x" * 100)[:-9], b"\x1f\x8bxxxxxxxxxxxxxxx"])
def test_gzip_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(UsageError, match="gzip"):
        read(str(tmp_path / "f"))


def test_hostile_rows() -> None:
    strange = {"concurrency": "x", "total_tokens": [1], "wall_time": None, "aggregate_tps": float("inf")}
    seen = measured_of_published({"metadata": {}, "results": [strange, 3, {}]}, "f")
    assert worst(judge(seen, Want())) == "unknown"


@pytest.mark.parametrize(("content", "flaw"), [
    ("", Flaw.OTHER_KIND), ("[]", Flaw.OTHER_KIND), ("{}", Flaw.OTHER_KIND), ("[" * 5000, Flaw.OTHER_KIND),
    ('{"metadata": {}, "results": []}', Flaw.WRONG_TYPE), ('{"schema": "tunecheck/acceptance/1"}', Flaw.WRONG_TYPE)])
def test_what_is_neither(tmp_path: Path, content: str, flaw: Flaw) -> None:
    (tmp_path / "f.json").write_text(content)
    with pytest.raises(UsageError, match=r"/f\.json: ") as refused:
        read(str(tmp_path / "f.json"))
    assert refused.value.flaw is flaw


def test_an_acceptance_document_is_judged_again_alike(tmp_path: Path) -> None:
    seen = measured_of_published(raw(row(6026, 30.079), row(2048, 18.6)), "f")
    findings = judge(seen, Want())
    data = json.loads(json.dumps(document(seen, findings, None, created="", base="", host=None, boot_id=None)))
    assert judge(measured_of(data, "f"), Want()) == findings
