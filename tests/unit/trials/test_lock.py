"""One trial at a time, and none on a machine that a trial of this boot wedged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tunecheck.errors import TrialError
from tunecheck.trials import lock


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "_MARK", tmp_path / "run" / "wedged.json")
    return tmp_path / "run" / "wedged.json"


def test_a_wedged_box_is_refused_until_the_next_boot_or_a_reset(mark: Path) -> None:
    lock.refuse_wedged("boot-1")
    lock.mark_wedged("boot-1", "GPU1 does not answer")
    with pytest.raises(lock.Wedged, match=r"\(GPU1 does not answer\).*--after-reset") as caught:
        lock.refuse_wedged("boot-1")
    assert caught.value.exit_code == 4
    lock.refuse_wedged("boot-2")
    lock.clear_wedged()
    lock.refuse_wedged("boot-1")
    lock.clear_wedged()


def test_a_mark_that_cannot_be_removed_is_said(mark: Path) -> None:
    """A folder in its place stands for any refusal of the system: root may remove every file."""
    mark.mkdir(parents=True)
    with pytest.raises(TrialError, match=rf"^{mark}: .*--after-reset") as refused:
        lock.clear_wedged()
    assert refused.value.why is lock.Busy.MARKED


@pytest.mark.parametrize("content", ["", "[]", "{", '{"boot_id": 1}'])
def test_a_damaged_mark_refuses_nothing(mark: Path, content: str) -> None:
    mark.parent.mkdir()
    mark.write_text(content)
    lock.refuse_wedged("boot-1")


def test_the_second_trial_is_told_who_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_NAME", f"\0tunecheck-test-{os.getpid()}")     # of this machine there is only one
    with lock.Lock(), pytest.raises(TrialError, match=rf"\(\w+ {os.getpid()}\)") as refused, lock.Lock():
        pass
    assert refused.value.why is lock.Busy.LOCKED
    with lock.Lock():
        pass
