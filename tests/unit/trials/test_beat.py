"""The shared page: whatever the parent reads was written as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tunecheck.trials import heartbeat
from tunecheck.trials.heartbeat import Board

WORKER = """
import sys, time
from tunecheck.trials.heartbeat import Beat
beat, until = Beat(int(sys.argv[1]), 1), time.monotonic() + 1
beat.phase("soak")
while time.monotonic() < until:
    for _ in range(1000):
        beat.step()
"""


def test_no_read_sees_half_a_write() -> None:
    """A torn time of progress is a false alarm. struct.pack_into fills with zeros first, and then writes bytes."""
    board = Board(2)
    environment = {**os.environ, "PYTHONPATH": str(Path(heartbeat.__file__).parents[2])}
    child = subprocess.Popen([sys.executable, "-c", WORKER, str(board.descriptor)], env=environment,
                             pass_fds=(board.descriptor,))
    try:
        while board.state(1).phase != "soak" and child.poll() is None:
            time.sleep(0.001)
        last, wrong, reads = 0, [], 0
        while child.poll() is None:
            for _ in range(200):
                state = board.state(1)
                reads += 1
                if state.progress < last or state.progress_age is None or state.progress_age > 60 or (
                        state.phase != "soak" or state.beat_age is None or not -60 < state.beat_age < 60):
                    wrong.append(state)
                last = max(last, state.progress)
    finally:
        child.kill()
        child.wait()
        board.close()
    assert wrong == [] and reads > 1000
