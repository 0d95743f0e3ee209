"""What bounds recoveries: how long one waits for the next, and that there is one at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.recovery.test_act import Box1, _at_once, asked, box

from tunecheck.cli import recover as recover_verb
from tunecheck.errors import Misuse, UsageError
from tunecheck.recovery import act, unit
from tunecheck.recovery.act import recover
from tunecheck.recovery.model import Step
from tunecheck.spec.frozen import Watch

__all__ = ["_at_once"]

PAUSES = act._PAUSES


def test_each_restart_of_a_day_waits_longer_than_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                ) -> None:
    """What wedges at once, wedges again at once. Time passes as fast as it is waited for."""
    monkeypatch.setattr(act, "_PAUSES", PAUSES)
    now = [time.monotonic()]
    monkeypatch.setattr(act.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(unit.Served, "wait", lambda _, seconds: now.__setitem__(0, now[0] + seconds))
    found, waited = box(Box1(), tmp_path, Watch("restart", 24)), []
    for number in range(6):
        before = now[0]
        ended = recover(found, asked(f"n{number}"))
        assert ended is not None and ended.step is Step.SERVING
        waited.append(now[0] - before)
    expected = [0, 60, 300, 900, 900, 900]
    assert all(abs(each - pause) < 5 for each, pause in zip(waited, expected, strict=True)), waited


def test_two_recoveries_at_once_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person runs the verb while the unit is at work: the second says so and touches nothing."""
    monkeypatch.setattr(recover_verb, "_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(recover_verb.os, "geteuid", lambda: 0)
    monkeypatch.setattr(recover_verb, "_recovered", lambda *_: pytest.fail("it went on"))
    first = recover_verb._locked()
    try:
        locks = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        done = subprocess.run([sys.executable, "-c", locks, str(tmp_path / "lock")], capture_output=True, timeout=60,
                              check=False)
        assert done.returncode == 1, "it is held against other processes"
        told = CliRunner().invoke(recover_verb.recover, [])
        assert isinstance(told.exception, UsageError) and told.exception.flaw is Misuse.IN_USE
    finally:
        os.close(first)
    monkeypatch.setattr(recover_verb, "_recovered", lambda *_: None)
    assert CliRunner().invoke(recover_verb.recover, []).exit_code == 0, "its end frees the lock"
