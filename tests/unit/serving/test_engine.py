"""The client against a real engine, with what broken servers do done to its streams by a proxy in between."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine import models
from tests.engine.pace_proxy import Manner, Proxy
from tests.unit.serving.engines import Engine, engine

from tunecheck.model.finding import Finding, worst
from tunecheck.recipes.frozen import Canary, Expected
from tunecheck.serving.client import Client, Deadlines
from tunecheck.serving.measured import Measured
from tunecheck.serving.plan import Plan
from tunecheck.serving.prompts import CANARIES, TIMED, prompt
from tunecheck.serving.session import Session
from tunecheck.serving.verdict import Want, judge

_SMALL = (CANARIES[0], Canary(CANARIES[3].prompt, "Tokyo", 32, 600))
_GOLDEN = Want(Expected("decode_tok_s_c1", 198.0, 10.0, 5.0, "usage_wallclock"), golden=True)


def _plan(tokens: int = 100, runs: int = 3, ladder: tuple[int, ...] = (),
          canaries: tuple[Canary, ...] = _SMALL) -> Plan:
    return Plan("full", runs, tokens, 1, ladder, (), canaries)


def _measure(base: str, plan: Plan | None = None, deadlines: Deadlines | None = None, api: str = "chat") -> Measured:
    client = Client(base, "", api=api, deadlines=deadlines)
    try:
        return Session(client, plan or _plan()).measure()
    finally:
        client.close()


def _paced(proxy: Callable[..., Proxy], rate: float, **manner: object) -> Measured:
    """Measured while proxy and client kept their pace: on a busy machine either is late now and then, which is no
    figure of ours. A client that is late by itself is late six times."""
    for _ in range(6):
        paced = proxy(rate=rate, **manner)
        seen = _measure(paced.base, _plan(300))
        walls = [*((tokens, seconds) for tokens, seconds, _ in paced.sent),
                 *((run.tokens, run.last_s or 0.0) for run in seen.of("timed"))]
        if all(seconds < 1.02 * (tokens / rate + Manner.first) for tokens, seconds in walls if tokens >= 100):
            break
    return seen


@pytest.fixture(scope="module")
def at_157(good: Engine) -> Iterator[Measured]:
    """Measured once, which takes ten seconds, and judged by more than one test."""
    made: list[Proxy] = []

    def start(**manner: object) -> Proxy:
        made.append(Proxy(good.base, Manner(**manner)))  # type: ignore[arg-type]
        return made[-1]

    yield _paced(start, 157.0)
    for each in made:
        each.close()


def _said(seen: Measured, want: Want | None = None) -> dict[str, str]:
    """Outcome and code of each check."""
    return {id_: f"{each.outcome} {each.code}" for id_, each in _findings(seen, want).items()}


def _findings(seen: Measured, want: Want | None = None) -> dict[str, Finding]:
    return {each.id: each for each in reversed(judge(seen, want or Want()))}


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_healthy_engine_is_accepted(good: Engine, api: str) -> None:
    seen = _measure(good.base, _plan(300, ladder=(512, 1024)), api=api)
    said = _said(seen)
    assert not [each for each in said.values() if each.startswith(("fail", "warn", "unknown"))], said
    assert seen.generated == seen.counted == sum(run.tokens for run in seen.runs)
    assert (seen.engine, seen.limit) == ("llama.cpp", 8192)
    sizes = [run.usage.prompt for run in seen.of("ladder") if run.usage]
    assert sizes == pytest.approx([512, 1024], rel=0.05)


@pytest.mark.parametrize(("rate", "outcome"), [(157.0, "fail too-slow"), (198.0, "pass ok")])
def test_a_golden_figure_of_198(proxy: Callable[..., Proxy], at_157: Measured, rate: float, outcome: str) -> None:
    said = _said(at_157 if rate == 157.0 else _paced(proxy, rate), _GOLDEN)
    assert (said["speed"], said["spread"]) == (outcome, "pass ok")


def test_a_published_198_only_warns(at_157: Measured) -> None:
    want = Want(Expected("decode_tok_s_c1", 198.0, 10.0, 5.0, "chars_div_4"))
    found = judge(at_157, want)
    assert worst(found) == "warn"
    assert "chars_div_4" in next(each.expected for each in found if each.id == "speed")


@pytest.mark.parametrize(("manner", "check", "says", "broken"), [
    ({"usage": False}, "usage", "fail no-usage", []),
    ({"text": False}, "tokens-text", "fail no-text", []),
    ({"burst": True, "rate": 400.0}, "delivery", "warn burst", []),
    ({"nonce": False}, "prompt-cache", "fail from-cache", []),
    ({"cut": 20}, "answers", "fail not-answered", ["logprobs"]),
    ({"error": "CUDA error: an illegal memory access"}, "answers", "fail not-answered", ["calibration engine"]),
], ids=["no usage", "no text", "burst", "cached", "cut", "error"])
def test_broken_streams(proxy: Callable[..., Proxy], manner: dict[str, object], check: str, says: str,
                        broken: list[str]) -> None:
    seen = _measure(proxy(**manner).base, _plan(100, canaries=CANARIES[:3]))
    told = _findings(seen)[check]
    assert f"{told.outcome} {told.code}" == says
    assert [f"{run.kind} {run.broken}".strip() for run in seen.runs if run.broken or not run.finish] == broken
    if check == "usage":
        assert told.text.count("17") == 2, "none of the streams has any"
    if "error" in manner:
        assert "CUDA error" in told.observed


def test_coalesced_chunks_count_the_same(proxy: Callable[..., Proxy]) -> None:
    """A client that counts chunks would say 40 tok/s, one that counts gaps 1000."""
    said = _findings(_paced(proxy, 198.0, coalesce=5), _GOLDEN)
    assert said["speed"].outcome == "pass"
    # Not by arrival: on a busy machine one read finds several events.
    assert (said["delivery"].outcome, said["delivery"].observed) == ("pass", "5.0")


def test_a_burst_is_judged_by_the_wall_clock(proxy: Callable[..., Proxy]) -> None:
    seen = _measure(proxy(rate=157.0, burst=True).base)
    assert _said(seen, _GOLDEN)["speed"] == "fail too-slow"
    assert all(run.decode_rate is None for run in seen.of("timed"))


@pytest.mark.parametrize("key", ["ignore_eos", "stream_options", "logprobs"])
def test_a_server_that_refuses_unknown_keys(proxy: Callable[..., Proxy], key: str) -> None:
    said = _said(_measure(proxy(refuse=key).base, _plan(64)))
    if key == "stream_options":
        assert said["usage"].startswith("fail")
    else:
        assert not [each for each in said.values() if each.startswith(("fail", "unknown"))], said


def test_healthy_but_the_scheduler_is_dead(proxy: Callable[..., Proxy]) -> None:
    """/health and /v1/models answer, a request gets 200 and pings, and nothing else ever."""
    behind = proxy(stall=True)
    client = Client(behind.base)
    assert client.get("/health")[0] == 200
    client.close()
    seen = _measure(behind.base, deadlines=Deadlines(5, first=0.5, between=0.5, whole=30))
    assert _said(seen)["answers"] == "fail not-answered"
    assert [run.broken for run in seen.runs] == ["deadline"], "the next request would only wait as long again"
    assert "0.5 s" in seen.runs[0].error


def test_the_engine_dies_in_the_middle() -> None:
    pytest.importorskip("xllamacpp")
    with engine(models.GOOD) as found:
        client = Client(found.base, "tiny")
        killer = threading.Timer(0.6, os.kill, (found.process.pid, signal.SIGKILL))
        killer.start()
        run = client.ask("timed", prompt(TIMED, 500), 7000, ignore_eos=True)
        killer.join()
        client.close()
    assert run.broken == "stream"
    said = _said(Measured((run,), stopped="timed"))
    assert (said["answers"], said["speed"]) == ("fail not-answered", "skip not-counted")


@pytest.mark.parametrize("make", [models.nan, models.noisy])
def test_an_ill_model_is_refused_whatever_its_speed(make: Callable[[Path], Path], tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    slow = Want(Expected("decode_tok_s_c1", 20.0, 10.0, 500.0, "usage_wallclock"), golden=True)
    with engine(make(tmp_path / "ill.gguf")) as found:
        seen = _measure(found.base, _plan(200))
    said = _said(seen, slow)
    assert said["speed"] == "warn too-fast", "as fast as a healthy one"
    assert said["canary"].startswith("fail")
    if make is models.nan:
        assert said["output"].startswith("fail") and said["logprobs"] == "fail implausible"
        assert _findings(seen)["logprobs"].observed.count("128") == 2, "all of them"


def test_speculation_counts_what_is_delivered(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with engine(models.GOOD, draft=str(models.noisy(tmp_path / "draft.gguf"))) as found:
        seen = _measure(found.base, _plan(400))
    proposed = seen.other["spec_decode_num_draft_tokens_total"]
    assert [run.tokens for run in seen.of("timed")] == [400, 400, 400]
    assert proposed > 2 * seen.counted, "a counter of proposals would claim more than twice as much"
    assert seen.generated == seen.counted
    assert _said(seen)["tokens-server"] == "pass ok" and f" {proposed:.0f} " in _findings(seen)["tokens-server"].text


def test_no_counter_is_no_failure() -> None:
    pytest.importorskip("xllamacpp")
    with engine(models.GOOD, metrics="0") as found:
        seen = _measure(found.base, _plan(64, runs=1))
    assert _said(seen)["tokens-server"] == "skip no-counter" and "HTTP 501" in (seen.no_counter or "")


def test_somebody_else_on_the_server_is_noticed(good: Engine) -> None:
    other = Client(good.base, "tiny")

    class Busy(Session):
        def _ask_logprobs(self) -> None:
            assert json.dumps(other.ask("timed", prompt(TIMED), 400, ignore_eos=True).tokens) == "400"

    client = Client(good.base)
    seen = Busy(client, _plan(100)).measure()
    client.close()
    other.close()
    assert _said(seen)["tokens-server"] == "fail counter-higher"
