"""The one line that says how far an audit is, or which box is read."""

from __future__ import annotations

import time
from collections import Counter

from tunecheck.util.live_line import LiveLine
from tunecheck_fleet.model import Answer

__all__ = ["Progress"]


class Progress:
    """Done, failed and left; nothing where standard error is no terminal. ``doing``: what is shown in their place, for
    a verb that asks one box and keeps nothing."""

    def __init__(self, asked: int, line: LiveLine | None = None, doing: str = "") -> None:
        self._asked = asked
        self._doing = doing
        self._line = line or LiveLine()
        self._counts: Counter[str] = Counter()
        self._shown = 0.0
        self._show()

    def took(self, answer: Answer) -> None:
        """One more has answered, or never will."""
        self._counts[answer.status] += 1
        if time.monotonic() - self._shown > 0.1:
            self._show()

    def done(self) -> None:
        """Leave the terminal as it was."""
        self._line.erase()

    def texts(self) -> tuple[str, ...]:
        """Return the line, and shorter ones for where it does not fit: ``audit: 180 done, 3 failed (2 unreachable,
        1 timeout), 17 left; Ctrl-C keeps what came``."""
        if self._doing:
            return (self._doing,)
        failed = {status: count for status, count in self._counts.items() if status not in ("ok", "partial")}
        why = ", ".join(f"{count} {status}" for status, count in sorted(failed.items()))
        lost = sum(failed.values())
        left = self._asked - self._counts.total()
        done = f"audit: {self._counts.total() - lost} done, {lost} failed"
        reasons = f" ({why})" if why else ""
        return (f"{done}{reasons}, {left} left; Ctrl-C keeps what came", f"{done}{reasons}, {left} left",
                f"{done}, {left} left; Ctrl-C keeps what came", f"{done}, {left} left")

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._line.show(*self.texts())
