"""Ctrl-C: what is said is what is in the history at that moment, wherever it comes; and none is ever lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.unit.cli.carried import ROOT, Fleet

from tunecheck.cli.main import cli
from tunecheck.util import left_behind
from tunecheck.util.safe_files import replace
from tunecheck.util.whole_file import write_file
from tunecheck_fleet import key, run
from tunecheck_fleet.outputs import terminal
from tunecheck_fleet.store import database, open_store
from tunecheck_fleet.store.store import Store

_ENV = {**os.environ, "PYTHONPATH": str(ROOT / "checks")}
_COUNTS = re.compile(r"(\d+) of (\d+) hosts answered and are kept in audit #(\d+)")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    fleet = Fleet(tmp_path)
    for number in (1, 2):
        fleet.put(number)
    return fleet


class Steps:
    """Counts the steps of the main thread; ``at`` one of them raises what Ctrl-C raises."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.seen = 0, 0
        for owner, names in ((Store, [name for name, each in vars(Store).items()
                                      if callable(each) and not name.startswith("_") and name != "close"]),
                             (database, ("_place", "migrate", "make")), (key, ("_make",)),
                             (run.Source, ("asked", "collect")), (terminal, ("terminal",))):
            for name in names:
                monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*given: Any, **named: Any) -> Any:
            self._step()
            found = function(*given, **named)
            self._step()
            return found

        return counted

    def _step(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self.seen += 1
            if self.seen == self.at:
                raise KeyboardInterrupt


def _told_at(fleet: Fleet, steps: Steps, at: int) -> str | None:
    """What an audit with a new history says that is interrupted at this step; None: it had fewer."""
    for place in fleet.store.parent.iterdir():
        place.unlink()
    left_behind.written.clear()
    for changed in (left_behind.removed, left_behind.taken_away, left_behind.tellers):
        changed.clear()
    steps.at, steps.seen = at, 0
    done = CliRunner().invoke(cli, ["audit", "--from", str(fleet.files), "--store", str(fleet.store)],
                              standalone_mode=False)
    steps.at = 0
    if isinstance(done.exception, KeyboardInterrupt | click.Abort):
        return left_behind.left_behind()
    assert steps.seen < at and done.exit_code == 0, done.output
    return None


def _check_told(fleet: Fleet, told: str) -> None:
    """Hold what was said against what is there."""
    there = [str(place) for place in fleet.store.parent.iterdir() if place.suffix in (".db", ".key")]
    assert (told == "nothing was changed") == (not there), told
    assert all(place in told for place in there), (told, there)
    counted = _COUNTS.search(told)
    if not fleet.store.exists():
        assert counted is None
        return
    with open_store(str(fleet.store)) as store:
        heads = store.audits()
        if counted is None:
            assert heads == [], told
            return
        (head,) = heads
        answered = sum(state.status == "ok" for state in store.hosts(head.id))
    assert [int(each) for each in counted.groups()] == [answered, head.asked, head.id], told
    assert (head.finished is not None) == ("which is finished; tunecheck fleet" in told), told
    assert (head.finished is None) == ("the same command within 6 hours" in told), told


def test_what_is_said_at_an_interrupt_is_what_is_in_the_history(fleet: Fleet,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step up to the report's, then at every seventh: those only read."""
    steps, said, at = Steps(monkeypatch), set(), 1
    while (told := _told_at(fleet, steps, at)) is not None:
        _check_told(fleet, told)
        said.add(re.sub(r"/\S+", "FILE", told))
        at += 7 if "which is finished" in told else 1
    assert len(said) >= 5, said
    assert any("which is finished" in each for each in said) and "nothing was changed" in said


def test_what_is_said_after_a_real_ctrl_c(fleet: Fleet) -> None:
    """Wherever it comes, it is one line and 130, with no traceback; and the next run goes on."""
    for tenths in range(0, 13, 4):
        for place in fleet.store.parent.iterdir():
            place.unlink()
        process, end = fleet.popen("audit", "--from", "boxes"), time.monotonic() + 60
        while tenths and not fleet.store.exists() and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(tenths / 20 if tenths else 0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if process.returncode in (0, -signal.SIGINT):       # it was done, or Python itself had not begun
            assert ("2 answered" in out) is fleet.store.exists() and "interrupted" not in err
            continue
        assert process.returncode == 130 and "Traceback" not in err and "ignored" not in err, err
        _check_told(fleet, err.rstrip().rpartition("interrupted; ")[2])


#: A verb with this body, as the command runs it; "begun" is on standard error once it is at work.
_VERB = """
import os, signal, sys, time
import tunecheck.cli.main as cli
from tunecheck.util import interrupt

def verb(*_, **__):
    print("begun", file=sys.stderr, flush=True)
{}
    print("went on", flush=True)

cli.cli.commands["checks"].callback = verb
sys.argv = ["tunecheck", "checks"]
from tunecheck.__main__ import main
main()
"""
_CTRL_C = "os.kill(os.getpid(), {})"
_DROPPED = {
    "in a finaliser": "    class Last:\n        def __del__(self): CTRL_C; sum(range(10**5))\n    Last()\n"
                      "    time.sleep(30)",
    "in the callback of a weak reference": "    import weakref\n    class Kept: pass\n    kept = Kept()\n"
                                           "    ref = weakref.ref(kept, lambda _: (CTRL_C, sum(range(10**5))))\n"
                                           "    del kept\n    time.sleep(30)",
    "twice": "    class Last:\n        def __del__(self): CTRL_C; sum(range(10**5)); time.sleep(0.2)\n"
             "    class More:\n        def __del__(self): time.sleep(0.2)\n"
             "    Last(); More(); time.sleep(30)",
    "swallowed by a library": "    try: CTRL_C; time.sleep(1)\n    except BaseException: pass",
    "while it had to wait": "    with interrupt.held(): CTRL_C; sum(range(10**5)); print('kept', flush=True)\n"
                            "    time.sleep(30)",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("body", _DROPPED)
def test_no_interrupt_is_lost(body: str, number: signal.Signals, tmp_path: Path) -> None:
    program = _VERB.format(_DROPPED[body].replace("CTRL_C", _CTRL_C.format(int(number))))
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], env=_ENV, cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 128 + number and time.monotonic() - begun < 20, done
    word = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    assert re.fullmatch(f"begun\n\n?tunecheck: {word}; nothing was changed\n", done.stderr)
    assert done.stdout == {"swallowed by a library": "went on\n", "while it had to wait": "kept\n"}.get(body, "")


@pytest.mark.parametrize("body", [
    "    with interrupt.held(): time.sleep(60)",
    "    try: time.sleep(60)\n    finally: time.sleep(60); sys.exit(0)",
    "    while True:\n        try: time.sleep(60)\n        except BaseException: pass"])
def test_the_second_ctrl_c_ends_what_hangs(body: str, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", _VERB.format(body)], env=_ENV, cwd=tmp_path,
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None and process.stderr.readline() == "begun\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(2.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (130, "")
    assert err == "tunecheck: interrupted again, and ended at once; what was kept or written before stays\n"


def test_files_and_decisions_are_named_that_were_kept(fleet: Fleet, monkeypatch: pytest.MonkeyPatch,
                                                      tmp_path: Path) -> None:
    """Also by verbs that only say something of what an audit found."""
    assert fleet.audit()[0] == 0
    monkeypatch.setattr(left_behind, "tellers", [])
    left_behind.written.clear()
    assert fleet.run("approve", "--list")[0] == 0 and left_behind.left_behind() == "nothing was changed"
    with open_store(str(fleet.store)) as store, store.db.write():
        pass
    write_file(f"{tmp_path}/a.json", b"{}")
    assert left_behind.left_behind() == f"already written: {fleet.store}, {tmp_path}/a.json"
    (tmp_path / "a.json").unlink()
    assert left_behind.left_behind() == f"already written: {fleet.store}"


def test_what_is_written_for_months_is_kept_in_mind_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch writes its state anew every few seconds."""
    monkeypatch.setattr(left_behind, "written", {})
    place = tmp_path / "state.json"
    for turn in range(1000):
        replace(str(place), b"%d" % turn, 0o600)
    assert [*left_behind.written] == [str(place)]
