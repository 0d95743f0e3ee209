"""The command's very beginning: `python -m tunecheck`, and what `tunecheck` starts.

Loading the rest takes a tenth of a second, in which Ctrl-C has to end as it does later: with one line and 130. So the
signals are taken before anything else is imported; os and sys Python itself has loaded."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what is built in of signal, whose own file imports more
import os
import sys

__all__ = ["main"]

_INTERRUPTED, _TERMINATED = 130, 143


def _leave(number: int, _frame: object = None) -> None:
    # An exception could rise inside an import, which may swallow it.
    word = b"interrupted" if number == _signal.SIGINT else b"ended by SIGTERM"
    try:
        os.write(2, b"tunecheck: " + word + b"; nothing was changed\n")
    finally:
        os._exit(_INTERRUPTED if number == _signal.SIGINT else _TERMINATED)


def _taken() -> tuple[bool, bool]:
    """Take Ctrl-C and SIGTERM, which ends a command as Ctrl-C does: whoever has children or half a file clears up after
    itself. Return which are ours: what is ignored (nohup, a shell's background job) stays ignored."""
    ours = _signal.getsignal(_signal.SIGINT) in (_signal.default_int_handler, _leave)
    ended = _signal.getsignal(_signal.SIGTERM) in (_signal.SIG_DFL, _leave)
    for number in (_signal.SIGINT,) * ours + (_signal.SIGTERM,) * ended:
        _signal.signal(number, _leave)
    return ours, ended


# Who imports this as a library keeps its own signals.
if __name__ == "__main__" or (sys.argv and sys.argv[0].rpartition("/")[2] == "tunecheck"):
    _taken()


def main() -> None:
    """Load the command and run it."""
    ours, ended = _taken()
    import gc

    # Modules and facts are made to stay: a look through them every 700 objects, which is the default, finds nothing and
    # takes 5 % of a short run.
    gc.set_threshold(50_000)
    from .cli.main import interrupted

    try:
        _run(ours, ended)
    except KeyboardInterrupt:       # before a verb began, or behind its end
        os._exit(interrupted())


def _run(ours: bool, ended: bool) -> None:
    from .cli.main import main as run
    from .util.interrupt import take

    try:
        take((_signal.SIGINT,) * ours + (_signal.SIGTERM,) * ended)
        run()
    except SystemExit as left:
        if left.code in (_INTERRUPTED, _TERMINATED):
            # After an interrupt inside exec(), which makes dataclasses, Python would end by the signal, not the code.
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except (OSError, ValueError, AttributeError):
                    continue
            os._exit(left.code)
        raise
    finally:
        # Everything is said and written; the interpreter's own end is not to be interrupted.
        for number in (_signal.SIGINT,) * ours + (_signal.SIGTERM,) * ended:
            _signal.signal(number, _signal.SIG_IGN)


if __name__ == "__main__":
    main()
