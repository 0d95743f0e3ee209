"""The verdict over made-up measurements: each clause of the counting contract, and what a figure may do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tunecheck.model.finding import worst
from tunecheck.recipes.frozen import Expected
from tunecheck.serving.measured import Measured, Run, Usage
from tunecheck.serving.verdict import IDS, Want, judge

TEXT = (Path(__file__).resolve().parents[2] / "engine/corpus.txt").read_text()[:3500]
RUN = Run("timed", 1000, Usage(80, 1000, 5), TEXT, 0.1, 1000 / 157, 1000, None, (6.0,) * 21, "length", pieces=1000)
CANARY = Run("canary", 32, Usage(50, 3, 5), "Paris", 0.1, 0.2, 3, None, (), "stop", expect="Paris")
GOOD = Measured((CANARY, RUN, RUN, RUN, replace(CANARY, group=1)), counted=3006, generated=3006.0, template=32)


def with_timed(**changes: object) -> Measured:
    return replace(GOOD, runs=tuple(replace(run, **changes) if run.kind == "timed" else run for run in GOOD.runs))


def _outcomes(seen: Measured, want: Want | None = None) -> dict[str, str]:
    found = judge(seen, want or Want())
    assert {each.id for each in found} <= set(IDS)
    assert all(each.remedy for each in found if each.outcome in ("fail", "warn"))
    return {each.id: each.outcome for each in reversed(found)}


def test_a_healthy_server_passes() -> None:
    outcomes = _outcomes(GOOD)
    assert set(outcomes.values()) == {"pass", "skip"}
    assert {name for name, each in outcomes.items() if each == "skip"} == {"logprobs", "speed", "spread"}


@pytest.mark.parametrize(("seen", "check", "outcome"), [
    (with_timed(usage=None), "usage", "fail"),
    (with_timed(usage=Usage(80, 1000, 5, True)), "usage", "fail"),
    (with_timed(text=""), "tokens-text", "fail"),
    (with_timed(text=TEXT[:900]), "tokens-text", "fail"),                       # fewer characters than tokens
    (with_timed(usage=Usage(80, 300, 5)), "tokens-text", "fail"),                # 12 characters a token
    (with_timed(usage=Usage(80, 1100, 5)), "tokens-asked", "fail"),
    (with_timed(usage=Usage(80, 600, 5)), "tokens-asked", "fail"),               # says length, and has fewer
    (with_timed(usage=Usage(80, 600, 5), finish="stop"), "tokens-asked", "unknown"),
    (replace(GOOD, generated=5726.0), "tokens-server", "fail"),
    (replace(GOOD, generated=1000.0), "tokens-server", "fail"),
    (replace(GOOD, generated=None, no_counter="HTTP 404"), "tokens-server", "skip"),
    (with_timed(usage=Usage(80, 1000, 70)), "prompt-cache", "fail"),
    (with_timed(usage=Usage(80, 1000, None)), "prompt-cache", "pass"),           # the canaries still said so
    (replace(GOOD, runs=(replace(CANARY, text="London"), *GOOD.runs[1:])), "canary", "fail"),
    (replace(GOOD, runs=(*GOOD.runs[:-1], replace(CANARY, text="ParisParisParis", group=1))), "canary", "fail"),
    (replace(GOOD, runs=GOOD.runs[1:-1]), "canary", "unknown"),
    (with_timed(text="D" * 3500), "output", "fail"),
    (replace(GOOD, runs=(*GOOD.runs, Run("logprobs", 4, Usage(9, 4), "abcd", finish="length",
                                           logprobs=(None,) * 4))), "logprobs", "fail"),
    (replace(GOOD, runs=tuple(replace(run, text="hello") for run in GOOD.runs)), "output", "fail"),
    (replace(GOOD, runs=tuple(replace(run, text="") for run in GOOD.runs)), "canary", "unknown"),
    (replace(GOOD, runs=(RUN, RUN, RUN)), "output", "pass"),            # one question, greedily answered
    (with_timed(first_s=6.3), "delivery", "warn"),
    (with_timed(finish=None), "answers", "fail"),
    (with_timed(finish="abort"), "answers", "fail"),
    (with_timed(broken="stream", error="the stream broke off: reset"), "answers", "fail"),
])
def test_each_clause(seen: Measured, check: str, outcome: str) -> None:
    assert _outcomes(seen)[check] == outcome


def _want(value: float, golden: bool, spread: float = 5.0, metric: str = "decode_tok_s_c1") -> Want:
    return Want(Expected(metric, value, 10.0, spread, "usage_wallclock" if golden else "chars_div_4",
                         {80: 0.2}), golden)


@pytest.mark.parametrize(("want", "outcome"), [
    (_want(198, True), "fail"), (_want(198, False), "warn"),        # 157: slow for a figure of our own only
    (_want(160, True), "pass"), (_want(160, False), "pass"), (_want(120, True), "warn"),    # too fast is suspicious
    (_want(50000, True, metric="aggregate_tok_s"), "skip")])
def test_only_a_golden_figure_refuses(want: Want, outcome: str) -> None:
    assert _outcomes(GOOD, want)["speed"] == outcome


def test_the_boot_profile_has_a_lower_floor() -> None:
    boot = replace(GOOD, profile="boot")
    assert _outcomes(boot, _want(198, True))["speed"] == "pass"
    assert _outcomes(boot, _want(300, True))["speed"] == "fail"


def test_garbage_refuses_whatever_the_speed() -> None:
    fast = with_timed(text="D" * 3500, last_s=0.1, first_s=0.01)
    found = judge(fast, _want(198, True))
    assert worst(found) == "fail"
    assert next(each for each in found if each.id == "speed").outcome == "warn"


def test_the_spread_has_a_limit() -> None:
    apart = replace(GOOD, runs=(*GOOD.runs[:2], replace(RUN, last_s=5.5), *GOOD.runs[3:]))
    assert _outcomes(apart, _want(160, True))["spread"] == "fail"
    assert _outcomes(apart, _want(160, True, spread=20.0))["spread"] == "pass"


@pytest.mark.parametrize(("first", "golden", "outcome"), [
    (0.2, True, "pass"), (0.3, True, "fail"), (0.3, False, "warn")])
def test_the_first_token_has_a_ceiling_where_one_is_known(first: float, golden: bool, outcome: str) -> None:
    point = Run("ladder", 16, Usage(82, 16, 0), "some text", first, first + 0.1, 16, finish="length", target=80)
    seen = replace(GOOD, runs=(*GOOD.runs, point))
    assert _outcomes(seen, _want(157, golden))["ttft"] == outcome
    assert _outcomes(replace(seen, runs=(*GOOD.runs, replace(point, usage=Usage(4096, 16)))))["ttft"] == "skip"


def test_a_burst_has_no_decode_rate() -> None:
    burst = with_timed(first_s=6.36)
    assert all(run.decode_rate is None for run in burst.of("timed"))
    assert RUN.decode_rate == pytest.approx(999 / (1000 / 157 - 0.1))
