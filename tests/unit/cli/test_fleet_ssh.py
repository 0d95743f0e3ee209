"""`tunecheck audit` from the command line to real sshd processes and back: a frozen box, Ctrl-C, the run after it."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ssh_server import SSHD
from tests.unit.cli.carried import Fleet, box, naming, one_line
from tests.unit.fleet.boxes import Boxes

from tunecheck.errors import UsageError
from tunecheck_fleet import collect
from tunecheck_fleet.store import open_store

pytestmark = pytest.mark.skipif(SSHD is None, reason="no sshd on this machine")


@pytest.fixture
def boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Boxes]:
    (tmp_path / "ssh").mkdir()
    boxes = Boxes(tmp_path / "ssh", first=201)
    # Where tunecheck is installed on these boxes.
    monkeypatch.setattr(collect, "Options", functools.partial(collect.Options, tools=(str(boxes.tool),)))
    try:
        yield boxes
    finally:
        boxes.stop()


def interrupt_once(store: Path, left: int) -> threading.Thread:
    """Ctrl-C as soon as only so many hosts are left."""
    def watch() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with open_store(str(store), create=False) as history:
                    if len(history.pending(1)) <= left:
                        break
            except UsageError:      # not there yet
                pass
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_ctrl_c_keeps_what_came_and_the_next_run_asks_only_the_rest(tmp_path: Path, boxes: Boxes) -> None:
    fleet = Fleet(tmp_path)
    for number in (1, 2):
        boxes.add(f"gpu{number}", box(number))
    frozen = f"while [ ! -e {tmp_path}/thawed ]; do sleep 0.1; done"
    boxes.add("gpu3", box(3), manner=f'{frozen}; eval "$SSH_ORIGINAL_COMMAND"')
    boxes.start()
    inventory = str(boxes.inventory({"h200": ["gpu1", "gpu2", "gpu3"]}))
    watcher = interrupt_once(fleet.store, 1)
    code, out, err = fleet.run("audit", "-i", inventory, "--timeout", "120s")
    watcher.join()
    assert code == 130 and out == "", out + err
    assert naming([one_line(err)], "2", "3", "#1")
    (tmp_path / "thawed").touch()
    for number in (1, 2):       # would now be garbled
        (boxes.boxes[f"gpu{number}"].folder / "snapshot.json").write_text("nothing")
    code, out, err = fleet.run("audit", "-i", inventory)
    assert code == 0 and "3 hosts: 3 answered" in out and "audit #1" in out, out + err
    assert naming([one_line(err)], "#1", "2", "3", "1")


def test_a_frozen_box_is_unknown_and_the_audit_ends_in_time(tmp_path: Path, boxes: Boxes) -> None:
    fleet = Fleet(tmp_path)
    boxes.add("gpu1", box(1))
    boxes.add("gpu2", manner="sleep 600")
    boxes.start()
    inventory = str(boxes.inventory())
    code, out, err = fleet.run("audit", "-i", inventory, "--timeout", "10s", "--max-missing", "1")
    assert code == 0 and "1 answered, 1 timeout" in out and "10 s" in out, out + err
    assert fleet.run("fleet", "--fail-on", "coverage")[0] == 1
