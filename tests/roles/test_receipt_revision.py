"""The receipt's revision of the roles: read on the control node, from the checkout that the play is in."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PLUGIN = Path(__file__).resolve().parents[2] / "playbooks/action_plugins/box_receipt.py"


@pytest.fixture(scope="module")
def revision() -> Callable[[str], str]:
    spec = importlib.util.spec_from_file_location("box_receipt_action", PLUGIN)
    assert spec and spec.loader
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    return plugin.revision  # type: ignore[no-any-return]


def _git(folder: Path, *words: str) -> str:
    argv = ["git", "-c", "user.name=operator", "-c", "user.email=operator@example.com", "-C", str(folder), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_a_checkout_is_named_and_a_changed_one_too(tmp_path: Path, revision: Callable[[str], str]) -> None:
    _git(tmp_path, "init", "-q")
    (tmp_path / "playbooks").mkdir()
    play = tmp_path / "playbooks/play.yml"
    play.write_text("a")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "first")
    head = _git(tmp_path, "rev-parse", "HEAD")
    assert revision(str(play.parent)) == head
    play.write_text("b")
    assert revision(str(play.parent)) == f"{head}-dirty"


@pytest.mark.parametrize("path", ["/nonexistent", "--help"])
def test_what_is_no_checkout_is_unknown(path: str, revision: Callable[[str], str]) -> None:
    assert revision(path) == "unknown"


def test_no_checkout_above_it(tmp_path: Path, revision: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert revision(str(tmp_path)) == "unknown"


def test_without_git(tmp_path: Path, revision: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision(str(tmp_path)) == "unknown"
