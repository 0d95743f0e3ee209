"""Is it as fast as it was accepted? Nights of requests, judged in an instant, on both sides of the floor."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tunecheck.errors import UsageError
from tunecheck.serving import accepted, keep
from tunecheck.serving.accepted import Accepted, Question
from tunecheck.serving.measured import Measured, Run, Usage
from tunecheck.serving.plan import plan_for
from tunecheck.watch.floor import STREAMS, WINDOW
from tunecheck.watch.judge import Judge
from tunecheck.watch.model import Code, Engine, Limits, Look, Reason, State
from tunecheck.watch.progress import engine_of_page

ACCEPTED = Accepted("boot", "run", "sha256:r", "sha256:i", ("0000:03:00.0",), 50.0, 5000.0, "m", "chat")
LIMITS = Limits(floor=0.3)


class Night:
    """Looks at an engine, one a second: so many requests run, and so many tokens and prompt tokens come a second."""

    def __init__(self, found: Accepted | None = ACCEPTED, limits: Limits = LIMITS) -> None:
        self.judge, self.at, self.found = Judge(limits), 1000.0, found
        self.tokens = self.prompts = self.moved = 0.0
        self.seen: list[tuple[State, tuple[Reason, ...]]] = []

    def go(self, seconds: float, streams: int, tok_s: float, prompt_s: float = 0.0,
           engine: Callable[[Engine], Engine] = lambda each: each) -> bool:
        """Whether it is slow at the end."""
        for _ in range(round(seconds)):
            self.at += 1
            self.tokens, self.prompts = self.tokens + tok_s, self.prompts + prompt_s
            self.moved += 1 if streams else 0
            look = Look(self.at, engine(Engine(streams, 0, self.moved, self.tokens, decoded=self.tokens,
                                               prompted=self.prompts)), accepted=self.found)
            seen = self.judge.judge(look)
            self.seen.append((seen.state, seen.reasons))
        return self.slow

    @property
    def slow(self) -> bool:
        state, reasons = self.seen[-1]
        told = any(each.code is Code.TOKENS_SLOW for each in reasons)
        assert told == (state is State.DEGRADED)
        return told

    @property
    def ever(self) -> bool:
        return any(state is State.DEGRADED for state, _ in self.seen)


@pytest.mark.parametrize(("tok_s", "slow"), [(14.9, True), (15.1, False), (1.0, True), (400.0, False)])
def test_both_sides_of_the_floor(tok_s: float, slow: bool) -> None:
    """0.3 of 50 tokens/s are 15."""
    assert Night().go(8 * 3600, STREAMS, tok_s) is slow


def test_it_is_told_after_its_window_and_not_before() -> None:
    night = Night()
    night.go(3600, 8, 300)
    began = night.at
    while not night.go(1, 8, 2) and night.at < began + 7200:
        pass
    # Fast seconds are in the window until they have left it.
    assert WINDOW / 2 <= night.at - began <= WINDOW + 12
    told, = [each for each in night.seen[-1][1] if each.code is Code.TOKENS_SLOW]
    assert dict(told.numbers)["accepted"] == 50.0 and dict(told.numbers)["streams"] == 8.0


def test_it_ends_above_the_floor_and_not_at_it() -> None:
    night = Night()
    assert night.go(1200, 8, 5)
    assert night.go(3600, 8, 15.1), "just above the floor: it does not come and go"
    assert not night.go(1200, 8, 20)
    assert not night.go(3600, 8, 15.1), "and just above the floor again"


def test_it_does_not_flicker_around_the_floor() -> None:
    night, chance = Night(), random.Random(7)
    for _ in range(8 * 360):
        night.go(10, 8, chance.uniform(5, 26))
    states = [state for state, _ in night.seen]
    changes = sum(one is not two for one, two in itertools.pairwise(states))
    assert changes <= 4, changes


def _light(night: Night, chance: random.Random) -> None:
    """A request now and then, some of them long and slow."""
    night.go(chance.uniform(5, 600), 0, 0)
    night.go(chance.uniform(1, 900), chance.randint(1, STREAMS - 1), chance.uniform(0.5, 60))


def _prompts(night: Night, chance: random.Random) -> None:
    """Long prompts one after the other: no token for a minute, then a few."""
    night.go(60, 6, 0)
    night.go(1, 6, 0, prompt_s=60 * 5000 * chance.uniform(0.7, 1.0))     # counted when the last part is read
    night.go(5, 6, 40)


def _bursts(night: Night, chance: random.Random) -> None:
    """Ten requests, then nothing for ten minutes."""
    night.go(chance.uniform(20, 60), 10, 8)
    night.go(600, 0, 0)


def _paced(night: Night, chance: random.Random) -> None:
    """A working day: everything between four streams at 128 K tokens of context and thirty short ones."""
    night.go(300, chance.randint(4, 30), chance.uniform(20, 900), chance.uniform(0, 20_000))


@pytest.mark.parametrize("phase", [_light, _prompts, _bursts, _paced])
def test_a_night_that_is_no_alarm(phase: Callable[[Night, random.Random], None]) -> None:
    night, chance = Night(), random.Random(3)
    while night.at < 8 * 3600:
        phase(night, chance)
    assert not night.ever


def test_without_many_requests_for_a_while_nothing_is_known_any_more() -> None:
    night = Night()
    assert night.go(1200, 8, 2)
    assert night.go(200, 1, 2), "it stays so for five minutes"
    assert not night.go(200, 1, 2)


@pytest.mark.parametrize(("limits", "found"), [(Limits(), ACCEPTED), (LIMITS, None)], ids=["no floor", "not accepted"])
def test_nothing_is_judged_where_nothing_is_known(limits: Limits, found: Accepted | None) -> None:
    night = Night(found, limits)
    night.go(7200, 8, 0.1)
    assert not night.ever


def test_another_acceptance_begins_anew() -> None:
    night = Night()
    assert night.go(1200, 8, 2)
    night.found = replace(ACCEPTED, tok_s=3.0)
    assert not night.go(1200, 8, 2)


def test_an_engine_that_began_anew_is_not_slow_for_that() -> None:
    night = Night()
    night.go(700, 8, 100)
    night.tokens = night.prompts = 0.0
    night.go(700, 8, 100)
    assert not night.ever


def test_a_watch_that_did_not_run_counts_no_time() -> None:
    night = Night()
    night.go(700, 8, 100)
    for _ in range(200):
        night.at += 100
        night.go(3, 8, 100)
    assert not night.ever


def test_metrics_that_are_missed_now_and_then_count_no_time() -> None:
    night = Night()
    for _ in range(600):
        night.go(5, 8, 40)
        night.go(2, 8, 0, engine=lambda _: Engine(absence=None))
    assert not night.ever


# ---- engines that count otherwise ------------------------------------------------------------------------------------

def _llama(tokens: float, steps: float) -> Engine:
    return engine_of_page(200, f"llamacpp:requests_processing 4\nllamacpp:tokens_predicted_total {tokens}\n"
                               f"llamacpp:prompt_tokens_total 5\nllamacpp:n_decode_total {steps}\n")


@pytest.mark.parametrize(("step_s", "slow"), [(12.0, False), (2.0, True)])
def test_steps_count_where_tokens_are_counted_at_the_end(step_s: float, slow: bool) -> None:
    """llama.cpp with answers of an hour: no token is counted, and each step gives one to each of four requests."""
    judge, told = Judge(LIMITS), False
    for second in range(3000):
        seen = judge.judge(Look(1000.0 + second, _llama(0, step_s * second), accepted=ACCEPTED))
        told = any(each.code is Code.TOKENS_SLOW for each in seen.reasons)
    assert told is slow


def test_tokens_of_a_drafter_count_beside_steps() -> None:
    """Five tokens a step and answers of ten seconds: the steps alone would be below the floor."""
    judge = Judge(LIMITS)
    for second in range(3000):
        seen = judge.judge(Look(1000.0 + second, _llama(second // 10 * 10 * 20, 1.0 * second), accepted=ACCEPTED))
        assert seen.state is State.SERVING


def test_which_tokens_are_counted_as_they_come() -> None:
    vllm = engine_of_page(200, "# x\nvllm:num_requests_running 1\nvllm:generation_tokens_total 7\n"
                               "vllm:prompt_tokens_total 9\n")
    assert (vllm.decoded, vllm.prompted, vllm.steps) == (7.0, 9.0, None)
    sglang = ("sglang:num_running_reqs 1\nsglang:generation_tokens_total 7\n"
              'sglang:realtime_tokens_total{mode="decode",tp_rank="0"} 50\n'
              'sglang:realtime_tokens_total{tp_rank="0",mode="prefill_compute"} 900\n')
    assert engine_of_page(200, sglang).decoded == 50.0
    old = engine_of_page(200, "sglang:num_running_reqs 1\nsglang:generation_tokens_total 7\n")
    assert old.decoded is None and old.steps is None, "counted at the end alone: its speed is not known"


# ---- what was accepted -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("boot", "run", "gpus", "holds"), [
    ("boot", "run", ["0000:03:00.0"], True), ("boot", None, ["0000:03:00.0"], True),
    ("later", "run", ["0000:03:00.0"], False), ("boot", "another", ["0000:03:00.0"], False),
    ("boot", "", ["0000:03:00.0"], False), ("boot", "run", [], False),
    ("boot", "run", ["0000:03:00.0", "0000:04:00.0"], False)])
def test_it_holds_for_what_was_accepted_alone(boot: str, run: str | None, gpus: list[str], holds: bool) -> None:
    assert ACCEPTED.holds(boot, run, gpus) is holds


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = replace(ACCEPTED, question=Question("Capital?", "Paris", 12), prompt_tok_s=None)
    accepted.write(str(tmp_path / "accepted.json"), found)
    assert accepted.read(str(tmp_path / "accepted.json")) == found
    assert [each.name for each in tmp_path.iterdir()] == ["accepted.json"]


@pytest.mark.parametrize("change", [
    {"schema": "x"}, {"tok_s": 0}, {"tok_s": None}, {"tok_s": "nan"}, {"tok_s": 1e400}, {"gpus": "0000:03:00.0"},
    {"gpus": [1]}, {"model": None}, {"api": "rpc"}, {"question": {}}, {"question": [1]}, {"prompt_tok_s": -1}])
def test_what_no_acceptance_wrote_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "accepted.json"
    accepted.write(str(path), ACCEPTED)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match=r"accepted\.json: .*tunecheck accept --keep"):
        accepted.read(str(path))
    for text in (b"", b"[]", b"<html>", b"[" * 9000):
        with pytest.raises(ValueError):
            accepted.parsed(text)


def _run(kind: str, **more: object) -> Run:
    return Run(kind, **{"usage": Usage(30, 100), "text": "x", "last_s": 2.0, "first_s": 0.1, "finish": "stop",
                        **more})                                                        # type: ignore[arg-type]


def test_out_of_an_acceptance() -> None:
    plan = plan_for("boot", None, None, None, 1.0)
    long, short, capital, word = (plan.canaries[index].expect for index in (3, 0, 1, 2))
    runs = [_run("canary", expect=short, text="42", usage=Usage(30, 90)),
            _run("canary", expect=capital, text="Paris", usage=Usage(30, 3)),
            _run("canary", expect=word, text="rose", usage=Usage(30, 2)),
            _run("canary", expect=long, text="Tokyo", usage=Usage(8000, 2), first_s=2.0),
            _run("timed")]
    found = keep.of(Measured(tuple(runs)), plan, None, "sha256:d", "m", "chat", "boot")
    assert found is not None and (found.tok_s, found.prompt_tok_s, found.model) == (50.0, 4000.0, "m")
    assert found.question == Question(plan.canaries[1].prompt, "Paris", 35), "the shortest right answer"
    assert keep.of(Measured(tuple(runs[:4])), plan, None, "", "m", "chat", "boot") is None, "no speed was measured"


def _replicas(counts: dict[str, tuple[float, float]]) -> Engine:
    """Name to (requests, tokens)."""
    return engine_of_page(200, "".join(
        f'vllm:num_requests_running{{engine="{name}"}} {running}\n'
        f'vllm:generation_tokens_total{{engine="{name}"}} {tokens:.0f}\n'
        for name, (running, tokens) in counts.items()))


@pytest.mark.parametrize("speed", [5.0, 100.0])
def test_replicas_that_come_and_go_neither_hide_it_nor_make_it(speed: float) -> None:
    """One of three is away for some looks every four minutes: what it has counted for a day comes back at once."""
    judge, at, seen = Judge(LIMITS), 1000.0, []
    for second in range(3600):
        at += 1
        counts = {str(number): (4.0, 1e7 + speed * second / 3) for number in range(3)}
        if second % 240 < 3:
            del counts["1"]
        seen.append(judge.judge(Look(at, _replicas(counts), accepted=ACCEPTED)))
    codes = {each.code for each in seen[-1].reasons}
    assert (Code.TOKENS_SLOW in codes) == (speed < 15), codes


def test_an_empty_window_of_requests_that_gave_no_token_is_slow_and_one_of_prompts_is_not() -> None:
    night = Night()
    assert night.go(WINDOW + 60, 8, 0.0)
    night = Night()
    assert not night.go(2 * WINDOW, 8, 0.0, prompt_s=4000.0)
    assert not Night().go(2 * WINDOW, STREAMS - 1, 0.0)
