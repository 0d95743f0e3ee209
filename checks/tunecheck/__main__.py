"""The command's very beginning: `python -m tunecheck`, and what `tunecheck` starts.

Loading the rest takes a tenth of a second, in which Ctrl-C has to end as it does later: with one line and 130."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Load the command and run it."""
    # Ignored (nohup, a shell's background job) stays ignored.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _leave)
    from .cli import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except SystemExit as left:
        if left.code == _INTERRUPTED:
            # After an interrupt inside exec(), which makes dataclasses, Python would end by the signal, not the code.
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            os._exit(_INTERRUPTED)
        raise
    finally:
        if ours:        # everything is said and written; the interpreter's own end is not to be interrupted
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(_signal: int, _frame: object) -> None:
    # An exception could rise inside an import, which may swallow it.
    os.write(2, b"tunecheck: interrupted; nothing was changed\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
