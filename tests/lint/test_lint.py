"""The linters, as tests: what does not pass them does not land."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("argv", [["ruff", "check"], ["mypy"], ["ansible-lint", "--offline", "--nocolor"]],
                         ids=lambda argv: argv[0])
def test_lint(argv: list[str]) -> None:
    if not (BIN / argv[0]).exists():
        pytest.skip(f"{argv[0]} is not installed beside this Python; run make setup")
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([str(BIN / argv[0]), *argv[1:]], cwd=ROOT, env=environment, capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
