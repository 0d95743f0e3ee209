"""The environment of the plays that tests run on this machine itself."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def _kept_bytecode() -> dict[str, str]:
    """Ansible's modules are compiled once a session, not once a task (half of a task's CPU time)."""
    folder = tempfile.mkdtemp(prefix="tunecheck-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return keep_bytecode(Path(folder), Path(folder, "kept"))


def keep_bytecode(folder: Path, kept: Path) -> dict[str, str]:
    """What makes every Python below ``folder``'s search path keep what it compiles in ``kept``."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "lab/guest/zip_bytecode.py", folder / "sitecustomize.py")
    return {"PYTHONPATH": str(folder), "LAB_BYTECODE": str(kept)}


def environment(**more: str) -> dict[str, str]:
    """This process's environment, the checkout's ansible.cfg, no colours."""
    return {**os.environ, **_kept_bytecode(), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
            **more}
