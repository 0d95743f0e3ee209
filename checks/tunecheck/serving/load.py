"""Put a load on a server: so many streams, or so many requests a second, for minutes. Measures only; rates.py makes
figures of it.

Closed: each stream asks again as soon as it was answered. Open: requests are sent by the clock, whether the server
keeps up or not, so a slow answer delays no other request (a closed loop hides that). What was asked before the end is
waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ProbeError, UsageError
from .prompts import TIMED, prompt

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Answer", "LoadPlan", "Step", "drive"]

#: More requests under way than this, and the server does not keep up: nothing is learned by sending more.
_MOST_OPEN = 512
_SAMPLE, _LOOK = 2.0, 30.0


@dataclass(frozen=True)
class Answer:
    """One request of a load. All times are seconds since the step began: ``due``, when it should have been sent,
    ``sent``, ``first`` and ``last`` text; ``tokens`` by usage; ``error``: why it counts as failed."""

    due: float
    sent: float
    first: float | None
    last: float | None
    tokens: int
    prompt: int = 0
    error: str = ""

    @property
    def good(self) -> bool:
        return not self.error and self.first is not None and self.last is not None and self.tokens > 0


@dataclass(frozen=True)
class Step:
    """One step of a load. ``mode``: closed (``level`` streams) or open (``level`` requests a second). ``seconds``: how
    long it was asked for. ``devices``: what the GPUs said meanwhile, a mapping each time; ``behind``: it stopped early,
    the server did not keep up."""

    mode: str
    level: float
    seconds: float
    answers: tuple[Answer, ...]
    devices: tuple[Mapping[str, Any], ...] = ()
    behind: bool = False


@dataclass(frozen=True)
class LoadPlan:
    """What a load asks. ``streams`` and ``rates``: a step each; ``words`` of filler in each prompt, ``tokens`` of each
    answer; ``slo``: seconds by ttft, itl and e2e, within which an answer counts as good."""

    seconds: float
    streams: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    tokens: int = 256
    words: int = 0
    slo: Mapping[str, float] = field(default_factory=dict)


def drive(client: Client, plan: LoadPlan, say: Callable[[str], None] = lambda _: None,
          sample: Callable[[], Mapping[str, Any] | None] = lambda: None) -> tuple[Step, ...]:
    """Run every step of the plan, one after the other, and return them. ``sample``: asked every two seconds what the
    GPUs do. UsageError where the key is refused."""
    found = []
    for streams in plan.streams:
        say(f"load: {streams} streams for {plan.seconds:g} s")
        found.append(_Step(client, plan, "closed", streams, sample).run())
    for rate in plan.rates:
        say(f"load: {rate:g} requests a second for {plan.seconds:g} s")
        found.append(_Step(client, plan, "open", rate, sample).run())
    return tuple(found)


class _Step:
    def __init__(self, client: Client, plan: LoadPlan, mode: str, level: float,
                 sample: Callable[[], Mapping[str, Any] | None]) -> None:
        self._client, self._plan, self._mode, self._level, self._sample = client, plan, mode, level, sample
        self._answers: list[Answer] = []
        self._devices: list[Mapping[str, Any]] = []
        self._refused: list[UsageError] = []
        self._done = threading.Event()
        self._begun = 0.0
        self._behind = False

    def run(self) -> Step:
        self._begun = time.monotonic()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            threads = self._closed() if self._mode == "closed" else self._open()
            for thread in threads:
                thread.join()
        finally:
            self._done.set()
        # A look that is under way belongs to this step, and the next one must not ask beside it. It has a deadline.
        watcher.join(_LOOK)
        if self._refused:
            raise self._refused[0]
        return Step(self._mode, self._level, self._plan.seconds, tuple(self._answers), tuple(self._devices),
                    self._behind)

    def _closed(self) -> list[threading.Thread]:
        def stream() -> None:
            while not self._refused and self._now() < self._plan.seconds:
                if not self._one(self._now()).good:
                    # A server that refuses at once would be asked thousands of times a second.
                    self._done.wait(0.2)

        return self._started([threading.Thread(target=stream, daemon=True) for _ in range(int(self._level))])

    def _open(self) -> list[threading.Thread]:
        threads: list[threading.Thread] = []
        for number in range(max(1, int(self._plan.seconds * self._level))):
            due = number / self._level
            left = due - self._now()
            if left > 0 and self._done.wait(left):
                break
            threads = [each for each in threads if each.is_alive()]
            if len(threads) >= _MOST_OPEN or self._refused:
                self._behind = len(threads) >= _MOST_OPEN
                break
            threads += self._started([threading.Thread(target=self._one, args=(due,), daemon=True)])
        return threads

    def _started(self, threads: list[threading.Thread]) -> list[threading.Thread]:
        for thread in threads:
            thread.start()
        return threads

    def _one(self, due: float) -> Answer:
        sent = self._now()
        answer = Answer(due, sent, None, None, 0, error="not answered")
        try:
            run = self._client.ask("load", prompt(TIMED, self._plan.words), self._plan.tokens, ignore_eos=True)
            at = sent + run.waited_s
            error = run.error or ("" if run.finish else "the stream ended without a finish_reason")
            answer = Answer(due, sent, None if run.first_s is None else at + run.first_s,
                            None if run.last_s is None else at + run.last_s, run.tokens,
                            run.usage.prompt if run.usage else 0, error)
        except UsageError as error:
            self._refused.append(error)
        except ProbeError as error:
            answer = Answer(due, sent, None, None, 0, error=str(error))
        self._answers.append(answer)
        return answer

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _watch(self) -> None:
        """Look at the GPUs every two seconds, as long as the step lasts. A look that failed is kept as such, and the
        next one follows."""
        while True:
            told = self._sample()
            if told is None:
                return
            self._devices.append({"at": round(self._now(), 2), **told})
            if self._done.wait(_SAMPLE):
                return
