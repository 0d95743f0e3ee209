"""What goes wrong while a box is brought back: full disks, jumping clocks, two watches, somebody at the keyboard."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.recovery.test_act import UNIT, Box1, _at_once, asked, box, way  # noqa: F401
from tests.unit.watch.served import ROOT, served

from tunecheck.recovery import evidence
from tunecheck.recovery.act import recover
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Step, Why, incidents
from tunecheck.spec.frozen import Watch
from tunecheck.watch import request
from tunecheck.watch.ask import Asker
from tunecheck.watch.model import Engine, Part, Seen, State
from tunecheck.watch.request import Request
from tunecheck.watch.timeline import Timeline


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", str(place)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


class Talks(Box1):
    """Its log is larger than the disk."""

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> object:     # type: ignore[override]
        done = super().run(argv, deadline)
        return replace(done, stdout="x" * 400_000) if "journalctl" in argv else done


def _fill(disk: Path, leave: int) -> None:
    with (disk / "filler").open("wb") as stream:
        stream.truncate(0)
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        stream.write(b"x" * max(0, free - leave))


def test_a_disk_that_fills_up_while_evidence_is_written(disk: Path, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is brought back all the same, nothing half is left, and the journal goes on."""
    monkeypatch.setattr(evidence, "_ROOM", 0)
    found = box(Talks(), tmp_path)
    found.folder = str(disk / "incidents")
    found.journal = Journal((str(disk / "incidents/journal.jsonl"), str(tmp_path / "fallback.jsonl")))
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING
    kept = [each for each in found.journal.read() if each.step is Step.EVIDENCE]
    assert [each.why for each in kept] == [Why.NO_ROOM] and os.strerror(errno.ENOSPC) in kept[0].text
    assert [each.name for each in (disk / "incidents").iterdir()] == ["journal.jsonl"], "nothing half is left"


def test_a_disk_that_is_full_from_the_start(disk: Path, tmp_path: Path) -> None:
    """Not a byte fits: the journal is in /run, and nothing is started twice."""
    (disk / "incidents").mkdir()
    _fill(disk, 0)
    host = Box1()
    found = box(host, tmp_path)
    found.folder = str(disk / "incidents")
    found.journal = Journal((str(disk / "incidents/journal.jsonl"), str(tmp_path / "fallback.jsonl")))
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING and host.asked.count("start") == 1
    assert recover(found, asked()) is None, "and it is known that it was done"


def test_a_disk_that_is_full_for_a_while_tears_no_incident_apart(disk: Path, tmp_path: Path) -> None:
    """Some steps are in the one journal, some in the other."""
    host = Box1()
    found = box(host, tmp_path)
    found.folder = str(tmp_path / "evidence")
    found.journal = Journal((str(disk / "journal.jsonl"), str(tmp_path / "fallback.jsonl")))

    def then(word: str) -> None:
        if word == "stop":
            _fill(disk, 0)
            with contextlib.suppress(OSError):      # the last page, too
                Path(disk / "journal.jsonl").write_bytes((disk / "journal.jsonl").read_bytes() + b"\n" * 4096)
        if word == "start":
            (disk / "filler").unlink()

    host.then = then
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING
    whole, = incidents(found.journal.read())
    assert [each.step for each in whole.records] == [Step.NOTICED, Step.EVIDENCE, Step.STOPPING, Step.STOPPED,
                                                     Step.STARTING, Step.SERVING] and whole.done
    assert recover(found, asked()) is None


# ---- clocks ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("jump", [-86400.0, -3600.0, 3600.0, 86400.0])
@pytest.mark.parametrize("at", range(1, 8))
def test_a_clock_that_jumps_between_two_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float,
                                              at: int) -> None:
    """By NTP, a day back or forth: the incident ends once, and whoever comes after it starts nothing again."""
    real, count = time.time, 0

    def jumps() -> float:
        nonlocal count
        count += 1
        return real() + (jump if count > at else 0.0)

    monkeypatch.setattr(time, "time", jumps)
    host = Box1()
    found = box(host, tmp_path)
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING
    whole, = incidents(found.journal.read())
    assert whole.done and whole.last.step is Step.SERVING
    recover(found, None)
    recover(found, asked())
    assert host.asked.count("start") == 1


