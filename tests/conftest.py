"""What every test may use; what cannot run on this machine is skipped with its reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# pytest-xdist's workers have COLUMNS: the terminal of whoever started the tests would fold the tool's lines.
for _name in ("COLUMNS", "NO_COLOR"):
    os.environ.pop(_name, None)


@pytest.fixture(scope="session")
def repo() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that need a GPU where there is none, and the long ones where they are not asked for."""
    for item in items:
        if item.get_closest_marker("long") and not os.environ.get("LONG"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; make test LONG=1 runs it"))
    if Path("/proc/driver/nvidia/version").exists():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no GPU: /proc/driver/nvidia/version is not present"))
