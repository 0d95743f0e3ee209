"""The provisioning lock: of several plays that take over one dead play's lock, one gets it, and it is never gone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def lock(load_module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module: ModuleType = load_module("box_lock")
    monkeypatch.setattr(module, "LOCK", str(tmp_path / "provision.lock"))
    monkeypatch.setattr(module, "GUARD", str(tmp_path / "guard"))
    return module


class DoneError(Exception):
    pass


def _asks(lock: ModuleType, monkeypatch: pytest.MonkeyPatch, token: str, state: str = "held", steal: str | None = None,
          check_mode: bool = False) -> dict[str, Any]:
    """The module's answer to one play."""
    answers: list[dict[str, Any]] = []

    class Module:
        def __init__(self, **_: Any) -> None:
            self.params = {"state": state, "owner": {"token": token, "who": token, "since": "now"}, "steal": steal}
            self.check_mode = check_mode

        def exit_json(self, **said: Any) -> None:
            answers.append(said)
            raise DoneError

        fail_json = exit_json

    monkeypatch.setattr(lock, "AnsibleModule", Module)
    with pytest.raises(DoneError):
        lock.main()
    return answers[0]


def test_a_lock_is_held_released_and_taken_over(lock: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _asks(lock, monkeypatch, "a") == {"changed": False, "taken_over": {}}
    assert _asks(lock, monkeypatch, "a")["taken_over"] == {}, "our own, after the reboot in the middle"
    assert _asks(lock, monkeypatch, "b")["holder"]["token"] == "a"
    assert _asks(lock, monkeypatch, "b", steal="c")["holder"]["token"] == "a"
    _asks(lock, monkeypatch, "b", "released")
    assert lock.holder()["token"] == "a", "another one's lock is not released"
    assert _asks(lock, monkeypatch, "b", steal="a", check_mode=True)["taken_over"]["token"] == "a"
    assert lock.holder()["token"] == "a"
    assert _asks(lock, monkeypatch, "b", steal="a")["taken_over"]["token"] == "a"
    assert _asks(lock, monkeypatch, "c", steal="a")["holder"]["token"] == "b", "decided on what was, not on what is"
    _asks(lock, monkeypatch, "b", "released")
    assert lock.holder() == {} and "holder" not in _asks(lock, monkeypatch, "c")


def test_a_released_lock_leaves_no_empty_folder(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    folder = tmp_path / "state"
    monkeypatch.setattr(lock, "LOCK", str(folder / "provision.lock"))
    _asks(lock, monkeypatch, "a")
    _asks(lock, monkeypatch, "b", "released")
    assert lock.holder()["token"] == "a"
    _asks(lock, monkeypatch, "a", "released")
    assert not folder.exists()
    _asks(lock, monkeypatch, "a")
    (folder / "receipt.json").touch()
    _asks(lock, monkeypatch, "a", "released")
    assert [path.name for path in folder.iterdir()] == ["receipt.json"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"token": null}', "x"])
def test_a_damaged_lock_is_held_by_somebody(lock: ModuleType, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    Path(lock.LOCK).write_text(text)
    assert _asks(lock, monkeypatch, "a")["holder"]["token"] == "unreadable"
    assert "taken_over" in _asks(lock, monkeypatch, "a", steal="unreadable")


def test_of_many_that_take_over_one_lock_one_gets_it(lock: ModuleType) -> None:
    """Each of eight processes has seen the dead play's lock and swaps it for its own, forty times over; a ninth never
    sees it free."""
    for turn in range(40):
        Path(lock.LOCK).write_text(json.dumps({"token": "dead"}))
        children = []
        for number in range(8):
            pid = os.fork()
            if pid == 0:
                try:
                    with lock.guarded():
                        won = not lock.replaced({"token": f"{turn}-{number}"}, "dead")
                    os._exit(0 if won else 1)
                except BaseException:
                    os._exit(2)
            children.append(pid)
        seen = [lock.holder().get("token") for _ in range(20)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        assert sorted(codes) == [0, *[1] * 7]
        assert lock.holder()["token"] == f"{turn}-{codes.index(0)}" and None not in seen
