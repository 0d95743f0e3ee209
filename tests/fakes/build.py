"""Compile a fake library, or skip the test where that can't be done."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["build"]

_FOLDER = Path(__file__).parent


def build(source: str, library: str, into: Path) -> Path:
    """``tests/fakes/<source>`` as the shared library ``library`` (its file name and soname) in the folder ``into``."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here for the fake libraries; install gcc and libc6-dev")
    target = into / library
    made = subprocess.run([compiler, "-std=gnu11", "-O2", "-ftree-vectorize", "-Wall", "-Wextra", "-shared",
                           "-fPIC", "-pthread", f"-Wl,-soname,{library}", "-o", str(target), str(_FOLDER / source)],
                          capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    return target
