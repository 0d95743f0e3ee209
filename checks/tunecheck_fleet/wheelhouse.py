"""Build, on the control node, the one file from which a box without internet installs the checker.

The archive is a flat tar: the wheels named in requirements/box.lock for the box's Python and CPU (hashes checked by
pip), this project's wheel, and the lock with this project's wheel in it, by which the box checks every wheel once more
(playbooks/library/tunecheck_install.py). No pip is needed there: a wheel is a zip that is unpacked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tunecheck.errors import Misuse, UsageError

__all__ = ["build", "source_digest"]

#: glibc baselines, newest first, that every supported distribution's pip accepts.
_PLATFORMS = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
_DEADLINE_S = 600


def project_root() -> Path:
    """The checkout that this package runs from. UsageError where it is an installed copy."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "requirements" / "box.lock").is_file():
        raise UsageError(
            f"the wheelhouse is built from a checkout, and {root} holds no requirements/box.lock. Run "
            "ansible-playbook with the virtual environment that `make setup` makes.", Misuse.NOT_HERE
        )
    return root


def source_digest(root: Path, python: str, machine: str) -> str:
    """Name of the archive: changes with the lock, the sources, the documentation pages or the target."""
    digest = hashlib.sha256(f"{python} {machine}".encode())
    files = [root / "pyproject.toml", root / "requirements" / "box.lock", root / "requirements" / "build.lock"]
    for folder, pattern in (("checks/tunecheck", "*"), ("docs/checks", "*.md")):
        files += sorted(path for path in (root / folder).rglob(pattern) if path.is_file() and _counts(path))
    for path in files:
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _counts(path: Path) -> bool:
    return "__pycache__" not in path.parts


def build(out: Path, python: str, machine: str) -> tuple[Path, str]:
    """Make (or find) the archive for this Python ("3.13") and CPU ("x86_64"); returns (path, "sha256:...")."""
    root = project_root()
    archive = out / f"tunecheck-py{python}-{machine}-{source_digest(root, python, machine)}.tar"
    if not archive.is_file():
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out) as work:
            _collect(root, Path(work), python, machine)
            _pack(Path(work), archive)
        for old in out.glob(f"tunecheck-py{python}-{machine}-*.tar"):
            if old != archive:
                old.unlink()
    return archive, "sha256:" + hashlib.sha256(archive.read_bytes()).hexdigest()


def _collect(root: Path, work: Path, python: str, machine: str) -> None:
    lock = root / "requirements" / "box.lock"
    target = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp", "--abi",
              "cp" + python.replace(".", ""), "--abi", "abi3", "--abi", "none"]
    target += [word for name in _PLATFORMS for word in ("--platform", f"{name}_{machine}")]
    _pip("download", "--quiet", "--no-deps", "--require-hashes", *target, "-d", str(work), "-r", str(lock))
    _pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(work), str(root))
    wheel, = work.glob("tunecheck-*.whl")
    ours = f"tunecheck=={wheel.name.split('-')[1]} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (work / "box.lock").write_text(f"{lock.read_text().rstrip()}\n{ours}")


def _pip(*arguments: str) -> None:
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
        said = [line.strip() for line in lines if re.search(r"\b\w*Error\b|^ERROR", line)] or lines
        raise UsageError(f"building the wheelhouse failed at `pip {arguments[0]}`: {' | '.join(said[-3:])}. It needs "
                         "the package index once; later runs use the kept archive.", Misuse.NO_PACKAGE)


def _pack(work: Path, archive: Path) -> None:
    """A reproducible tar: sorted, no owners, no times; in place only when whole."""
    temporary = archive.with_suffix(".part")
    with tarfile.open(temporary, "w") as tar:
        for path in sorted(work.iterdir()):
            info = tarfile.TarInfo(path.name)
            info.size, info.mode = path.stat().st_size, 0o644
            with path.open("rb") as handle:
                tar.addfile(info, handle)
    with temporary.open("rb") as handle:
        os.fsync(handle.fileno())
    temporary.rename(archive)


def main(argv: list[str]) -> int:
    """``python -m tunecheck_fleet.wheelhouse OUT PYTHON MACHINE``: what the role preflight calls."""
    try:
        archive, digest = build(Path(argv[0]), argv[1], argv[2])
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"archive": str(archive), "digest": digest}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
