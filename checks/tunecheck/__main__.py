"""The command's very beginning: `python -m tunecheck`, and what `tunecheck` starts.

Loading the rest takes a tenth of a second, in which Ctrl-C has to end as it does later: with one line and 130."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

__all__ = ["main"]

_INTERRUPTED, _TERMINATED = 130, 143


def main() -> None:
    """Load the command and run it."""
    # Modules and facts are made to stay: a look through them every 700 objects, which is the default, finds nothing and
    # takes 5 % of a short run.
    gc.set_threshold(50_000)
    # Ignored (nohup, a shell's background job) stays ignored.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _leave)
    # A timeout or a shutdown ends it as Ctrl-C does: whoever has children or half a file clears up after itself.
    ended = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ended:
        signal.signal(signal.SIGTERM, _leave)
    from .cli.main import main as run
    from .cli.main import terminate

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if ended:
        signal.signal(signal.SIGTERM, terminate)
    try:
        run()
    except SystemExit as left:
        if left.code in (_INTERRUPTED, _TERMINATED):
            # After an interrupt inside exec(), which makes dataclasses, Python would end by the signal, not the code.
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            os._exit(left.code)
        raise
    finally:
        if ours:        # everything is said and written; the interpreter's own end is not to be interrupted
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if ended:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _leave(number: int, _frame: object) -> None:
    # An exception could rise inside an import, which may swallow it.
    word = b"interrupted" if number == signal.SIGINT else b"ended by SIGTERM"
    with suppress(OSError):
        os.write(2, b"tunecheck: " + word + b"; nothing was changed\n")
    os._exit(_INTERRUPTED if number == signal.SIGINT else _TERMINATED)


if __name__ == "__main__":
    main()
