"""Children are started whole: Ctrl-C at any moment ends them without a word of Python's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_REPO = Path(__file__).resolve().parents[3]
#: Interrupts the whole group again and again while programs are started. The parent only counts: what is printed comes
#: from a child that was between fork and exec.
_STORM = """
import os, signal, subprocess, sys, time
from tunecheck.util.tied import start
parent, hits = os.getpid(), []
def counts(*_):
    if os.getpid() != parent:
        raise KeyboardInterrupt
    hits.append(1)
signal.signal(signal.SIGINT, counts)
sender = os.fork()
if sender == 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while os.getppid() == parent:
        os.kill(0, signal.SIGINT)
        time.sleep(0.0003)
    os._exit(0)
codes = set()
for _ in range(150):
    codes.add(start(["true"]).wait())
os.kill(sender, signal.SIGKILL)
os.waitpid(sender, 0)
print(len(hits) > 20, codes <= {0, -signal.SIGINT})
"""


def test_an_interrupt_between_fork_and_exec_prints_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", _STORM], capture_output=True, text=True, timeout=60,
                          start_new_session=True, env={**os.environ, "PYTHONPATH": str(_REPO / "checks")})
    assert (done.stdout.strip(), done.stderr) == ("True True", "")
