"""Make the modules importable as Ansible builds them: module_utils holds our parsers and helpers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import ansible.module_utils
import pytest

ROOT = Path(__file__).resolve().parents[2]
# The same two folders that ansible.cfg names.
for folder in ("checks", "playbooks/module_utils"):
    if str(ROOT / folder) not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(str(ROOT / folder))


#: Where the modules write on a box; here a folder of the test stands for it.
_OURS = (Path("/var/lib/tunecheck"), Path("/etc/tunecheck"))


@pytest.fixture(autouse=True)
def _nothing_is_written_on_this_machine() -> Iterator[None]:
    before = _state()
    yield
    assert _state() == before, "a module wrote to this machine, not into the test's folder"


def _state() -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for folder in _OURS if folder.is_dir() for path in folder.iterdir()}


@pytest.fixture(scope="session")
def load_module() -> Callable[[str], ModuleType]:
    """Import playbooks/library/<name>.py."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / "playbooks" / "library" / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
