"""The files that box_info saw: box_files asks a box only for what is not known to be as it should be."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from ansible.module_utils import own_files
from tests.play_environment import ROOT, environment


def _plugin() -> Any:
    spec = importlib.util.spec_from_file_location("box_files_plugin", ROOT / "playbooks/action_plugins/box_files.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLUGIN = _plugin()
#: What may stand at a path.
STATES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "the text": lambda path: (path.write_text("one\n"), path.chmod(0o644)),
    "the text, for root": lambda path: (path.write_text("one\n"), path.chmod(0o600)),
    "another text": lambda path: (path.write_text("two\n"), path.chmod(0o644)),
    "no UTF-8": lambda path: (path.write_bytes(b"\xff\n"), path.chmod(0o644)),
    "an empty file": lambda path: (path.write_text(""), path.chmod(0o644)),
    "the link": lambda path: path.symlink_to("/etc/one"),
    "another link": lambda path: path.symlink_to("/etc/two"),
    "a link to a folder": lambda path: path.symlink_to("/etc"),
    "a folder": lambda path: path.mkdir(),
    "a FIFO": os.mkfifo,
}
#: What may be asked for.
ENTRIES: list[dict[str, Any]] = [{"content": "one\n"}, {"content": "one\n", "mode": "0600"}, {"content": ""},
                                 {"content": "\udcff\n"}, {"link_to": "/etc/one"}, {"link_to": "/etc"},
                                 {"state": "absent"}]


@pytest.mark.parametrize(("state", "entry"), list(itertools.product(STATES, ENTRIES)), ids=repr)
def test_only_what_the_module_would_leave_alone_is_settled(
        tmp_path: Path, load_module: Callable[[str], ModuleType], state: str, entry: dict[str, Any]) -> None:
    path = tmp_path / "tunecheck-a.service"
    STATES[state](path)
    seen = json.loads(json.dumps(own_files.look((str(tmp_path),))))        # as it comes from the box
    whole = {"path": str(path), "mode": "0644", "state": "present", "link_to": None, "content": None, **entry}
    alone = own_files.current(str(path)) == load_module("box_files").wanted(whole)
    assert PLUGIN.settled([{"path": str(path), **entry}], seen) is alone
    if alone:
        assert not PLUGIN.settled([{"path": str(path), **entry}, {"path": "/elsewhere", "state": "absent"}], seen)


@pytest.mark.parametrize("path", ["/etc/fstab", "/etc/systemd/system/other.service", "/opt/tunecheck/x",
                                  "/etc/systemd/system/a/b.wants/tunecheck.service", "/etc/tunecheck/a/b",
                                  "/etc/tunecheck/../fstab", "etc/tunecheck/x", 7, None])
def test_a_path_that_was_not_looked_at_is_not_known(path: Any) -> None:
    seen = {"folders": list(own_files.FOLDERS), "files": {}}
    assert PLUGIN.settled([{"path": "/etc/tunecheck/x", "state": "absent"}], seen)
    assert not PLUGIN.settled([{"path": path, "state": "absent"}], seen)


@pytest.mark.parametrize("entry", [{}, {"content": 7}, {"content": None}, {"content": "", "mode": 420},
                                   {"content": "", "mode": "rw"}, {"link_to": 7}, "a path"])
def test_an_entry_that_is_not_understood_goes_to_the_module(entry: Any) -> None:
    seen = {"folders": ["/etc/tunecheck"], "files": {}}
    asked = {"path": "/etc/tunecheck/x", **entry} if isinstance(entry, dict) else entry
    assert not PLUGIN.settled([asked], seen)


def test_too_many_files_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_files, "MOST", 3)
    for name in "abc":
        (tmp_path / f"tunecheck-{name}").touch()
    assert len(own_files.look((str(tmp_path),))["files"]) == 3
    (tmp_path / "tunecheck-d").touch()
    assert own_files.look((str(tmp_path),)) == {}


def test_a_file_that_cannot_be_read_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(_: str) -> None:
        raise OSError(5, "Input/output error")

    (tmp_path / "tunecheck-a").touch()
    monkeypatch.setattr(own_files, "current", damaged)
    seen = own_files.look((str(tmp_path),))
    assert not PLUGIN.settled([{"path": str(tmp_path / "tunecheck-a"), "content": ""}], seen)
    assert not PLUGIN.settled([{"path": str(tmp_path / "tunecheck-a"), "state": "absent"}], seen)


def test_nothing_is_told_of_the_text_of_a_secret(tmp_path: Path) -> None:
    """Its absence is known; a file that is there goes to the module, which shows nothing of it (no_log)."""
    secrets = tmp_path / "tunecheck"
    secrets.mkdir()
    place = secrets / "push-token"
    seen = own_files.look((str(secrets),), str(secrets))
    assert PLUGIN.settled([{"path": str(place), "state": "absent"}], seen)
    place.write_text("secret\n")
    seen = own_files.look((str(secrets),), str(secrets))
    assert seen["files"] == {str(place): ["unknown", "", 0]}
    for entry in ({"content": "secret\n"}, {"state": "absent"}):
        assert not PLUGIN.settled([{"path": str(place), **entry}], seen)
    assert own_files.SECRETS in own_files.FOLDERS


def _played(folder: Path, seen: Any) -> tuple[int, str]:
    """Run box_files in a play with what is said to be seen. Exit code, and output as one line."""
    task = {"box_files": {"seen": seen, "files": [{"path": f"{folder}/tunecheck-a", "content": "one\n"}]}}
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "become": False, "tasks": [task]}]))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(playbook), "-i", "box,", "-c", "local",
            "-e", f"ansible_python_interpreter={sys.executable}"]
    done = subprocess.run(argv, cwd=ROOT, env=environment(ANSIBLE_BECOME="false"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_a_play_writes_what_is_not_settled_and_then_nothing(tmp_path: Path) -> None:
    place = tmp_path / "tunecheck-a"
    for before, change in ((None, 1), ("one\n", 0), ("two\n", 1)):
        if before is not None:
            place.write_text(before)
        code, said = _played(tmp_path, own_files.look((str(tmp_path),)))
        assert code == 0 and f"changed={change}" in said, said
        assert place.read_text() == "one\n"
    code, said = _played(tmp_path, {})
    assert code == 0 and "changed=0" in said, said


def _tasks(tasks: Any) -> Any:
    for task in tasks or ():
        yield task
        for part in ("block", "rescue", "always"):
            yield from _tasks(task.get(part))


@pytest.mark.parametrize("name", sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("roles/*/tasks/*.yml")))
def test_a_role_asks_by_what_was_seen_and_a_removal_never_does(name: str) -> None:
    """A rollback in the same run as a provisioning must not go by what was seen before that."""
    for task in _tasks(yaml.safe_load((ROOT / name).read_text())):
        if "box_files" in task:
            assert ("seen" in task["box_files"]) is (not name.endswith("/remove.yml"))


def _values(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(each)


@pytest.mark.parametrize("name", sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("roles/*/vars/main.yml")))
def test_the_files_of_the_roles_are_where_box_info_looks(name: str) -> None:
    seen = {"folders": list(own_files.FOLDERS), "files": {}}
    paths = [each["path"] for each in _values(yaml.safe_load((ROOT / name).read_text())) if "path" in each]
    assert [path for path in paths if PLUGIN.there(path, seen) is None] == []
