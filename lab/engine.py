"""The engine that the demo serves with: llama.cpp's real server (xllamacpp) and a model of 0.4 M parameters.

Its container image is made here: a root file system of Debian packages by mmdebstrap, and the Python package that the
virtual environment has. podman makes the image of it, in the layer's tree (serving.sh), so its id is known only then;
the lock with it and the model's sum lies beside the disk.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import time
from pathlib import Path
from typing import IO

from lab import needs, paths, process, recipe
from lab.errors import LabError

LOCK = "lab-tiny.lock.json"
#: The package's folder, for a build under sudo, whose Python does not have it.
PACKAGE = "LAB_ENGINE"
_MODEL = paths.REPO / "tests/fixtures/engine/tiny.gguf"
_SERVER = paths.REPO / "lab/engine"
# What a program in Python and C++ needs, and no shell around it.
_PACKAGES = ("base-files", "python3-minimal", "libpython3-stdlib", "libstdc++6", "libgomp1")


def package() -> Path:
    """Return the folder of xllamacpp's Python package; it is bound to no version of Python (abi3)."""
    if given := os.environ.get(PACKAGE):
        return Path(given)
    found = importlib.util.find_spec("xllamacpp")
    if found is None or found.origin is None:
        raise LabError("the demo's engine, xllamacpp, is not installed in this Python; run: make setup, and use "
                       ".venv/bin/python3 -m lab")
    return Path(found.origin).parent


def bring(folder: Path, log: IO[bytes]) -> None:
    """Put into a folder what serving.sh takes from it: engine.tar, the image's file system; the model; its revision."""
    folder.mkdir(mode=0o755)
    shutil.copy(_MODEL, folder / "tiny.gguf")
    (folder / "revision").write_text(_revision())
    root, mirror = folder / "root", os.environ.get("LAB_MIRROR")
    _run(log, [
        "mmdebstrap", "--mode=root", "--variant=extract", f"--include={','.join(_PACKAGES)}",
        '--aptopt=Acquire::Retries "3"', '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")),
        recipe.SUITE, str(root), *([mirror] if mirror else [])])  # fmt: skip
    shutil.copytree(package(), root / "app/lib/xllamacpp", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("llama_server.py", "llama-server"):
        shutil.copy(_SERVER / name, root / "app" / name)
    (root / "cache").mkdir()
    for name in ("bin", "lib", "lib64"):    # made when packages are configured, which nobody did here
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    _run(log, ["tar", "-C", str(root), "--numeric-owner", "--owner=0", "--group=0", "-cf", str(folder / "engine.tar"),
               "."])  # fmt: skip
    shutil.rmtree(root)


def _run(log: IO[bytes], argv: list[str]) -> None:
    if process.run(argv, log, needs.environment()) != 0:
        raise LabError(f"{argv[0]} could not make the engine's image; its output is in {log.name}")


def pin(folder: Path, lock: Path) -> None:
    """Write the lock of recipe lab-tiny: the id of the image that podman made, the model by its sum."""
    image = "sha256:" + (folder / "image-id").read_text().strip().removeprefix("sha256:")
    sums = hashlib.sha256(_MODEL.read_bytes()).hexdigest()
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    content = {"recipe": "lab-tiny", "created": made,
               "image": {"asked": "localhost/tunecheck/lab-tiny:1", "digest": image, "image_id": image},
               "model": {"id": "tunecheck/lab-tiny", "asked": "folder", "revision": _revision(),
                         "files": {"tiny.gguf": f"sha256:{sums}"}}}  # fmt: skip
    lock.write_text(json.dumps({"schema": "tunecheck/lock/1", "lock": content}, indent=2) + "\n")


def _revision() -> str:
    # A hub's revision is a git commit; this model has none, so the sum of its file names it.
    return hashlib.sha1(_MODEL.read_bytes(), usedforsecurity=False).hexdigest()
