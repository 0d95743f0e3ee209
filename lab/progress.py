"""Progress on stderr, each line with the seconds since the start."""

from __future__ import annotations

import os
import sys
import time

_START = float(os.environ.get("LAB_STARTED", "0")) or time.time()


def progress(text: str) -> None:
    """Print one line of progress: `[  12.3 s] text`."""
    print(f"{elapsed()} {text}", file=sys.stderr, flush=True)


def elapsed() -> str:
    """Return the seconds since the start as every progress line shows them."""
    return f"[{time.time() - _START:6.1f} s]"


def started() -> str:
    """Return the start as text, for LAB_STARTED of child processes (one clock for one command)."""
    return repr(_START)
