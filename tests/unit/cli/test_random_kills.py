"""A few of the random kills; all of them: python -m tests.unit.cli.random_kills 200."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.cli.random_kills import VERBS, campaign

_ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "checks")}
#: Starts what hangs, says its pid, and waits: as a verb whose command does not answer.
_HANGS = ("from tunecheck.host.command import Command; from tunecheck.host.reader import Reader; import time\n"
          "c = Command(('sleep', '300')); r = Reader(); print(c._process.pid, r.pid, flush=True); time.sleep(300)\n")


def test_whatever_ends_it_leaves_nothing_behind() -> None:
    wrong, codes = campaign(6, 20, VERBS[:6], 1.0)
    assert not wrong, wrong
    assert set(codes) <= {143, 130, -9, -15, -2, 0, 1, 2, 3}


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", _HANGS], env=_ENV, text=True, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_its_children_die_with_it_when_nobody_can_clear_up(parent: subprocess.Popen[str]) -> None:
    """SIGKILL, or the OOM killer: a command of its own session would run on."""
    assert parent.stdout is not None
    children = [int(word) for word in parent.stdout.readline().split()]
    assert len(children) == 2 and all(Path(f"/proc/{pid}").exists() for pid in children)
    parent.send_signal(signal.SIGKILL)
    parent.wait(timeout=10)
    until = time.monotonic() + 5
    while any(_runs(pid) for pid in children) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(_runs(pid) for pid in children)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("words", [["checks"], ["explain", "swap"], ["--help"], ["topo", "--help"], ["nonsense"]],
                         ids=" ".join)
def test_a_reader_that_went_away_changes_no_exit_code(words: list[str]) -> None:
    """`tunecheck checks | true`, also with its errors in the same pipe."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run([sys.executable, "-m", "tunecheck", *words], env=_ENV, stdout=theirs, stderr=theirs,
                              timeout=60, check=False)
        said = subprocess.run([sys.executable, "-m", "tunecheck", *words], env=_ENV, stdout=theirs,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    finally:
        os.close(theirs)
    assert done.returncode == said.returncode == (2 if words == ["nonsense"] else 0)
    assert "Traceback" not in said.stderr and "Broken pipe" not in said.stderr


def test_what_nobody_expected_is_no_finding() -> None:
    """Exit code 1 says that a check failed; a defect of the program determines nothing."""
    program = ("import tunecheck.report.check_pages as d, sys; from tunecheck.cli.main import main\n"
               "def page(_): return {}['x']\n"
               "d.page = page; sys.argv = ['tunecheck', 'explain', 'swap']; main()\n")
    done = subprocess.run([sys.executable, "-c", program], env=_ENV, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert done.stderr.startswith("tunecheck: internal error: KeyError ('x') in <string>:2; nothing was determined.")
