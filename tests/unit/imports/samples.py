"""Where the tests get their texts: own fixtures, and other people's, which stay outside of the project."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parent / "fixtures"
_REPO = Path(__file__).resolve().parents[3]


def samples(*parts: str) -> Path:
    """A file or folder of ../shared/samples (TUNECHECK_SAMPLES names another place); skips where it is missing."""
    root = Path(os.environ.get("TUNECHECK_SAMPLES") or _REPO.parent / "shared" / "samples")
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is missing: other people's files are not part of the project")
    return path


def box(layout: str) -> str:
    """The same with NVIDIA's driver on the boards."""
    return re.sub(r"(?m)^(.*\[10de:2330\].*\n)", r"\1\tKernel driver in use: nvidia\n", lab(layout))


def metal(text: str) -> str:
    """The same with real root ports in place of QEMU's, which make it a virtual machine."""
    return text.replace("[1b36:000c]", "[1022:1483]")


def lab(layout: str) -> str:
    """`lspci -nnvvv` of a lab box."""
    return (FIXTURES / layout / f"{layout}-nv.lspci-vvv").read_text()
