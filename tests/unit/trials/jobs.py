"""Jobs of the tests: workers that do, fail, stop, die, ignore and hang. Run in children of the supervisor."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

from tunecheck.trials.heartbeat import state_of
from tunecheck.trials.workers.worker import Context


def steps(context: Context) -> None:
    """Get on, for ``count`` steps of ``pause`` seconds; ``then`` names what happens to the worker ``who``."""
    given = context.parameters
    context.beat.phase("soak")
    for number in range(given.get("count", 20)):
        if number == given.get("at", -1) and given["worker"] == given.get("who", 0):
            globals()[given["then"]](context)
        context.beat.step()
        time.sleep(given.get("pause", 0.005))
    context.result(steps=given.get("count", 20), worker=given["worker"])


def marks(context: Context) -> None:
    """Make the file that it was given."""
    Path(context.parameters["file"]).touch()


def stop(_: Context) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die(_: Context) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait(context: Context) -> None:
    """Wait for ever. With ``silent`` get on until that worker does not beat any more, however long it takes to start:
    on a busy machine nothing depends on who is first."""
    silent = context.parameters.get("silent")
    while silent is not None:
        other = state_of(context.beat.words, silent)
        if other.progress > 3 and (other.beat_age or 0.0) > 0.4:
            break
        context.beat.step()
        time.sleep(0.005)
    time.sleep(600)


def ignore(_: Context) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


def hold(_: Context) -> None:
    """Hang in a C call that does not let go of the interpreter lock: no beat any more."""
    ctypes.PyDLL(None).sleep(600)


def late(_: Context) -> None:
    """No beat and no progress, as on a machine without a processor to spare, and then on as before."""
    ctypes.PyDLL(None).usleep(800_000)


def held(context: Context) -> None:
    """Beat, and make no progress, until the file ``until`` is there; a worker in ``left`` for ever. Then say so."""
    until = Path(context.parameters["until"])
    while not until.exists() or context.parameters["worker"] in context.parameters["left"]:
        time.sleep(0.005)
    context.beat.step()
    until.with_suffix(f".{context.parameters['worker']}").touch()


def raises(_: Context) -> None:
    raise MemoryError("CUDA_ERROR_OUT_OF_MEMORY while allocating 512 MiB")


def segfault(_: Context) -> None:
    ctypes.string_at(0)


def grandchild(context: Context) -> None:
    """Start a process in the same session, then hang."""
    child = subprocess.Popen(["sleep", "600"])
    context.result(child=child.pid)
    time.sleep(600)


def talks(context: Context) -> None:
    """Much output, and no reader of standard error."""
    for number in range(2000):
        context.result(number=number, text="x" * 200)
    os.write(2, b"noise\n" * 200_000)

