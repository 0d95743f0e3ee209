"""LiveHost: whatever a file or a command does, an answer comes within a bound, and nothing stays behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tunecheck.host import Unreadable
from tunecheck.host.command import _kill
from tunecheck.host.live import LiveHost
from tunecheck.model.absence import Absence


@pytest.fixture
def live() -> Iterator[LiveHost]:
    host = LiveHost()
    yield host
    host.close()


@pytest.fixture
def hasty() -> Iterator[LiveHost]:
    host = LiveHost(read_deadline=1.0)
    yield host
    host.close()


def _children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_reads_lists_and_resolves(live: LiveHost, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\x00\xff" * 100_000)
    (tmp_path / "a").symlink_to("b")
    assert live.read_bytes(str(tmp_path / "b")) == b"\x00\xff" * 100_000
    assert live.list(str(tmp_path)) == ["a", "b"]
    assert live.realpath(str(tmp_path / "a")) == str(tmp_path.resolve() / "b")
    (tmp_path / "empty").mkdir()
    assert live.list(str(tmp_path / "empty")) == []


def _refused(ask: Callable[[], object]) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize(("path", "absence"), [
    ("missing", Absence.NOT_PRESENT), ("", Absence.UNREADABLE), ("file/below", Absence.NOT_PRESENT),
    ("nul\0l", Absence.UNREADABLE)])
def test_reasons(live: LiveHost, tmp_path: Path, path: str, absence: Absence) -> None:
    (tmp_path / "file").write_text("x")
    assert _refused(lambda: live.read_bytes(f"{tmp_path}/{path}")).absence is absence


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(live: LiveHost, tmp_path: Path) -> None:
    (tmp_path / "secret").touch(0o000)
    assert _refused(lambda: live.read_bytes(str(tmp_path / "secret"))).absence is Absence.NO_PERMISSION


def test_a_file_without_end_is_cut_off(live: LiveHost) -> None:
    refused = _refused(lambda: live.read_bytes("/dev/zero"))
    assert refused.absence is Absence.UNREADABLE and "16 MiB" in refused.reason


def test_a_fifo_that_never_answers_costs_one_deadline(hasty: LiveHost, tmp_path: Path) -> None:
    (tmp_path / "hung").mkdir()
    os.mkfifo(tmp_path / "hung" / "fifo")
    before = time.monotonic()
    refused = _refused(lambda: hasty.read_bytes(str(tmp_path / "hung" / "fifo")))
    assert refused.absence is Absence.TIMED_OUT and "1 s" in refused.reason
    after = _refused(lambda: hasty.read_bytes(str(tmp_path / "hung" / "other")))
    assert after.absence is Absence.TIMED_OUT and "1 s" not in after.reason, "it is not asked again in this folder"
    assert time.monotonic() - before < 4
    (tmp_path / "fine").write_text("still works")
    assert hasty.read_bytes(str(tmp_path / "fine")) == b"still works"


def test_a_stopped_or_killed_reader_is_replaced(hasty: LiveHost, tmp_path: Path) -> None:
    for number, (blow, absence) in enumerate(((signal.SIGSTOP, Absence.TIMED_OUT), (signal.SIGKILL, Absence.CUT_OFF))):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "file").write_text("x")
        hasty.list(str(tmp_path))
        assert hasty._reader is not None
        os.kill(hasty._reader.pid, blow)
        assert _refused(partial(hasty.read_bytes, str(folder / "file"))).absence is absence
        assert hasty.list(str(tmp_path))


def test_close_leaves_no_process(tmp_path: Path) -> None:
    before = _children()
    host = LiveHost(read_deadline=0.3)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(Unreadable):
        host.read_bytes(str(tmp_path / "fifo"))
    host.list("/")
    host.close()
    assert _children() - before == set()


def test_a_reader_that_hangs_keeps_nobodys_pipe_open(tmp_path: Path) -> None:
    """One that is stuck in the kernel outlives its parent: whoever reads the parent's output must see the end then."""
    os.mkfifo(tmp_path / "fifo")
    code = ("from tunecheck.host.live import LiveHost\nhost = LiveHost(read_deadline=20)\nhost.list('/')\n"
            f"print(host._reader.pid, flush=True)\nhost.read_bytes({str(tmp_path / 'fifo')!r})\n")
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        assert parent.stdout is not None
        reader = int(parent.stdout.readline())
        held = {str(path.readlink()) for path in Path(f"/proc/{reader}/fd").iterdir()}
        assert {link.partition(":")[0] for link in held} <= {"/dev/null", "socket", str(tmp_path / "fifo")}, held
        assert sum(link.startswith("socket:") for link in held) == 1
    finally:
        parent.kill()
        parent.communicate(timeout=20)
    for _ in range(200):        # an ordinary one ends with its parent
        if not _alive(reader):
            return
        time.sleep(0.05)
    pytest.fail("the reader outlived its parent")


