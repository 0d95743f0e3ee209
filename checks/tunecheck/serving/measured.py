"""What was measured, before anybody judges it. Times are seconds since the request was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .gaps import Gaps

__all__ = ["UNFINISHED", "USAGE", "Measured", "Run", "Usage"]

#: The one way of counting that is accepted.
USAGE = "usage"
UNFINISHED = "the stream ended without a finish_reason"


@dataclass(frozen=True)
class Usage:
    """The engine's own count. It is cumulative: the last one of a stream is kept, never a sum. ``cached`` None: the
    engine does not say. ``fell``: a later count was smaller than an earlier one."""

    prompt: int
    completion: int
    cached: int | None = None
    fell: bool = False


@dataclass(frozen=True)
class Run:
    """One request. ``kind``: calibration, warm-up, canary, needle, repeat, logprobs, timed, ladder, concurrent.
    ``asked``: the limit of tokens that it named; ``target``: the prompt tokens it was made for; ``expect``: a canary's
    answer, or a needle's words.

    ``text`` is content and reasoning as delivered; ``first_s`` and ``last_s`` are the arrivals of its first and last
    byte; ``reads``: arrivals apart from each other; ``first_tokens``: what usage said with the first of them, None
    where it does not say. ``gaps_ms``: 21 quantiles, 0 to 100 %, of the time between arrivals, with ``gap_p99_ms`` and
    their histogram ``gap_bins`` (see gaps.py). ``error``: a sentence, "" for none; ``broken``: how it ended early: "",
    deadline, stream, status, engine. ``counted_by``: usage, or how a published figure came about: characters, gauge,
    asked, tokenizer, engine, claimed, disputed, contradiction, unknown. ``unseen``: characters of the text that a
    document left out.

    Second witnesses of the count: ``pieces``: events with text; ``covered``: characters that the tokens of the logprobs
    are written with, None where they name none, and ``blank_entries`` of them without any; ``retokenised``: what the
    engine's own tokenizer makes of the text. ``names``: the model's name as the events say it.
    ``waited_s``: before it was asked again, after Retry-After; in no other figure."""

    kind: str
    asked: int = 0
    usage: Usage | None = None
    text: str = ""
    first_s: float | None = None
    last_s: float | None = None
    reads: int = 0
    first_tokens: int | None = None
    gaps_ms: tuple[float, ...] = ()
    finish: str | None = None
    logprobs: tuple[float | None, ...] | None = None
    error: str = ""
    broken: str = ""
    target: int = 0
    expect: str = ""
    group: int = 0
    counted_by: str = USAGE
    unseen: int = 0
    gap_p99_ms: float | None = None
    gap_bins: Mapping[int, int] = field(default_factory=dict)
    pieces: int = 0
    names: tuple[str, ...] = ()
    covered: int | None = None
    blank_entries: int = 0
    retokenised: int | None = None
    waited_s: float = 0.0

    @property
    def characters(self) -> int:
        return len(self.text) + self.unseen

    @property
    def gaps(self) -> Gaps:
        return Gaps(self.gaps_ms, self.gap_p99_ms, self.gap_bins)

    @property
    def tokens(self) -> int:
        return self.usage.completion if self.usage else 0

    @property
    def rate(self) -> float | None:
        """The primary figure in tokens per second: the engine's tokens over the wall time from the request to the last
        byte of text. None without tokens or text."""
        return self.tokens / self.last_s if self.tokens and self.last_s else None

    @property
    def decode_rate(self) -> float | None:
        """The tokens per second without the time to the first token; None where delivery in a burst makes it
        meaningless: a real 150 tok/s came out as 106 252 that way (measured)."""
        if self.first_s is None or self.last_s is None or self.reads < 10 or self.burst:
            return None
        return (self.tokens - (self.first_tokens or 1)) / (self.last_s - self.first_s)

    @property
    def burst(self) -> bool:
        """Whether nearly all of the text came at the end."""
        if self.first_s is None or not self.last_s or self.tokens < 64:
            return False
        return self.last_s - self.first_s < 0.1 * self.last_s


@dataclass(frozen=True)
class Measured:
    """Everything one acceptance measured. ``generated`` is what the server's own counter grew by over ``counted``
    tokens of usage, None without a counter (``no_counter`` says why); ``other`` holds further differences, such as
    draft tokens; ``template``: prompt tokens of an empty question, which any two prompts may share; ``limit``: the
    most tokens the model takes, None: not said. ``notes``: what was left out and why, by subject. ``groups``: streams
    at once -> wall seconds. ``stopped``: the request that ended it early. ``listed``: every name that the server lists
    its models by; ``filler``: what usage says of a prompt's filler, and what the tokenizer makes of it, None where it
    was not asked; ``load``: figures of each step of a load, see rates.py."""

    runs: tuple[Run, ...]
    profile: str = "full"
    counted: int = 0
    generated: float | None = None
    no_counter: str = ""
    other: Mapping[str, float] = field(default_factory=dict)
    template: int = 0
    limit: int | None = None
    engine: str = "unknown"
    version: str = ""
    model: str = ""
    groups: Mapping[int, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    stopped: str = ""
    listed: tuple[str, ...] = ()
    filler: tuple[int, int] | None = None
    load: tuple[Mapping[str, Any], ...] = ()

    def of(self, kind: str) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.kind == kind)

    def together(self, streams: int) -> int:
        """Return how many tokens so many streams at once delivered."""
        return sum(run.tokens for run in self.of("concurrent") if run.group == streams)
