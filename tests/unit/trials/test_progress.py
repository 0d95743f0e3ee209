"""The live line of a trial, on real terminals (pty): drawn in place, cut, erased, and never waited for."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.trials import whole_box

from tunecheck.trials.heartbeat import State
from tunecheck.trials.progress import Shown
from tunecheck.trials.supervisor import Job
from tunecheck.util.live_line import LiveLine

ERASE = "\r\x1b[K"


@dataclass
class Terminal:
    ours: int
    theirs: int

    def width(self, columns: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def text(self, seconds: float = 0.0) -> str:
        """What has been written to it."""
        found = b""
        while select.select([self.ours], [], [], seconds)[0]:
            found += os.read(self.ours, 1 << 16)
        return found.decode()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    ends = Terminal(*pty.openpty())
    ends.width(80)
    yield ends
    os.close(ends.ours)
    os.close(ends.theirs)


def test_a_line_is_replaced_cut_and_erased(terminal: Terminal) -> None:
    with open(terminal.theirs, "w", closefd=False) as stream:
        line = LiveLine(stream)
        line.erase()
        assert terminal.text() == ""
        line.show("one")
        terminal.width(10)
        line.show("0123456789\x1b[31m")
        line.erase()
        line.erase()
    assert terminal.text() == f"{ERASE}one{ERASE}012345678{ERASE}"


def test_the_longest_text_that_fits_is_shown_whole(terminal: Terminal) -> None:
    with open(terminal.theirs, "w", closefd=False) as stream:
        line = LiveLine(stream)
        for width in (40, 11, 8, 3):
            terminal.width(width)
            line.show("one, two, three", "one, two", "one")
    assert terminal.text() == f"{ERASE}one, two, three{ERASE}one, two{ERASE}one{ERASE}on"


def test_a_stopped_terminal_is_not_waited_for(terminal: Terminal) -> None:
    with open(terminal.theirs, "w", closefd=False) as stream:
        line = LiveLine(stream)
        termios.tcflow(terminal.theirs, termios.TCOOFF)     # as Ctrl-S does
        line.show("lost")
        termios.tcflow(terminal.theirs, termios.TCOON)
        line.show("seen")
    assert terminal.text() == f"{ERASE}seen"


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_nothing_where_nobody_can_see_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                         term: str) -> None:
    monkeypatch.setenv("TERM", term)
    with (tmp_path / "log").open("w") if term == "xterm" else open(terminal.theirs, "w", closefd=False) as stream:
        LiveLine(stream).show("text")
    assert (tmp_path / "log").read_text() == "" if term == "xterm" else terminal.text() == ""


def test_what_the_line_says() -> None:
    """The slowest rank counts; seconds and steps are those of the phase."""
    lines: list[str] = []

    class Kept(LiveLine):
        def show(self, text: str, *_: str) -> None:
            lines.append(text)

    ticks = iter([10.0, 10.4, 22.0, 22.0, 34.0, 40.0, 40.0])
    shown = Shown(Kept(), lambda: next(ticks))
    jobs = [Job("tunecheck.trials.workers.reduce:run", {"soak_seconds": 600.0})] * 2

    def state(phase: str, progress: int) -> State:
        return State(phase, progress, 0.0, 0.0)

    shown(jobs, [state("soak", 900), state("measure", 100)])
    shown(jobs, [state("soak", 1200), state("soak", 1000)])
    shown(jobs, [state("soak", 5000), state("soak", 4001)])
    staged = Job("tunecheck.trials.workers.reduce:run", {}, {"NCCL_P2P_DISABLE": "1"})
    shown([staged] * 4, [state("verify", 7)] * 4)
    assert [(*re.findall(r"\b(?:\d+|soak|measure|verify)\b", line), "P2P" in line) for line in lines] == [
        ("2", "measure", "0", "0", False), ("2", "soak", "0", "600", "0", False),
        ("2", "soak", "12", "600", "3001", False), ("4", "verify", "0", "0", True)]


def test_a_soak_is_shown_and_an_interrupted_one_leaves_a_clean_line(libraries: Path, tmp_path: Path,
                                                                   terminal: Terminal) -> None:
    """Through the whole program, whose standard output holds none of it."""
    terminal.width(50)
    done = subprocess.Popen(whole_box.command(tmp_path, "allreduce", "--soak", "60s", "--force", limits={}),
                            env=whole_box.environment(libraries, tmp_path), cwd=tmp_path, stdout=subprocess.PIPE,
                            stderr=terminal.theirs, start_new_session=True)
    try:
        seen, until = "", time.monotonic() + 60
        while not re.search(r"soak \d+ \w+ 60 s", seen) and time.monotonic() < until and done.poll() is None:
            seen += terminal.text(0.1)
        os.kill(done.pid, signal.SIGINT)
        out, _ = done.communicate(timeout=30)
    finally:
        done.kill()
        done.wait()
    seen += terminal.text(0.1)
    lines = seen.split(ERASE)
    assert lines[0] == "" and re.match(r"tunecheck: .* 2 GPUs, soak \d+ \w+ 60", lines[-2]), lines
    assert max(len(line) for line in lines[:-1]) == 49
    assert lines[-1].strip().startswith("tunecheck: ") and done.returncode == 130
    assert out == b"" and json.loads((tmp_path / "left").read_text()) == ["full", "stuck"]


def test_no_line_beside_a_document(libraries: Path, tmp_path: Path, terminal: Terminal) -> None:
    done = subprocess.run(whole_box.command(tmp_path, "p2p", "--json", "--force", limits={}), cwd=tmp_path,
                          env=whole_box.environment(libraries, tmp_path), stdout=subprocess.PIPE,
                          stderr=terminal.theirs, timeout=60, check=False)
    assert terminal.text(0.1) == "" and json.loads(done.stdout)["measured"]["figures"]