def test_run_returns_output_and_code(live: LiveHost) -> None:
    done = live.run(("sh", "-c", r"printf 'out\377'; echo err >&2; exit 3"))
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\ufffd", "err\n")


def test_run_takes_more_output_than_a_pipe_holds(live: LiveHost) -> None:
    assert len(live.run(("sh", "-c", "head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2")).stdout) == 3_000_000


def test_run_of_nothing(live: LiveHost) -> None:
    assert _refused(lambda: live.run(("tunecheck-no-such-command",))).absence is Absence.NOT_PRESENT


@pytest.mark.parametrize("script", [
    "trap '' TERM INT HUP; while :; do sleep 0.1; done",     # ignores everything that can be ignored
    "kill -STOP $$",                                         # stopped: no signal but SIGKILL gets through
    "sleep 60 & sleep 60 & wait",                            # children of its own
    "exec >&- 2>&-; sleep 60",                               # closed its pipes, still runs
])
def test_run_ends_what_does_not_end(live: LiveHost, script: str) -> None:
    others = _children()        # engines of other tests in this process
    before = time.monotonic()
    refused = _refused(lambda: live.run(("sh", "-c", script), 0.3))
    assert refused.absence is Absence.TIMED_OUT and refused.reason.endswith("0.3 s"), "and nothing is left"
    assert time.monotonic() - before < 6
    assert _children() - others <= ({live._reader.pid} if live._reader else set())


def test_run_does_not_wait_for_a_grandchild_that_holds_the_pipe(live: LiveHost) -> None:
    before = time.monotonic()
    assert live.run(("sh", "-c", "setsid sleep 8 & echo done"), 10).stdout == "done\n"
    assert time.monotonic() - before < 6


def test_what_cannot_be_killed_is_left_behind_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in state D cannot be made at will; one that nobody kills behaves the same towards us."""
    monkeypatch.setattr("tunecheck.host.command._signal_group", lambda pid: None)
    process = subprocess.Popen(["sleep", "30"])
    pid = process.pid
    before = time.monotonic()
    try:
        left = _kill(process)
        assert time.monotonic() - before < 6
        assert re.fullmatch(rf"; \D*\b{pid}\b.* S", left)
        # subprocess itself must never wait for it again, not even when the object goes away.
        assert process.wait(timeout=0) == -signal.SIGKILL
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_what_is_started_ahead_runs_already_and_is_collected_later(live: LiveHost, tmp_path: Path) -> None:
    live.ahead(("sh", "-c", f"echo started > {tmp_path}/mark; echo done"), ("tunecheck-no-such-command",))
    for _ in range(200):
        if (tmp_path / "mark").exists() and (tmp_path / "mark").read_text():
            break           # the shell makes the file before it writes into it
        time.sleep(0.02)
    assert (tmp_path / "mark").read_text() == "started\n"
    (tmp_path / "mark").unlink()
    assert live.run(("sh", "-c", f"echo started > {tmp_path}/mark; echo done")).stdout == "done\n"
    assert not (tmp_path / "mark").exists(), "it was run a second time"
    assert _refused(lambda: live.run(("tunecheck-no-such-command",))).absence is Absence.NOT_PRESENT


def test_ahead_does_not_lengthen_a_deadline_and_leaves_two_seconds(live: LiveHost) -> None:
    live.ahead(("sleep", "60"), ("sh", "-c", "sleep 0.8; head -c 3000000 /dev/zero"))
    time.sleep(0.4)
    before = time.monotonic()
    refused = _refused(lambda: live.run(("sleep", "60"), 0.5))
    assert refused.absence is Absence.TIMED_OUT and refused.reason.endswith("0.5 s")
    assert time.monotonic() - before < 3
    assert len(live.run(("sh", "-c", "sleep 0.8; head -c 3000000 /dev/zero"), 0.9).stdout) == 3_000_000


def test_close_ends_what_was_started_ahead_and_never_asked_for() -> None:
    before = _children()
    host = LiveHost()
    host.ahead(("sh", "-c", "trap '' TERM INT; while :; do sleep 1; done"))
    (pid,) = _children() - before
    host.close()
    assert not _alive(pid)
    assert _children() - before == set()


def test_without_the_driver_nothing_asks_nvml(live: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunecheck.host.live._DRIVER", ("/nowhere/version", "/nowhere/nvidia"))
    before = _children()
    live.ahead(nvml=True)
    refused = _refused(live.nvml)
    assert (refused.path, refused.absence) == ("NVML", Absence.NO_DRIVER)
    assert live._reader is not None
    assert _children() - before <= {live._reader.pid}