def test_a_clock_that_jumps_back_hides_no_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three restarts, then the clock is a day behind: the fourth still stays down."""
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 3))
    for name in ("a", "b", "c"):
        recover(found, asked(name))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86400)
    ended = recover(found, asked("d"))
    assert ended is not None and ended.why is Why.TOO_MANY and host.asked.count("start") == 3


# ---- two watches, and somebody at the keyboard -----------------------------------------------------------------------

def test_two_watches_tell_of_one_stall_and_it_starts_once(tmp_path: Path) -> None:
    """The second request is read when the first is done: of a run that has ended by then."""
    host = Box1()
    found = box(host, tmp_path)
    one = replace(asked("a", seen={}), invocation="run1")
    other = replace(asked("b", seen={}), invocation="run1")
    assert (first := recover(found, one)) is not None and first.step is Step.SERVING
    second = recover(found, other)
    assert second is not None and (second.step, second.why) == (Step.MOVED_AGAIN, Why.STOPPED_BY_HAND)
    assert host.asked.count("start") == 1 and host.asked.count("stop") == 1 and host.active == "active"


def test_two_watches_leave_requests_over_each_other_and_both_are_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "stall.json")
    seen = Seen(State.STALLED, 1.0, engine=Engine(1, 0, 5.0, replicas=(Part("", 1, 5.0),)), invocation="run1")
    complaints: list[str] = []
    askers = [Asker(Box1(), UNIT, "http://127.0.0.1:1", "boot", complaints.append, path)      # type: ignore[arg-type]
              for _ in range(2)]
    for each in (*askers, *askers):
        each.look(seen, {"reasons": []}, Timeline())
        left = request.read(path)
        assert left is not None and left.invocation == "run1" and left.moved == {"": 5.0}
    assert not complaints and [each.name for each in tmp_path.iterdir()] == ["stall.json"]


def test_a_second_watch_at_the_same_door_says_so() -> None:
    with served() as server:
        from tests.unit.watch.test_canary import _closed

        port = _closed()
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "checks")}
        words = [sys.executable, "-m", "tunecheck", "watch", "--url", server.url, "--listen", f"127.0.0.1:{port}"]
        first = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert first.stdout is not None and first.stdout.readline()
            second = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)
            assert second.returncode == 2 and second.stderr.count("\n") == 1
            assert f"--listen 127.0.0.1:{port}: " in second.stderr and os.strerror(errno.EADDRINUSE) in second.stderr
            assert first.poll() is None
        finally:
            first.send_signal(signal.SIGTERM)
            first.wait(30)
            assert first.stdout is not None
            first.stdout.close()


@pytest.mark.parametrize("word", ["stop", "void", "reset-failed"])
def test_somebody_starts_it_during_the_recovery(tmp_path: Path, word: str) -> None:
    """`systemctl restart` by hand, or a container that somebody started anew: another run of the unit."""
    host = Box1()
    found = box(host, tmp_path)

    def then(said: str) -> None:
        if said == word:
            host.run_number, host.active = host.run_number + 1, "active"
            host.then = lambda _: None

    host.then = then
    ended = recover(found, asked())
    assert ended is not None and ended.step in (Step.SERVING, Step.MOVED_AGAIN)
    assert host.active == "active" and host.asked.count("start") <= 1


def test_a_unit_that_was_restarted_before_the_recovery_looks_is_left_alone(tmp_path: Path) -> None:
    host = Box1(run_number=2)
    ended = recover(box(host, tmp_path), replace(asked(seen={}), invocation="run1"))
    assert ended is not None and (ended.step, ended.why) == (Step.MOVED_AGAIN, Why.STOPPED_BY_HAND)
    assert host.asked == []


def test_a_request_without_a_run_is_read_as_before(tmp_path: Path) -> None:
    """Left by the watch of an earlier release."""
    path = tmp_path / "stall.json"
    request.leave(Request("a", "boot", UNIT, "http://127.0.0.1:1"), str(path))
    said = json.loads(path.read_text())
    del said["invocation"]
    path.write_text(json.dumps(said))
    path.chmod(0o600)
    assert request.read(str(path)) == Request("a", "boot", UNIT, "http://127.0.0.1:1")


# ---- SIGKILL of a real process ---------------------------------------------------------------------------------------

_PROCESS = """
import os, sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from tests.unit.recovery import test_act
from tests.unit.recovery.test_act import Box1, asked, box
from tunecheck.recovery import act, unit
from tunecheck.recovery.act import recover
from tunecheck.recovery.journal import Journal
act._GRACE, act._STOP_MOST, act._PAUSES, unit._EVERY = 0.2, 5.0, (0.3,), 0.05
folder = Path(sys.argv[1])

class Kept(Box1):
    '''systemd's memory is outside of the process that is killed.'''
    def run(self, argv, deadline=20.0):
        state = folder / "systemd"
        if state.exists():
            self.active, number, forgotten = state.read_text().split()
            self.run_number, self.forgotten = int(number), forgotten == "True"
        before = len(self.asked)
        done = super().run(argv, deadline)
        with (folder / "asked").open("a") as log:
            log.write("".join(word + chr(10) for word in self.asked[before:]))
        new = folder / "systemd.new"
        new.write_text(f"{{self.active}} {{self.run_number}} {{self.forgotten}}")
        new.rename(state)
        return done

print("ready", flush=True)
ended = recover(box(Kept(), folder), asked())
print(ended.step.value if ended else "nothing", flush=True)
"""


@pytest.mark.parametrize("after", [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6])
def test_a_process_that_is_killed_at_any_time_starts_once(tmp_path: Path, after: float) -> None:
    """The real one, with SIGKILL, again and again; the next one ends what it began."""
    words = [sys.executable, "-c", _PROCESS.format(path=[str(ROOT), str(ROOT / "checks")]), str(tmp_path)]
    for _ in range(3):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(after)
            process.kill()
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout.split()[-1] in ("serving", "nothing"), done.stderr
    assert (tmp_path / "asked").read_text().split().count("start") == 1
    whole, = incidents(Journal((str(tmp_path / "journal.jsonl"), str(tmp_path / "fallback.jsonl"))).read())
    assert whole.last.step is Step.SERVING
    assert (tmp_path / "systemd").read_text().split()[0] == "active"


def test_a_recovery_loop_stays_down_and_stays_so(tmp_path: Path) -> None:
    """After the limit no request starts it again, whoever asks; an operator's own start is his."""
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 3))
    ends = [recover(found, asked(f"n{number}")) for number in range(10)]
    assert [each is not None and each.why is Why.TOO_MANY for each in ends][:4] == [False, False, False, True]
    assert host.asked.count("start") == 3 and host.active == "inactive"
    assert all(each is not None and each.step in (Step.STAYS_DOWN, Step.REPORTED) for each in ends[3:])
