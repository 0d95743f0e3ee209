"""Every finding of the acceptance has a code that codes.py declares, and every declared code is seen here.

conftest.py asks the first of every finding that a test of this folder makes in its own process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serving.test_verdict import CANARY, GOOD, RUN, TEXT, with_timed

from tunecheck.model.acceptance_codes import CODES, OK
from tunecheck.recipes.frozen import Expected
from tunecheck.rules.codes import OK as RULES_OK
from tunecheck.serving import verdict
from tunecheck.serving.load import Answer, Step
from tunecheck.serving.measured import Measured, Run, Usage
from tunecheck.serving.rates import figures
from tunecheck.serving.verdict import IDS, Want, judge

SERVING = Path(verdict.__file__).parent
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+){0,3}")


def _and(*runs: Run, **changes: Any) -> Measured:
    """The healthy server, with more runs."""
    return replace(GOOD, runs=(*GOOD.runs, *runs), **changes)


def _every(**changes: Any) -> Measured:
    return replace(GOOD, runs=tuple(replace(run, **changes) for run in GOOD.runs))


def _want(metric: str = "decode_tok_s_c1", value: float = 157.0, spread: float = 5.0) -> Want:
    return Want(Expected(metric, value, 10.0, spread, "usage_wallclock", {80: 0.2}), True)


def _published(way: str) -> Measured:
    return Measured((Run("published", 1000, Usage(80, 1000), counted_by=way),), "published")


def _logprobs(*chances: float | None) -> Run:
    return Run("logprobs", len(chances), Usage(9, len(chances)), "abcd" * len(chances), finish="length",
               logprobs=chances)


def _ladder(prompt: int = 82, first: float = 0.1, **changes: Any) -> Run:
    return Run("ladder", 16, Usage(prompt, 16, 0), "some text", first, first + 0.1, 16, finish="length", target=80,
               **changes)


def _needle(target: int, text: str) -> Run:
    return Run("needle", 32, Usage(target + 40, 8, 0), text, 0.1, 0.2, 8, finish="stop", target=target,
               expect="4711 1234")


def _repeat(text: str) -> Run:
    return Run("repeat", 64, Usage(40, 20, 0), text, 0.1, 0.2, 20, finish="stop")


def _streams(seconds: float) -> Measured:
    return _and(replace(RUN, kind="concurrent", group=4), groups={4: seconds})


def _load(looks: tuple[dict[str, Any], ...] = (), **changes: Any) -> Measured:
    step = figures(Step("open", 2.0, 10.0, (Answer(0, 0, 1.0, 9.0, 80),), looks), {})
    return replace(GOOD, load=(step | changes,))


def _goodput(share: float) -> dict[str, Any]:
    return {"slo": {"ttft": 1.0}, "share": share, "requests_s": 1.0}


_GPU = {"bdf": "0000:41:00.0", "sm_mhz": 900, "power_w": 300.0, "temperature_c": 60, "reasons": []}
_OTHER = {**_GPU, "bdf": "0000:42:00.0"}
_PART = replace(GOOD, runs=GOOD.runs[1:-1])
_LOOP = (TEXT[:1700] + " ") * 2

#: What makes the acceptance say it: check, code, outcome, what was measured, what the recipe expects.
SEEN: list[tuple[str, str, str, Measured, Want]] = [(check, code, outcome, seen, want or Want()) for (
    check, code, outcome, seen, want) in (
    ("answers", OK, "pass", GOOD, None),
    ("answers", "not-answered", "fail", with_timed(finish=None), None),
    ("answers", "other-finish-reason", "fail", with_timed(finish="abort"), None),
    ("usage", OK, "pass", GOOD, None),
    ("usage", "no-usage", "fail", with_timed(usage=None), None),
    ("usage", "usage-falls", "fail", with_timed(usage=Usage(80, 1000, 5, True)), None),
    ("usage", "characters-counted", "fail", _published("characters"), None),
    ("usage", "gauge", "fail", _published("gauge"), None),
    ("usage", "counting-unknown", "unknown", _published("unknown"), None),
    ("usage", "claimed", "unknown", _published("claimed"), None),
    ("usage", "server-disagrees", "unknown", _published("disputed"), None),
    ("usage", "client-tokenizer", "warn", _published("tokenizer"), None),
    ("usage", "asked-not-delivered", "warn", _published("asked"), None),
    ("usage", "counted-in-engine", "warn", _published("engine"), None),
    ("usage", "contradiction", "fail", _published("contradiction"), None),
    ("tokens-text", OK, "pass", GOOD, None),
    ("tokens-text", "no-text", "fail", with_timed(text=""), None),
    ("tokens-text", "implausible-length", "fail", with_timed(text=TEXT[:900]), None),
    ("tokens-asked", OK, "pass", GOOD, None),
    ("tokens-asked", "more-than-asked", "fail", with_timed(usage=Usage(80, 1100, 5)), None),
    ("tokens-asked", "fewer-than-limit", "fail", with_timed(usage=Usage(80, 600, 5)), None),
    ("tokens-asked", "ended-early", "unknown", with_timed(usage=Usage(80, 600, 5), finish="stop"), None),
    ("tokens-witness", OK, "pass", GOOD, None),
    ("tokens-witness", "witness-disagrees", "fail", with_timed(retokenised=500), None),
    ("tokens-witness", "no-witness", "unknown", with_timed(pieces=200), None),
    ("tokens-server", OK, "pass", GOOD, None),
    ("tokens-server", "no-counter", "skip", replace(GOOD, generated=None, no_counter="HTTP 404"), None),
    ("tokens-server", "ended-early", "skip", replace(GOOD, generated=1000.0, stopped="timed"), None),
    ("tokens-server", "counter-higher", "fail", replace(GOOD, generated=5726.0), None),
    ("tokens-server", "counter-lower", "fail", replace(GOOD, generated=1000.0), None),
    ("prompt-size", OK, "pass", _and(_ladder()), None),
    ("prompt-size", "tokenizer-differs", "fail", _and(_ladder(), filler=(900, 600)), None),
    ("prompt-size", "not-counted", "unknown", _and(_ladder(0)), None),
    ("prompt-size", "prompt-cut", "fail", _and(replace(_ladder(200), target=1024)), None),
    ("prompt-size", "prompt-longer", "fail", _and(replace(_ladder(4096), target=1024)), None),
    ("prompt-cache", OK, "pass", GOOD, None),
    ("prompt-cache", "not-reported", "skip", _every(usage=Usage(80, 3)), None),
    ("prompt-cache", "from-cache", "fail", with_timed(usage=Usage(80, 1000, 70)), None),
    ("needle", OK, "pass", _and(_needle(0, "4711 1234"), _needle(1024, "4711 1234")), None),
    ("needle", "short-not-found", "skip", _and(_needle(0, "none"), _needle(1024, "none")), None),
    ("needle", "not-found", "fail", _and(_needle(0, "4711 1234"), _needle(1024, "1234")), None),
    ("canary", OK, "pass", GOOD, None),
    ("canary", "no-text", "unknown", _every(text=""), None),
    ("canary", "wrong-answer", "fail", replace(GOOD, runs=(replace(CANARY, text="London"), *GOOD.runs[1:])), None),
    ("canary", "not-in-file", "unknown", replace(_PART, profile="published"), None),
    ("canary", "none-asked", "unknown", _PART, None),
    ("output", OK, "pass", GOOD, None),
    ("output", "garbage", "fail", with_timed(text="D" * 3500), None),
    ("output", "one-answer-to-all", "fail", _every(text="hello"), None),
    ("output", "loop", "unknown", with_timed(text=_LOOP), None),
    ("repeatable", OK, "pass", _and(_repeat(TEXT[:200]), _repeat(TEXT[:200])), None),
    ("repeatable", "answers-differ", "fail", _and(_repeat(TEXT[:200]), _repeat(TEXT[2000:2200])), None),
    ("logprobs", OK, "pass", _and(_logprobs(-0.1, -0.2, -0.3, -0.4)), None),
    ("logprobs", "no-logprobs", "skip", GOOD, None),
    ("logprobs", "implausible", "fail", _and(_logprobs(None, None, None, None)), None),
    ("model-name", OK, "pass", replace(with_timed(names=("m",)), model="m"), None),
    ("model-name", "other-model", "fail", replace(with_timed(names=("gpt-4o-mini",)), model="m"), None),
    ("delivery", OK, "pass", GOOD, None),
    ("delivery", "events-not-counted", "pass", with_timed(pieces=0), None),
    ("delivery", "burst", "warn", with_timed(first_s=6.3), None),
    ("speed", OK, "pass", GOOD, _want()),
    ("speed", "not-counted", "skip", with_timed(usage=None), None),
    ("speed", "no-figure-expected", "skip", GOOD, None),
    ("speed", "too-slow", "fail", GOOD, _want(value=198)),
    ("speed", "too-fast", "warn", GOOD, _want(value=120)),
    ("spread", OK, "pass", GOOD, _want()),
    ("spread", "no-limit", "skip", GOOD, None),
    ("spread", "too-wide", "fail", _and(replace(RUN, last_s=5.5)), _want()),
    ("ttft", OK, "pass", _and(_ladder()), _want()),
    ("ttft", "no-figure-expected", "skip", _and(_ladder()), None),
    ("ttft", "too-late", "fail", _and(_ladder(first=0.3)), _want()),
    ("ttft", "left-out", "skip", replace(GOOD, notes={"ttft": "the context is too short"}), None),
    ("concurrency", OK, "pass", _streams(1.0), _want("aggregate_tok_s", 1000)),
    ("concurrency", "not-asked", "unknown", GOOD, _want("aggregate_tok_s", 1000)),
    ("concurrency", "no-figure-expected", "skip", _streams(1.0), None),
    ("concurrency", "too-slow", "fail", _streams(10.0), _want("aggregate_tok_s", 1000)),
    ("load", OK, "pass", _load(goodput=_goodput(1.0)), None),
    ("load", "no-limits", "skip", _load(), None),
    ("load", "requests-failed", "fail", _load(failed=1, errors=["HTTP 500"]), None),
    ("load", "server-behind", "fail", _load(behind=True), None),
    ("load", "outside-limits", "fail", _load(goodput=_goodput(0.9)), None),
    ("load", "nvml-silent", "warn", _load(({"at": 0.0, "gpus": [_GPU]},
                                           {"at": 2.0, "gpus": [], "missed": "timed out"})), None),
    ("load", "gpu-missing", "warn", _load(({"at": 0.0, "gpus": [_GPU, _OTHER]}, {"at": 2.0, "gpus": [_GPU]})), None),
    ("load", "gpu-slowed-down", "warn", _load(({"at": 0.0, "gpus": [{**_GPU, "reasons": ["hw_slowdown"]}]},)), None),
)]


@pytest.mark.parametrize(("check", "code", "outcome", "seen", "want"), SEEN, ids=[f"{row[0]}-{row[1]}" for row in SEEN])
def test_a_code_is_given(check: str, code: str, outcome: str, seen: Measured, want: Want) -> None:
    findings = judge(seen, want)
    assert (code, outcome) in [(each.code, each.outcome) for each in findings if each.id == check]
    assert [(each.id, each.code) for each in findings if each.code not in CODES[each.id]] == []


def test_every_declared_code_is_seen() -> None:
    assert {row[:2] for row in SEEN} == {(check, code) for check, codes in CODES.items() for code in codes}


def test_codes_are_declared_as_sentences() -> None:
    assert tuple(CODES) == IDS and OK == RULES_OK
    for check, codes in CODES.items():
        for code, meaning in codes.items():
            assert NAME.fullmatch(code), (check, code)
            assert meaning[0].isupper() and meaning.endswith("."), (check, code, meaning)


def test_a_pass_has_a_code_of_its_own() -> None:
    outcomes: dict[tuple[str, str], set[str]] = {}
    for _, _, _, seen, want in SEEN:
        for each in judge(seen, want):
            outcomes.setdefault((each.id, each.code), set()).add(each.outcome)
    assert {key: found for key, found in outcomes.items() if "pass" in found and len(found) > 1} == {}


def test_every_code_in_the_sources_is_declared() -> None:
    """What no test reaches, too: the codes that stand in a call of ``finding`` itself."""
    given = {pair for path in SERVING.glob("*.py") for pair in _given(ast.parse(path.read_text(encoding="utf-8")))}
    assert len(given) > 40
    assert {(check, code) for check, code in given if code not in CODES[check]} == set()


def _given(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "finding" \
                and isinstance(node.args[0], ast.Constant):
            choice = node.args[1]
            for part in (choice.body, choice.orelse) if isinstance(choice, ast.IfExp) else (choice,):
                if isinstance(part, ast.Constant):
                    yield str(node.args[0].value), str(part.value)
