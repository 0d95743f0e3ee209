"""Processes are ended by identity, and never outlive their owner."""

import subprocess
import sys
import time
from pathlib import Path

from lab import process


def sleeper() -> subprocess.Popen[bytes]:
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    # execve closes the pipe that Popen waits for before the new command line stands in /proc.
    until = time.monotonic() + 10
    while b"60" not in Path(f"/proc/{child.pid}/cmdline").read_bytes() and time.monotonic() < until:
        time.sleep(0.01)
    return child


def ticks_of(pid: int) -> int:
    ticks = process.start_ticks(pid)
    assert ticks is not None
    return ticks


def test_kill_ends_our_process() -> None:
    child = sleeper()
    process.kill(child.pid, ticks_of(child.pid), "60")
    child.wait(timeout=5)


def test_kill_spares_a_process_that_reuses_the_pid() -> None:
    child = sleeper()
    try:
        process.kill(child.pid, ticks_of(child.pid) - 1, "60")  # another start time
        process.kill(child.pid, ticks_of(child.pid), "tunecheck-lab-lab")  # another command line
        assert child.poll() is None
    finally:
        process.stop_group(child)


def test_kill_of_a_gone_process_is_no_error() -> None:
    child = sleeper()
    ticks = ticks_of(child.pid)
    child.kill()
    child.wait()
    process.kill(child.pid, ticks, "60")


def test_a_zombie_is_not_running() -> None:
    child = subprocess.Popen(["true"])
    end = time.monotonic() + 5
    while process.start_ticks(child.pid) is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.start_ticks(child.pid) is None
    child.wait()


def test_a_tree_ends_with_what_passes_no_signal_on() -> None:
    """As a test runner whose worker is stuck: the worker has a session of its own, and takes no signal."""
    below = ("import signal, subprocess, sys, time\n"
             "for each in (signal.SIGINT, signal.SIGTERM): signal.signal(each, signal.SIG_IGN)\n"
             "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
             "print(child.pid, flush=True); time.sleep(60)\n")
    child = subprocess.Popen([sys.executable, "-c", below], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    with child.stdout as told:
        worker = int(told.readline())
    ticks = process.start_ticks(worker)
    process.kill_tree(child.pid)
    assert child.wait(timeout=5) == -9
    end = time.monotonic() + 5
    while process.start_ticks(worker) == ticks and time.monotonic() < end:
        time.sleep(0.01)
    assert process.start_ticks(worker) != ticks


def test_a_tied_process_ends_with_its_killed_owner(tmp_path: Path) -> None:
    owner = f"""
import os, pathlib, signal, subprocess
from lab import process
child = subprocess.Popen(["sleep", "60"], preexec_fn=process.tie_to_parent())
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", owner], cwd=Path(__file__).parents[3])
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 5
    while process.start_ticks(pid) is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.start_ticks(pid) is None
