"""The linters, as tests: `make test` and CI say what `make lint` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("argv", [["ruff", "check"], ["mypy"], ["ansible-lint", "--offline"]], ids=lambda a: a[0])
def test_lint(argv: list[str], repo: Path) -> None:
    folder = str(Path(sys.executable).parent)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(argv[0], path=path) is None:
        pytest.skip(f"{argv[0]} is not installed; make setup installs it")
    env = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    done = subprocess.run(argv, cwd=repo, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
