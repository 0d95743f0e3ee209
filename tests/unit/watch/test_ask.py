"""A stall is handed on once, with its culprit and what NCCL said, and not before its witnesses were heard."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.parsers.test_nccl_ras import STOPPED

from tunecheck.host import Unreadable
from tunecheck.host.base import Completed
from tunecheck.host.gpm import SmQuestion
from tunecheck.model.absence import Absence
from tunecheck.parsers.nvidia.nccl_ras import parse
from tunecheck.watch import ask, request
from tunecheck.watch.ask import Asker
from tunecheck.watch.model import Culprit, Kind, Seen, State, Witness
from tunecheck.watch.tell import Watched, document
from tunecheck.watch.timeline import Timeline

CULPRIT = Culprit(77, "VLLM::Worker_TP1", "T", 1, "0000:04:00.0", "GPU-1", "", (Witness.PROCESS,), (Kind.STOPPED,))


class _Host:
    def __init__(self) -> None:
        self.ran: list[tuple[str, ...]] = []

    def run(self, argv: tuple[str, ...], _: float) -> Completed:
        self.ran.append(argv)
        return Completed(argv, 0, "", "")


def _look(asker: Asker, seen: Seen) -> None:
    asker.look(seen, document(seen, 1.0, 1.0, Watched("http://127.0.0.1:1", "x.service")), Timeline())


def _asker(tmp_path: Path) -> tuple[_Host, Asker, str]:
    host: Any = _Host()
    path = str(tmp_path / "stall.json")
    return host, Asker(host, "x.service", "http://127.0.0.1:1", "boot", pytest.fail, path), path


def test_it_waits_for_the_first_answers_and_hands_them_on(tmp_path: Path) -> None:
    host, asker, path = _asker(tmp_path)
    seen = Seen(State.STALLED, time.monotonic(), asking=True)
    for _ in range(3):
        _look(asker, seen)
    assert host.ran == []
    _look(asker, replace(seen, asking=False, culprit=CULPRIT, ras=parse(STOPPED)))
    _look(asker, replace(seen, asking=False, culprit=CULPRIT, ras=parse(STOPPED)))
    assert [each[1] for each in host.ran] == ["start"], "once"
    left = request.read(path)
    assert left is not None and left.culprit == CULPRIT and left.ras == STOPPED


def test_it_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "_FOR_WITNESSES", 0.0)
    host, asker, path = _asker(tmp_path)
    _look(asker, Seen(State.STALLED, time.monotonic() - 1, asking=True, ras_absence=Absence.NOT_READ))
    left = request.read(path)
    assert len(host.ran) == 1 and left is not None and left.culprit is None and left.ras == ""


def test_where_no_gpu_tells_of_its_sms() -> None:
    """Neither a driver nor a GPU is here: the child ends, and nothing is said."""
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("there is an NVIDIA driver here")
    with pytest.raises(Unreadable) as told:
        SmQuestion().answer()
    assert told.value.absence is Absence.NOT_SUPPORTED
