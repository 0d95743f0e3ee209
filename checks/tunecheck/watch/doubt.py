"""When to ask a canary, and what its answers say. Pure.

A server that answers /health, lists no request and gives no token looks like an idle one: only a question tells them
apart. One bad answer is asked for again before it counts: two in a row do."""

from __future__ import annotations

from .model import Answer, Code, Look, Reason, State

__all__ = ["Doubt"]

#: In seconds: a bad answer is asked for again so soon, and while it stays bad, so often.
_AGAIN, _BAD_EVERY = 5.0, 60.0
#: Counters that have not moved so long after a right answer do not count what they say.
_SETTLES = 10.0
_TWICE = 2


class Doubt:
    """``every`` seconds at most one question; 0: never."""

    def __init__(self, every: float) -> None:
        self.every = every
        self._began: float | None = None
        self._next = 0.0
        self._asking = self._asked = False
        self._right_at: float | None = None
        self._silent = self._wrong = 0
        self._reason: Reason | None = None
        self._moved: float | None = None        # the counters, when it was asked
        self._settles: float | None = None
        self.metrics_lied = False               # an answer came and no counter moved

    def forget(self) -> None:
        """Another run of the engine."""
        self._right_at = self._settles = self._moved = None
        self._silent = self._wrong = 0
        self._reason, self.metrics_lied = None, False

    def due(self, at: float, urgent: bool = False) -> bool:
        """Whether it is time for one. Whoever begins just now asks nobody yet: a watch that is started again and
        again would ask each time. ``urgent``: a stall would be told next; the first question need not wait then."""
        if not self.every or self._began is None or self._asking:
            return False
        return at >= self._next or (urgent and not self._asked)

    def hasten(self, at: float) -> None:
        """There is a reason to ask soon."""
        self._next = min(self._next, at)

    def hear(self, look: Look, moved: bool, works: bool) -> None:
        """``moved``: counters have moved in this look; ``works``: a GPU works, so that the engine may be busy."""
        if self._began is None:
            self._began, self._next = look.at, look.at + self.every
        if moved:
            self._silent, self.metrics_lied, self._settles = 0, False, None
            if not (look.canary_asked or look.canary):
                self._next = max(self._next, look.at + self.every)      # a request is as good as a question
        if look.canary_asked and not self._asking:
            self._moved, self._settles, self._asked = look.engine.moved, None, True
        self._asking = look.canary_asked
        if self._settles is not None and look.at >= self._settles and look.engine.absence is None:
            self.metrics_lied, self._settles = look.engine.moved == self._moved, None
        if look.canary is not None:
            self._hear(look, look.canary, works)

    def _hear(self, look: Look, answer: Answer, works: bool) -> None:
        self._next = look.at + self.every
        self._reason = None
        if answer is Answer.RIGHT:
            self._silent = self._wrong = 0
            self._right_at = look.at
            # Without counters before the question, nothing can be said of them.
            self._settles = look.at + _SETTLES if self._moved is not None else None
        elif answer is Answer.WRONG:
            self._silent, self._wrong = 0, self._wrong + 1
        elif answer is Answer.FAILED or (answer is Answer.LATE and not works):
            self._silent += 1
        elif answer is Answer.KEY:
            self._reason = Reason(Code.KEY_REFUSED)
        elif answer is Answer.REFUSED:
            self._reason = Reason(Code.CANARY_REFUSED)
        if self._silent or self._wrong:
            soon = max(self._silent, self._wrong) < _TWICE
            self._next = look.at + (_AGAIN if soon else min(self.every, _BAD_EVERY))

    @property
    def silent(self) -> list[Reason]:
        """Two questions in a row had no answer."""
        return [Reason(Code.CANARY_SILENT)] if self._silent >= _TWICE else []

    @property
    def beside(self) -> list[Reason]:
        """What else is to be told of the answers."""
        wrong = [Reason(Code.CANARY_WRONG)] if self._wrong >= _TWICE else []
        lied = [Reason(Code.METRICS_LIE)] if self.metrics_lied else []
        return [*wrong, *lied, *([self._reason] if self._reason else [])]

    def alone(self, at: float, reasons: list[Reason]) -> tuple[State, list[Reason]]:
        """The state of an engine of which nothing else is known."""
        if self.silent:
            return State.STALLED, [*self.silent, *reasons]
        if self._right_at is not None and at - self._right_at <= 2 * self.every + _BAD_EVERY:
            seconds = round(at - self._right_at, 1)
            return State.SERVING, [Reason(Code.CANARY_ALONE, numbers=(("seconds", seconds),)), *reasons]
        return State.UNKNOWN, reasons
