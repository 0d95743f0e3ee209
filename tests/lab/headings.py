"""What a play prints, read while it runs."""

from __future__ import annotations

import subprocess
import threading
import time

__all__ = ["Headings"]


class Headings:
    """What a play prints, read all the time: it would wait where nobody reads."""

    def __init__(self, play: subprocess.Popen[str]) -> None:
        self.lines: list[str] = []
        self._seen: list[tuple[str, float]] = []
        self._play = play
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._play.stdout is not None
        for line in self._play.stdout:
            self.lines.append(line)
            if line.startswith("TASK ["):
                self._seen.append((line, time.monotonic()))

    def at(self, task: str) -> float | None:
        """When the heading of a task was printed, on the monotonic clock; None where it was not."""
        return next((at for line, at in self._seen if task in line), None)

    def has(self, task: str) -> bool:
        return self.at(task) is not None

    def text(self) -> str:
        """All that the play has printed; of one that ended, all that it will."""
        if self._play.poll() is not None:
            self._thread.join(timeout=30)
        return "".join(self.lines)
