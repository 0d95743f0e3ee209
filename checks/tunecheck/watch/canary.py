"""A short question with a known answer, for an engine that nobody asks or whose metrics tell nothing.

It is asked in a process of its own, with the client of the acceptance: the watch stays small, waits for nothing, and a
server that drips or hangs holds nobody up. The key goes to it by a pipe. Run as a module it is that process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Any

from ..errors import ProbeError, TunecheckError, UsageError
from ..serving.accepted import Accepted
from .model import Answer

__all__ = ["Canary"]

#: In seconds: what a process may take beside the request itself.
_BESIDE = 20.0
#: Where no acceptance left a question: only whether a token comes is judged then.
_TOKENS = 16
_MOST = 4096
#: An engine that answers with these is dead behind its server; 503 and 429 mean "later".
_DEAD = (500, 502, 504)


class Canary:
    """Asks one at a time. ``seconds``: so long may an answer take."""

    def __init__(self, url: str, key: str, ca: str | None, seconds: float) -> None:
        self._url, self._key, self._ca, self._seconds = url, key, ca, seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._until = 0.0

    @property
    def asking(self) -> bool:
        """Whether a question is under way."""
        return self._child is not None

    def ask(self, accepted: Accepted | None) -> None:
        """Begin one. OSError where no process can be started."""
        asked = accepted.question if accepted else None
        order = {"url": self._url, "key": self._key, "ca": self._ca, "seconds": self._seconds,
                 "model": accepted.model if accepted else "", "api": accepted.api if accepted else "chat",
                 "prompt": asked.prompt if asked else "", "expect": asked.expect if asked else "",
                 "tokens": asked.tokens if asked else _TOKENS}
        child = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True, env=_environment())
        self._child, self._until = child, time.monotonic() + self._seconds + _BESIDE
        assert child.stdin is not None and child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        with contextlib.suppress(OSError):      # an order is smaller than a pipe; a child that died is seen later
            child.stdin.write(json.dumps(order).encode())
        with contextlib.suppress(OSError):
            child.stdin.close()

    def answer(self) -> Answer | None:
        """What it came to, once; None where nothing is under way, or nothing is known yet. Never waits."""
        child = self._child
        if child is None or child.stdout is None:
            return None
        if child.poll() is None:
            if time.monotonic() < self._until:
                return None
            self.close()
            return Answer.REFUSED       # our own process hangs, which says nothing of the engine
        output = child.stdout.read(_MOST) or b""
        self.close()
        try:
            return Answer(output.decode("ascii").strip())
        except ValueError:
            return Answer.REFUSED

    def close(self) -> None:
        """End what is under way."""
        if self._child is not None:
            self._child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(1.0)       # it is in no driver: it ends at once
            if self._child.stdout is not None:
                self._child.stdout.close()
            self._child = None


def _environment() -> dict[str, str]:
    """Neither the unit's notify socket nor a key of the environment."""
    kept = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "HOME", "SSL_CERT_FILE", "SSL_CERT_DIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _answer(order: dict[str, Any]) -> Answer:
    """Ask, and judge the answer as the acceptance does."""
    from dataclasses import replace

    from ..serving.client import Client, Deadlines, Reach
    from ..serving.prompts import CANARIES, prompt
    from ..serving.verdict import answered

    seconds = float(order["seconds"])
    try:
        client = Client(order["url"], order["model"], order["key"], order["api"],
                        Deadlines(min(10.0, seconds), seconds, seconds, seconds), Reach(ca=order["ca"]))
    except UsageError:
        return Answer.REFUSED
    try:
        if not client.model:
            client.model = str(client.models()[0]["id"])
        run = client.ask("canary", prompt(order["prompt"] or CANARIES[0].prompt), int(order["tokens"]))
    except UsageError:
        return Answer.KEY
    except ProbeError:
        return Answer.REFUSED
    finally:
        client.close()
    if run.broken == "status":
        return Answer.FAILED if client.status in _DEAD else Answer.REFUSED
    if run.broken:
        return Answer.LATE if run.broken == "deadline" else Answer.FAILED
    if not order["expect"]:
        return Answer.RIGHT if run.tokens or run.text else Answer.WRONG
    return Answer.RIGHT if answered(replace(run, expect=order["expect"])) else Answer.WRONG


if __name__ == "__main__":
    try:
        sys.stdout.write(_answer(json.loads(sys.stdin.buffer.read(1 << 20))).value)
    except TunecheckError:
        sys.stdout.write(Answer.REFUSED.value)
