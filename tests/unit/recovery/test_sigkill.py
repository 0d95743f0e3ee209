"""A real SIGKILL before and after every line of the journal and every command, on the way with and without a reset: no
code of ours runs after it, not even what a finally would do. Whoever comes next ends the same way and starts nothing
twice."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recovery.test_act import Box1, _at_once, asked, box
from tests.unit.recovery.test_gpu_reset import Gpus, resetting

from tunecheck.host.base import Completed
from tunecheck.recovery.act import Box, recover
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Record, Step, incidents

__all__ = ["_at_once"]

#: Points of each way, at least: fewer would say that the test counts no longer.
_POINTS = {"plain": 30, "reset": 60}


class Points:
    """``at``: the point at which this process is killed; 0: none."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self) -> None:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def _kept(base: type[Box1], memory: Path, point: Points) -> Any:
    """A box whose systemd remembers in a file, outside of the process that is killed."""

    class Kept(base):  # type: ignore[misc, valid-type]
        def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
            point()
            if memory.exists():
                self.__dict__.update(json.loads(memory.read_text()))
            done = super().run(argv, deadline)
            new = memory.with_suffix(".new")
            new.write_text(json.dumps({name: getattr(self, name) for name in (
                "active", "run_number", "forgotten", "asked", "starts")}))
            new.rename(memory)
            point()
            return done

    return Kept()


def _box(way: str, folder: Path, point: Points) -> Box:
    memory = folder / "systemd.json"
    host = _kept(Gpus if way == "reset" else Box1, memory, point)
    found = resetting(host, folder) if way == "reset" else box(host, folder)

    def void() -> None:         # what invalidates a measurement is no word to systemd
        point()

    found.invalidate = void
    return found


def _in_a_child(way: str, folder: Path, at: int) -> int:
    """The status of a process that recovers; its points are left in a file when it gets to its end."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            point = Points(at)
            append = Journal.append

            def appended(self: Journal, record: Record) -> None:
                point()
                append(self, record)
                point()

            Journal.append = appended       # type: ignore[method-assign]
            recover(_box(way, folder, point), asked())
            (folder / "points").write_text(str(point.count))
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


@pytest.mark.parametrize("way", ["plain", "reset"])
def test_sigkill_at_every_point(tmp_path: Path, way: str) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    assert _in_a_child(way, whole, 0) == 0
    points = int((whole / "points").read_text())
    assert points >= _POINTS[way]
    wrong = [at for at in range(1, points + 1) if not _ends_well(way, tmp_path / str(at), at)]
    assert wrong == [], f"of {points} points"


def _ends_well(way: str, folder: Path, at: int) -> bool:
    folder.mkdir()
    killed, second = _in_a_child(way, folder, at), _in_a_child(way, folder, 0)
    found = incidents(Journal((str(folder / "journal.jsonl"), str(folder / "fallback.jsonl"))).read())
    memory = json.loads((folder / "systemd.json").read_text())
    starts = {"plain": 1, "reset": 2}[way]
    return (os.WIFSIGNALED(killed) and second == 0 and len(found) == 1 and found[0].last.step is Step.SERVING
            and memory["active"] == "active" and memory["asked"].count("start") == starts)
