"""One acceptance, request by request, in the order that makes the figures mean something: sizes calibrated by the
server's own count, canaries, warm-ups that are thrown away, timed runs between two readings of the server's counters,
ladders, canaries again. Measures only; verdict.py judges."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ProbeError, UsageError
from ..recipes.frozen import Canary
from .counters import GENERATED, delta, engine_of, parse
from .load import drive
from .measured import UNFINISHED, Measured, Run
from .plan import Plan, fits
from .prompts import TIMED, filler, needle, nonce, prompt
from .rates import figures

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Session", "wait_ready"]

_SAMPLE_WORDS = 256
#: A logprob request's tokens: enough that a tenth too many is more than an end mark.
_CHANCES = 128
#: One question asked twice, word for word; in the boot profile shorter.
_REPEAT = {"full": 192, "boot": 64}
_NEEDLE_TOKENS, _NEEDLE_WORDS, _MOST_NEEDLE = 256, 24, 65536
#: Texts given to the engine's own tokenizer.
_MOST_RETOKENISED = 4
#: The longest that a counter may lag behind the stream: SGLang's grows when a request is done with.
_COUNTER_LAG = 5.0
_MARGIN = 64


class Session:
    """One acceptance; call ``measure`` once. ``say``: called with what is going on; ``sample``: asked what the GPUs do
    during a load."""

    def __init__(self, client: Client, plan: Plan, limit: int | None = None,
                 say: Callable[[str], None] = lambda _: None,
                 sample: Callable[[], Mapping[str, Any] | None] = lambda: None) -> None:
        self.client, self.plan, self.say, self._sample = client, plan, say, sample
        self.runs: list[Run] = []
        self.notes: dict[str, str] = {}
        self.stopped = ""
        self.limit = limit
        self._empty, self._question, self._per_word = 0, 0, 1.0
        self._groups: dict[int, float] = {}
        self._filler: tuple[int, int] | None = None
        self._again = nonce()
        self._loads: list[dict[str, Any]] = []
        self._loaded = self._uncounted = 0

    def measure(self) -> Measured:
        """Measure everything of the plan, up to the first request that breaks off: the next would only wait as long
        again."""
        models = self.client.models()
        served = next((each for each in models if each.get("id") == self.client.model), models[0] if models else {})
        self.client.model = self.client.model or str(served.get("id", ""))
        self.limit = self.limit or _limit(served, self.client)
        before, why = self._counters()
        try:
            self._calibrate()
            self._canaries("before")
            self._needles()
            self._ask_logprobs()
            self._repeat()
            for number in range(self.plan.warm_ups):
                self.say(f"warm-up {number + 1} of {self.plan.warm_ups}")
                self._ask("warm-up", prompt(TIMED), self.plan.tokens, ignore_eos=True)
            for number in range(self.plan.runs):
                self.say(f"run {number + 1} of {self.plan.runs}: {self.plan.tokens} tokens")
                self._ask("timed", prompt(TIMED), self.plan.tokens, ignore_eos=True)
            self._ladder()
            for streams in self.plan.concurrency:
                self._together(streams)
            self._load()
            self._repeat()
            self._canaries("after")
        except _StoppedError as stop:
            self.stopped = str(stop)
        if self.client.retried:
            self.notes["answers"] = f"{self.client.retried} requests were asked again after Retry-After"
        counted = sum(run.tokens for run in self.runs) + self._loaded
        grown = self._grown(before, counted) if before else {}
        engine, version = self._engine()
        generated = next((grown[name] for name in GENERATED if name in grown), None)
        if self._uncounted and generated is not None:
            generated, why = None, f"{self._uncounted} requests of the load failed, and nobody knows how far they came"
        self._retokenise()
        return Measured(tuple(self.runs), self.plan.profile, counted, generated, why, grown, self._empty, self.limit,
                        engine, version, self.client.model, self._groups, self.notes, self.stopped, _names(models),
                        self._filler, tuple(self._loads))

    def _ask(self, kind: str, text: str, tokens: int, **more: Any) -> Run:
        marks = {name: more.pop(name) for name in ("target", "expect", "group") if name in more}
        run = replace(self.client.ask(kind, text, tokens, **more), **marks)
        if kind == "logprobs" and run.broken == "status":
            return run      # an engine need not give them
        self.runs.append(run)
        if run.broken or run.finish is None:
            raise _StoppedError(f"{kind}: {run.error or UNFINISHED}")
        return run

    def _calibrate(self) -> None:
        """Ask three small requests: an empty question, the timed one, and that with filler. Without the server's count
        sizes are guesses of one token a word, and are reported as what they are."""
        self.say("calibrating prompt sizes")
        sizes = [run.usage.prompt if run.usage else 0 for run in (
            self._ask("calibration", prompt(text, words), 8)
            for text, words in (("", 0), (TIMED, 0), (TIMED, _SAMPLE_WORDS)))]
        self._empty, self._question = sizes[0], sizes[1]
        if sizes[2] > sizes[1] > 0:
            self._per_word = (sizes[2] - sizes[1]) / _SAMPLE_WORDS
            told = self.client.tokens_of(filler(self._again, _SAMPLE_WORDS))
            self._filler = None if told is None else (sizes[2] - sizes[1], told)

    def _words(self, tokens: int) -> int:
        return max(1, round((tokens - self._question) / self._per_word)) if tokens else 0

    def _canaries(self, when: str) -> None:
        for number, canary in enumerate(self.plan.canaries):
            self.say(f"canary {number + 1} of {len(self.plan.canaries)}, {when} the timed runs")
            size = self._context(canary)
            self._ask("canary", prompt(canary.prompt, self._words(size)), canary.tokens, expect=canary.expect,
                      target=size, group=0 if when == "before" else 1)

    def _context(self, canary: Canary) -> int:
        """Return how many tokens to put before the canary: what it asks for, but half of the model's limit at most."""
        if not canary.context or self.limit is None or canary.context <= self.limit // 2:
            return canary.context
        self.notes["canary"] = f"the long canary had {self.limit // 2} tokens before it, not {canary.context}: the " \
                               f"model takes {self.limit}"
        return self.limit // 2

    def _ask_logprobs(self) -> None:
        run = self._ask("logprobs", prompt(TIMED), _CHANCES, logprobs=True)
        if run.logprobs is None:
            self.notes["logprobs"] = "the server gives none in a stream"

    def _needles(self) -> None:
        """Ask for two numbers in a short prompt, which shows that the model can do it; then in the long prompts."""
        self.say("two numbers in a short prompt, then in long ones")
        room = None if self.limit is None else max(0, self.limit - _NEEDLE_TOKENS - _MARGIN)
        points = fits(self.plan.ladder, self.limit, _NEEDLE_TOKENS + _MARGIN)[0]
        wanted = {self._context(each) for each in self.plan.canaries if each.context}
        wanted |= {max((size for size in points if size <= _MOST_NEEDLE), default=0)}
        for size in (0, *sorted(each for each in wanted if each and (room is None or each <= room))):
            text, expect = needle(self._words(size) or _NEEDLE_WORDS)
            self._ask("needle", text, _NEEDLE_TOKENS, target=size, expect=expect, group=1 if size else 0)

    def _repeat(self) -> None:
        """Ask one question, word for word the same: a greedy engine begins its answer the same way."""
        self.say("one question again, word for word")
        self._ask("repeat", prompt(TIMED, fresh=self._again), _REPEAT[self.plan.profile])

    def _retokenise(self) -> None:
        """Ask the engine's own tokenizer how many tokens the texts have that it delivered."""
        wanted = [number for number, run in enumerate(self.runs) if run.kind in ("timed", "logprobs", "repeat")
                  and run.text and run.usage and not run.broken]
        for number in wanted[:_MOST_RETOKENISED]:
            count = self.client.tokens_of(self.runs[number].text)
            if count is None:
                return
            self.runs[number] = replace(self.runs[number], retokenised=count)

    def _ladder(self) -> None:
        tokens = self.plan.ladder_tokens
        points, beyond = fits(self.plan.ladder, self.limit, tokens + _MARGIN)
        if beyond:
            self.notes["ttft"] = f"left out, the model takes {self.limit} tokens: {', '.join(map(str, beyond))}"
        for size in points:
            self.say(f"TTFT with a prompt of {size} tokens")
            self._ask("ladder", prompt(TIMED, self._words(size)), tokens, target=size)

    def _together(self, streams: int) -> None:
        """Ask so many streams at once. The threads are daemons, so that Ctrl-C need not wait for them."""
        self.say(f"{streams} streams at once")
        found: list[Run] = []
        problems: list[Exception] = []

        def one() -> None:
            try:
                run = self.client.ask("concurrent", prompt(TIMED), self.plan.stream_tokens, ignore_eos=True)
                found.append(replace(run, group=streams))
            except (ProbeError, UsageError) as error:
                problems.append(error)

        threads = [threading.Thread(target=one, daemon=True) for _ in range(streams)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._groups[streams] = time.monotonic() - begun
        self.runs += found
        broken = next((run for run in found if run.broken or run.finish is None), None)
        if problems or broken:
            why = problems[0] if problems else (broken and broken.error) or UNFINISHED
            raise _StoppedError(f"{streams} streams at once: {why}")

    def _load(self) -> None:
        """Run the load of the plan. Figures alone are kept: minutes of answers would fill the memory."""
        plan = self.plan.load
        if plan is None:
            return
        for step in drive(self.client, plan, self.say, self._sample):
            self._loads.append(figures(step, plan.slo))
            self._loaded += sum(each.tokens for each in step.answers)
            self._uncounted += sum(not each.good for each in step.answers)

    def _counters(self) -> tuple[dict[str, float], str]:
        status, text = self.client.get("/metrics")
        found = parse(text) if status == 200 else {}
        why = "" if found else f"/metrics: {f'HTTP {status}' if status else text}" if status != 200 else \
            "/metrics has no counter of generated tokens"
        self._metrics = text if status == 200 else ""
        return found, why

    def _grown(self, before: dict[str, float], counted: int) -> dict[str, float]:
        """Return what the counters grew by since ``before``. Wait for them to reach ``counted`` tokens, for a limited
        time."""
        until = time.monotonic() + _COUNTER_LAG
        while True:
            grown = delta(before, self._counters()[0])
            done = max((grown.get(name, 0.0) for name in GENERATED), default=0.0) >= counted
            if done or self.stopped or time.monotonic() > until:
                return grown
            time.sleep(0.2)

    def _engine(self) -> tuple[str, str]:
        """Return the engine's name by its counters and its version by its own page, as far as it says; else "unknown"
        and ""."""
        engine = engine_of(self._metrics)
        pages = {"vllm": ("/version", "version"), "sglang": ("/get_server_info", "version"),
                 "llama.cpp": ("/props", "build_info")}
        if engine not in pages:
            return engine, ""
        path, key = pages[engine]
        return engine, str(self.client.document(path).get(key, ""))[:100]


class _StoppedError(Exception):
    """A request broke off."""


def _names(models: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return what the server calls its models: id, root and parent (vLLM), aliases (llama.cpp)."""
    found: set[str] = set()
    for each in models[:64]:
        several = each.get("aliases")
        values = [each.get("id"), each.get("root"), each.get("parent"),
                  *(several[:16] if isinstance(several, list) else ())]
        found |= {value[:200] for value in values if isinstance(value, str) and value}
    return tuple(sorted(found))


def _limit(served: dict[str, Any], client: Client) -> int | None:
    """Return the context length in tokens, None where the server does not say: vLLM and SGLang say max_model_len;
    llama.cpp's n_ctx is on /props."""
    found = served.get("max_model_len")
    if type(found) is int and found > 0:
        return found
    settings = client.document("/props").get("default_generation_settings")
    found = settings.get("n_ctx") if isinstance(settings, dict) else None
    return found if type(found) is int and found > 0 else None


def wait_ready(client: Client, seconds: float, say: Callable[[str], None] = lambda _: None) -> None:
    """Wait until the model is listed. What is listed need not answer: that only a request can tell. ProbeError when it
    takes longer than ``seconds``."""
    from .client import NotReadyError

    until, begun = time.monotonic() + seconds, time.monotonic()
    while True:
        try:
            client.models()
            return
        except ProbeError as error:
            if time.monotonic() >= until:
                if seconds:
                    raise ProbeError(f"not ready after {time.monotonic() - begun:.0f} s: {error}", error.flaw) from None
                if isinstance(error, NotReadyError):
                    raise ProbeError(f"{error}; wait for it with --wait-ready 20m", error.flaw) from None
                raise
            say(f"waiting for the server: {error}")
        time.sleep(min(2.0, max(0.1, until - time.monotonic())))
