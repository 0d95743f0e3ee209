"""What the lab tells people to type can be pasted as it is printed, from any folder."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from lab import cli, paths

_SAID = re.compile(r"(?:cd \S+ && )?(?:env TUNECHECK_LAB=\S+ )?python3 -m lab [^;\n]*")


def _state(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUNECHECK_LAB", str(folder / "a state"))
    return folder / "a state"


@pytest.mark.parametrize("argv", [["ssh", "box1"], ["wait", "box1"], ["aer", "box1", "rp0"]])
def test_a_command_that_is_told_can_be_pasted(
        argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _state(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert cli.main(argv) == 1
    told = capsys.readouterr().err
    line = told.partition("start it: ")[2].strip()
    assert line == paths.typed("up", "box1") and _SAID.fullmatch(line.replace("'", "").replace("a state", "a-state"))
    words = shlex.split(line)
    assert cli._parser().parse_args(words[words.index("lab") + 1:]).name == "box1"


def test_the_way_to_the_box_works_in_another_folder_and_shell(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell that it is pasted into has neither this folder nor this variable."""
    _state(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    line = paths.typed("ssh", "box1")
    monkeypatch.delenv("TUNECHECK_LAB")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "lab box `box1` is not running" in done.stderr, done.stderr
    assert str(tmp_path / "a state") in done.stderr, "it looks where the box was started"


def test_in_the_checkout_it_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TUNECHECK_LAB", raising=False)
    monkeypatch.chdir(paths.REPO)
    assert paths.typed("ssh", "lab") == "python3 -m lab ssh lab"


def test_every_command_that_the_lab_prints_is_made_that_way() -> None:
    """No sentence of the lab's code holds one of its own: `ssh lab` alone needs the box's ssh_config."""
    found = []
    for path in sorted((paths.REPO / "lab").glob("*.py")):
        tree = ast.parse(path.read_text())
        docs = {node.body[0].value for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body
                and isinstance(node.body[0], ast.Expr)}
        found += [f"{path.name}: {node.value}" for node in ast.walk(tree)
                  if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs
                  and re.search(r"python3 -m lab [a-z]|(?<!-)\bssh (?:lab\b|root@|lab@)", node.value)]
    assert not [each for each in found if "Written by lab/access.py" not in each], found


def test_no_page_says_ssh_and_the_boxs_name_alone() -> None:
    pages = [paths.REPO / "README.md", *(paths.REPO / "lab").glob("*.md"), *(paths.REPO / "docs").rglob("*.md")]
    assert len(pages) > 50
    assert not [page for page in pages if re.search(r"(?<!-m lab )\bssh lab\b", page.read_text())]
