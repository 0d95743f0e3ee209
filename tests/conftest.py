"""What every test may use; what cannot run on this machine is skipped with its reason."""

from __future__ import annotations

import gc
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


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes that are not plain text never name a test.

    Packed bytes hold the time they were packed at. Two workers that collect one second apart then name the same
    test differently, and pytest-xdist refuses the whole run.
    """
    if isinstance(val, bytes) and not (val.isascii() and val.decode("ascii").isprintable()):
        return argname
    return None


def pytest_collection_finish() -> None:
    """All the tests and what their files hold stay to the end, so nothing looks for garbage in them again and again:
    that took 6.5 % of the time of 2,400 tests, and takes half of it so."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


#: Folders whose tests wait for boxes, containers, engines and time limits. They come first, so that what they wait for
#: passes beside tests that work: with some of them behind all others a run of 52 min ended with 5 min in which one
#: processor of two had nothing to do.
_WAITING = ("lab", "roles", "rollout", "unit/trials", "unit/watch", "unit/gate", "unit/recovery", "unit/serving", "web")


def _place(item: pytest.Item) -> int:
    path = item.path.relative_to(Path(__file__).parent).as_posix()
    return next((place for place, folder in enumerate(_WAITING) if path.startswith(f"{folder}/")), len(_WAITING))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put those first that wait. Skip the tests that need a GPU where there is none, and the long ones where they are
    not asked for."""
    items.sort(key=_place)
    for item in items:
        if item.get_closest_marker("long") and not os.environ.get("LONG"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; make test LONG=1 runs it"))
    if Path("/proc/driver/nvidia/version").exists():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no GPU: /proc/driver/nvidia/version is not present"))
