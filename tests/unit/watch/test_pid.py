"""An engine that was started by hand: real processes, which are stopped, traced, ended, and whose ids are given
again."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path

import pytest
from tests.unit.watch.served import ROOT, Watching, served, tells, until_state
from tests.unit.watch.test_watch import FAST, _once

from tunecheck.cli.watch import watch
from tunecheck.errors import Misuse, UsageError
from tunecheck.host.live import LiveHost
from tunecheck.host.nvml_samples import GpuSample
from tunecheck.watch import witnesses
from tunecheck.watch.codes import Code
from tunecheck.watch.pid import NoEngine, Pid, process_of
from tunecheck.watch.processes import belongs, of_run, stat
from tunecheck.watch.run import Phase
from tunecheck.watch.sources import Sources, Target
from tunecheck.watch.witnesses import Witnesses

#: A first process, whose worker has a session of its own, as vLLM's have. It prints the worker's id.
_ENGINE = """
import subprocess, sys
worker = subprocess.Popen(["setsid", "sh", "-c", "sleep 300 & wait"])
print(worker.pid, flush=True)
sys.stdin.read()
"""
_ATTACH, _DETACH = 16, 17


class Tree:
    """That engine, for as long as a test needs it."""

    def __init__(self) -> None:
        self.first = subprocess.Popen([sys.executable, "-c", _ENGINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.first.stdout is not None
        self.worker = int(self.first.stdout.readline())
        end = time.monotonic() + 30
        while not (below := Path(f"/proc/{self.worker}/task/{self.worker}/children").read_text().split()):
            assert time.monotonic() < end
            time.sleep(0.02)
        self.below = int(below[0])

    def close(self) -> None:
        for pid in (self.below, self.worker):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.first.kill()
        self.first.wait(30)
        for pipe in (self.first.stdin, self.first.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def tree() -> Iterator[Tree]:
    found = Tree()
    try:
        yield found
    finally:
        found.close()


def test_its_processes_are_all_that_descend_from_it(host: LiveHost, tree: Tree) -> None:
    run = process_of(host, str(tree.first.pid)).run()
    assert run.phase is Phase.RUNS and run.entered is not None and 0 <= time.monotonic() - run.entered < 120
    os.kill(tree.below, signal.SIGSTOP)
    until_state(tree.below, "T")
    found = {each.pid: each.state for each in of_run(host, run)}
    assert set(found) == {tree.first.pid, tree.worker, tree.below} and found[tree.below] == "T"
    assert belongs(host, tree.below, run) and not belongs(host, os.getpid(), run)


def test_who_computes_among_them_is_noted_and_missed(host: LiveHost, tree: Tree,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is on GPUs by NVML's pids; those of somebody else are not the engine's."""
    monkeypatch.setattr(witnesses, "_NOTE_EVERY", 0.0)
    run, found = process_of(host, str(tree.first.pid)).run(), Witnesses(host)
    gpus = (GpuSample("0000:03:00.0", pids=(tree.below, os.getpid())),)
    found.note(run, gpus, 1.0)
    told = {each.pid: each for each in found.processes(run)}
    assert told[tree.below].gpus == ("0000:03:00.0",) and os.getpid() not in told
    # Its parent is gone, so that it descends from the engine no longer.
    os.kill(tree.worker, signal.SIGKILL)
    until_state(tree.worker, "Z")
    found.note(run, gpus, 1.0)
    assert {each.pid: each.state for each in found.processes(run)}[tree.below] in ("S", "R")
    os.kill(tree.below, signal.SIGKILL)

    def ended() -> bool:
        found.note(run, (), 1.0)
        return {each.pid: each.state for each in found.processes(run)}[tree.below] in ("X", "Z")

    # A busy machine lets it run on for a moment after the signal.
    end = time.monotonic() + 30
    while not ended():
        assert time.monotonic() < end, "it is still said to run"
        time.sleep(0.01)


