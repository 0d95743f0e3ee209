"""One worker: `python -m tunecheck.trials.workers.worker MODULE:FUNCTION`. It does one job on one or more GPUs and
writes what it found.

It loads the module at once, and begins when descriptor 0 gives one JSON line: {"worker": number, "beat": descriptor,
...}; results go to descriptor 1, one JSON object per line. It dies with its parent (PR_SET_PDEATHSIG), wherever it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from ..heartbeat import Beat

__all__ = ["Context", "main"]

_PR_SET_PDEATHSIG = 1


class Context:
    """What a job gets: its parameters, the beat, and where to put results."""

    def __init__(self, parameters: dict[str, Any], beat: Beat, out: Any) -> None:
        self.parameters = parameters
        self.beat = beat
        self._out = out

    def result(self, **fields: Any) -> None:
        """Hand one result to the parent at once: what is handed over survives a later hang."""
        self._out.write(json.dumps(fields) + "\n")
        self._out.flush()


def main() -> int:
    """Read the job, do it. Exit code 0 done, 1 the job failed and said so in an "error" result."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:      # it died before the call above
        return 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # ending is the parent's business
    module, _, function = sys.argv[1].partition(":")
    with contextlib.suppress(Exception):    # told below, where somebody reads it
        importlib.import_module(module)
    parameters = json.loads(sys.stdin.readline())
    beat = Beat(parameters["beat"], parameters["worker"])
    context = Context(parameters, beat, sys.stdout)
    try:
        job: Callable[[Context], None] = getattr(importlib.import_module(module), function)
        job(context)
    except Exception as error:
        context.result(error=str(error), kind=type(error).__name__, code=getattr(error, "code", None))
        return 1
    beat.phase("done")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # No clean-up of contexts: it costs 0.2 s and may hang; the kernel driver does it as well.
    os._exit(code)
