"""No code reads a sentence: reasons and messages in other words change no outcome, exit code, fact or fleet state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_REPO = Path(__file__).resolve().parents[3]


def test_other_words_change_no_verdict() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_REPO / "checks"), str(_REPO)]),
                   "TUNECHECK_SAMPLES": ""}
    done = subprocess.run([sys.executable, "-m", "lab.documents", "reworded"], capture_output=True, text=True,
                          timeout=600, cwd=_REPO, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = dict(reversed(part.split(" ", 1)) for part in done.stdout.splitlines()[-1].partition("; ")[2].split(", "))
    assert int(counted["reworded"]) > 10_000, "words that were not changed prove nothing"