def test_a_debugger_is_seen_below_it(host: LiveHost, tree: Tree) -> None:
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    if ptrace(_ATTACH, tree.below, None, None) != 0:
        pytest.skip(f"this machine lets nobody trace: {os.strerror(ctypes.get_errno())}")
    try:
        until_state(tree.below, "t")
        run = process_of(host, str(tree.first.pid)).run()
        assert {each.pid: each.state for each in of_run(host, run)}[tree.below] == "t"
    finally:
        os.waitpid(tree.below, 0x40000000)      # __WALL: it is no child of ours
        ptrace(_DETACH, tree.below, None, None)


def test_a_stopped_worker_is_blamed_and_the_end_ends_the_watch(tree: Tree) -> None:
    with served() as server:
        watching = Watching("--pid", str(tree.first.pid), "--url", server.url, *FAST)
        try:
            watching.until("serving")
            os.kill(tree.below, signal.SIGSTOP)
            server.step = 0
            line = watching.until("stalled")
            assert tells(line, Code.TOKENS_FROZEN)
            assert str(tree.below) in (line if str(tree.below) in line else watching.until(str(tree.below)))
            tree.first.kill()
            tree.first.wait(30)
            line = watching.until("stopped")
            assert tells(line, Code.PROCESS_ENDED) and str(tree.first.pid) in line
            assert watching.process.wait(30) == 1
        finally:
            watching.end()


def test_one_verdict_names_the_process(tree: Tree) -> None:
    with served() as server:
        done = _once("--pid", str(tree.first.pid), "--url", server.url, "--json")
    told = json.loads(done.stdout)
    assert (told["state"], told["pid"], told["unit"], told["container"]) == ("serving", tree.first.pid, None, None)
    assert done.returncode == 0


def test_a_number_that_was_given_again_is_another_process(tmp_path: Path) -> None:
    """In a namespace of its own the next number can be chosen."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root for a namespace of its own")
    script = tmp_path / "again.py"
    script.write_text("""
import subprocess, sys, time
from pathlib import Path
from tunecheck.host.live import LiveHost
from tunecheck.watch.pid import process_of
host = LiveHost()
first = subprocess.Popen(["sleep", "300"])
watched = process_of(host, str(first.pid))
before = watched.run()
first.kill()
first.wait()
time.sleep(0.1)
for _ in range(20):
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
    second = subprocess.Popen(["sleep", "300"])
    if second.pid == first.pid:
        break
    second.kill()
    second.wait()
else:
    sys.exit("SKIP: the number was not given again")
