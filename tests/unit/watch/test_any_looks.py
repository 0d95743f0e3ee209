"""Any looks at all: the judge never raises, its state is one of the list, and every document is of the schema."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.unit.parsers.test_nccl_ras import OUT_OF_STEP, STOPPED, answer

from tunecheck.host.nvml_samples import GpuSample
from tunecheck.model.absence import Absence
from tunecheck.parsers.nvidia.nccl_ras import parse
from tunecheck.serving.accepted import Accepted
from tunecheck.watch.judge import Judge
from tunecheck.watch.model import Answer, Code, Limits, Look, Process, Reason, Run, State
from tunecheck.watch.progress import engine_of_page
from tunecheck.watch.run import Phase as RunPhase
from tunecheck.watch.schema import SCHEMAS
from tunecheck.watch.tell import Watched, document, exit_code, line, metrics

_WORDS = st.text(max_size=8) | st.sampled_from(["", '"', "\\", "\n", "\x1b[31m", "0000:03:00.0", "a,b}"])
_VALUES = st.sampled_from(["0", "1", "7", "250", "1e15", "1e308", "1e309", "-1", "NaN", "+Inf", "x", "\u0661", "0.5"])
_NAMES = st.sampled_from([
    "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total", "sglang:num_running_reqs", "sglang:realtime_tokens_total",
    "llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:n_decode_total", "vllm:other"])
_LABELS = st.sampled_from(["", '{engine="0"}', '{engine="1"}', '{dp_rank="1",mode="decode"}', '{x="}"}', "{"])
_ROWS = st.tuples(_NAMES, _LABELS, _VALUES).map(lambda row: f"{row[0]}{row[1]} {row[2]}")
_BUSY = [f"vllm:num_requests_running {number}\nvllm:generation_tokens_total {tokens}"
         for number, tokens in ((0, 5), (4, 5), (4, 9), (9, 1))]
_PAGES = st.builds(engine_of_page, st.sampled_from([200, 200, 200, 401, 404, 500, 503, 301]),
                   st.sampled_from(_BUSY) | st.lists(_ROWS, max_size=8).map("\n".join) | _WORDS)
_SILENT = st.sampled_from([absence for absence in Absence]).map(lambda each: engine_of_page(200, "").__class__(
    absence=each))
_NUMBERS = st.none() | st.sampled_from([-1, 0, 1, 40, 100, 255, 345_000, 700_000, 2**32 - 1, 2**64 - 1])
_GPUS = st.none() | st.lists(st.builds(
    GpuSample, st.sampled_from(["0000:03:00.0", "0000:04:00.0", "GPU1", ""]), _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS,
    _NUMBERS, _NUMBERS, _NUMBERS, st.booleans(), st.sampled_from(["", "", "", "GPU_IS_LOST", "Unknown Error"]), _WORDS,
    st.lists(st.integers(0, 5), max_size=3).map(tuple), _NUMBERS, _NUMBERS), max_size=3).map(tuple)
_UNITS = st.none() | st.builds(
    Run, st.sampled_from([RunPhase.RUNS, *RunPhase]), st.none() | st.builds(Reason, st.sampled_from(
        [Code.UNIT_FAILED, Code.CONTAINER_PAUSED, Code.PROCESS_ENDED]), _WORDS),
    st.none() | st.integers(0, 3), _WORDS, st.integers(0, 2), st.sampled_from(["", "7"]),
    st.none() | st.floats(0, 1e9), st.sampled_from(["", "a", "b"]),
    st.sampled_from([Code.UNIT_RESTARTED, Code.CONTAINER_RESTARTED]))
_EVENTS = st.lists(st.builds(Reason, st.sampled_from([Code.GPU_GONE, Code.HUNG_TASK, Code.OOM_KILL, Code.DISK_LOW]),
                             _WORDS, st.just((("free_bytes", 1.0),))), max_size=3).map(tuple)
_PROCESSES = st.lists(st.builds(Process, st.integers(0, 5), _WORDS, st.sampled_from([*"RSDZTtXI", ""]),
                                st.integers(0, 5), st.lists(_WORDS, max_size=2).map(tuple), _WORDS),
                      max_size=3).map(tuple)
_RAS = st.none() | st.sampled_from([parse(text) for text in (
    STOPPED, OUT_OF_STEP, answer(), STOPPED[:400], "", "{}")])
_ACCEPTED = st.none() | st.builds(
    Accepted, st.just(""), st.just(""), st.just(""), st.just(""), st.just(()), st.sampled_from([0.01, 50.0, 1e5]),
    st.none() | st.sampled_from([0.01, 1e7]), st.just(""), st.just("chat"))
_LOOKS = st.tuples(
    st.sampled_from([0.0, 0.2, 1.0, 40.0, 200.0, 700.0, 1e6]), _PAGES | _SILENT, _GPUS, _UNITS, _EVENTS, _PROCESSES,
    _RAS, st.none() | st.sampled_from(list(Absence)), st.booleans(), _ACCEPTED,
    st.none() | st.sampled_from(list(Answer)), st.booleans(), st.sampled_from([0.0, 1.0, 1e9]))
_SAMPLE = re.compile(r'[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? -?[0-9.e+-]+')


def _finite(value: str) -> Any:
    raise AssertionError(f"{value} is no JSON")


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate),
          suppress_health_check=list(HealthCheck))
@given(st.lists(_LOOKS, min_size=1, max_size=12), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 60.0, 900.0]))
def test_any_looks_have_a_verdict_and_a_document(looks: list[tuple[Any, ...]], floor: float, every: float) -> None:
    judge, at = Judge(Limits(floor=floor, canary=every)), 1000.0
    schema = jsonschema.Draft202012Validator(SCHEMAS["watch-1.json"])
    for passed, engine, gpus, unit, events, processes, ras, absence, asking, found, told, asked, took in looks:
        at += passed
        seen = judge.judge(Look(at, engine, gpus, unit, events, (), processes, took, ras, absence,
                                (("0000:03:00.0", 100.0), ("0000:04:00.0", 3.0)), asking, found, told, asked))
        assert seen.state in State and isinstance(judge.curious, bool) and isinstance(judge.near, bool)
        text = json.dumps(document(seen, at, at - seen.since, Watched("http://127.0.0.1:1", "x.service")))
        told_again = json.loads(text, parse_constant=_finite)
        schema.validate(told_again)
        assert told_again["exit_code"] == exit_code(seen.state) == {
            "serving": 0, "idle": 0, "loading": 3, "unknown": 3}.get(seen.state.value, 1)
        assert "\n" not in line(seen, at) and line(seen, at).isprintable()
        for row in metrics(seen, at).splitlines():
            assert row.startswith("# ") or _SAMPLE.fullmatch(row), row
