"""A command on the box whose exit code is judged by a later task: where Ansible's own module could not begin, as on a
full disk, there is no exit code and no output, and the play says that in place of a fault of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_FILES = sorted([*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/handlers/*.yml"), *ROOT.glob("playbooks/*.yml"),
                 *ROOT.glob("playbooks/tasks/*.yml")])


def _tasks(found: Any) -> Iterator[dict[str, Any]]:
    for each in found or ():
        if isinstance(each, dict):
            yield each
            for part in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always", "handlers"):
                yield from _tasks(each.get(part))


def _commands(path: Path) -> Iterator[dict[str, Any]]:
    for task in _tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
        if "ansible.builtin.command" in task and task.get("delegate_to") != "localhost":
            yield task


@pytest.mark.parametrize("path", [path for path in _FILES if any(_commands(path))],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_no_command_of_the_box_swallows_that_it_never_began(path: Path) -> None:
    for task in _commands(path):
        assert task.get("failed_when") is not False and not task.get("ignore_errors"), task["name"]
        if "failed_when" in task:
            assert f"{task['register']}.module_stderr is defined" in str(task["failed_when"]), task["name"]


def test_some_of_them_are_judged_later() -> None:
    assert sum("failed_when" in task for path in _FILES for task in _commands(path)) >= 3