after = watched.run()
print(before.phase.value, after.phase.value, after.reason.code.value)
second.kill()
second.wait()
host.close()
""")
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, str(script)],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})
    if "SKIP" in done.stderr or "unshare:" in done.stderr or "Read-only" in done.stderr:
        pytest.skip(done.stderr.strip()[-200:])
    assert done.stdout.split() == ["runs", "ended", "process-ended"], done.stderr


def test_another_process_of_this_number_has_no_processes_of_the_engine(host: LiveHost, tree: Tree) -> None:
    run = process_of(host, str(tree.first.pid)).run()
    other = replace(run, started="1")
    assert of_run(host, other) == () and not belongs(host, tree.below, other)
    found = stat(host, tree.first.pid)
    assert found is not None
    ended = Pid(host, tree.first.pid, replace(found, started="1")).run()
    assert ended.phase is Phase.ENDED and ended.reason is not None and ended.reason.code is Code.PROCESS_ENDED


def test_silence_at_an_address_that_nobody_gave_says_nothing_of_its_age(host: LiveHost, tree: Tree) -> None:
    """An engine that serves at another port for hours is not one that loads for hours."""
    for assumed in (False, True):
        sources = Sources(host, Target("http://127.0.0.1:9", assumed, paths=()), None, None, None,
                          process_of(host, str(tree.first.pid)))
        run = sources.look(False).run
        assert run is not None and (run.entered is None) is assumed
        sources.close()


# ---- what is refused -------------------------------------------------------------------------------------------------

def _refused(text: str) -> Enum | None:
    host = LiveHost()
    try:
        with pytest.raises(UsageError) as raised:
            process_of(host, text)
    finally:
        host.close()
    assert f"--pid {text[:60]}" in str(raised.value)
    return raised.value.flaw


@pytest.mark.parametrize("text", ["", "x", "0", "-5", "1e3", "\u0661\u0662", "4194305", "9" * 40])
def test_what_is_no_number_of_a_process(text: str) -> None:
    assert _refused(text) is Misuse.MALFORMED


def test_the_first_process_and_those_above_the_watch() -> None:
    assert _refused("1") is NoEngine.FIRST
    assert _refused(str(os.getpid())) is NoEngine.OURSELVES
    if os.getppid() > 1:
        assert _refused(str(os.getppid())) is NoEngine.OURSELVES


def test_a_process_that_has_ended() -> None:
    child = subprocess.Popen(["true"])
    try:
        until_state(child.pid, "Z")
        assert _refused(str(child.pid)) is Misuse.OVER
    finally:
        child.wait(30)
    assert _refused(str(child.pid)) is Misuse.NO_SUCH


def test_a_thread_is_refused_with_its_process() -> None:
    ended, begun, names = threading.Event(), threading.Event(), list[int]()

    def thread() -> None:
        names.append(threading.get_native_id())
        begun.set()
        ended.wait(60)

    running = threading.Thread(target=thread)
    running.start()
    begun.wait(30)
    try:
        assert _refused(str(names[0])) is NoEngine.THREAD
    finally:
        ended.set()
        running.join(30)


def test_a_thread_of_the_kernel(host: LiveHost) -> None:
    if Path("/proc/2/comm").read_text().strip() != "kthreadd":
        pytest.skip("no threads of the kernel are shown here")
    assert _refused("2") is NoEngine.KERNEL_THREAD


def test_what_another_user_may_not_see_is_said_so() -> None:
    """/proc with hidepid=2, as nobody: it looks as if there were no such process."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root for a /proc of its own")
    # What is imported later cannot be read as nobody.
    script = """
import ctypes, os, sys
from tunecheck.errors import UsageError
from tunecheck.host.live import LiveHost
from tunecheck.watch.pid import process_of
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for pid in (sys.argv[1], "4194303"):
    host = LiveHost()
    try:
        process_of(host, pid)
        print("none")
    except UsageError as error:
        print(error.flaw.value)
    host.close()
"""
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", 'mount -t proc -o hidepid=2 proc /proc; exec "$@"', "sh", sys.executable,
         "-c", script, str(os.getpid())], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})
    if "mount:" in done.stderr:
        pytest.skip(done.stderr.strip()[-200:])
    assert done.stdout.split() == [Misuse.UNREADABLE.value, Misuse.NO_SUCH.value], done.stderr


@pytest.mark.parametrize(("given", "flaw"), [
    ({"unit": "x", "pid": "7"}, Misuse.DOES_NOT_BELONG), ({"pid": "7", "container": "x"}, Misuse.DOES_NOT_BELONG),
    ({"unit": "x", "container": "x"}, Misuse.DOES_NOT_BELONG), ({"pid": "7", "act": True}, Misuse.DOES_NOT_BELONG),
    ({"container": "x", "act": True}, Misuse.DOES_NOT_BELONG), ({"act": True}, Misuse.LEFT_OUT),
    ({"unit": "x", "act": True, "once": True}, Misuse.DOES_NOT_BELONG)])
def test_options_that_do_not_belong_together(given: dict[str, object], flaw: Misuse) -> None:
    words = [word for name, value in given.items()
             for word in ([f"--{name}"] if value is True else [f"--{name}", str(value)])]
    with pytest.raises(UsageError) as raised:
        watch.main(words, standalone_mode=False)
    assert raised.value.flaw is flaw and next(iter(given)) in str(raised.value)
