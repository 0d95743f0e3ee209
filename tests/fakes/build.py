"""Compile a stand-in library of lab/standins/gpu, or skip the test where that can't be done."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.errors import LabError

from lab import standin_gpus

__all__ = ["build"]


def build(source: str, library: str, into: Path) -> Path:
    """``source`` as the shared library ``library`` (its file name and soname) in the folder ``into``."""
    if standin_gpus.compiler() is None:
        pytest.skip("no C compiler here for the stand-in libraries; install gcc and libc6-dev")
    try:
        return standin_gpus.library(source, into / library, library)
    except LabError as error:
        raise AssertionError(str(error)) from None
