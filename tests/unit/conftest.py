"""What children of these tests need is made once, in the process that they are forked from."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tunecheck.host.child import Child
from tunecheck.host.foreign import Confined

_RECORDING = Path(__file__).resolve().parents[1] / "fixtures/h200-2gpu-vm.tar.zst"


@cache
def _once() -> None:
    """Read, judge and keep one host. Dataclasses, patterns and decoders are made at their first use."""
    from tunecheck.facts.snapshot import gather
    from tunecheck.facts.snapshot_file import Stored, packed
    from tunecheck.host.bundle import load
    from tunecheck.rules import judge
    from tunecheck.rules.context import Case
    from tunecheck_fleet.model import Answer
    from tunecheck_fleet.read import seen

    snapshot = gather(load(str(_RECORDING)).host(), None, True)
    judge(Case(snapshot, None), "preflight")
    seen(Answer("box1", "all", "ok", packed(Stored(snapshot, None))), None, None)


@pytest.fixture(scope="session", autouse=True)
def made_before_the_first_child() -> Iterator[None]:
    """A file of somebody else, and each answer of a fleet, is judged in a child. A child that is forked after the first
    use costs a tenth: half a second less for each call of the program in these tests."""
    start = Confined._start

    def started(self: Confined) -> tuple[Child, socket.socket]:
        _once()
        return start(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Confined, "_start", started)
        yield
