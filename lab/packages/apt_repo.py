"""A signed apt repository in a folder: packages by dpkg-deb, indexes by apt-ftparchive, a key made on the spot.

Used with `driver.source: mirror` and `driver.mirror: file:///...`. Its layout is NVIDIA's: flat, `Suites: /`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lab import needs
from lab.errors import LabError

KEYRING = "key.asc"


@dataclass(frozen=True)
class Package:
    """One binary package. ``files`` maps absolute paths to content (str or bytes), or to a link target
    (``Link``); a path in ``programs`` is executable. ``fields`` are more control fields, ``scripts`` postinst and
    the like."""

    name: str
    version: str
    architecture: str = "amd64"
    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, str | bytes | Link] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    scripts: dict[str, str] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The file name of the package; the version's epoch is not in it."""
        return f"{self.name}_{self.version.partition(':')[2] or self.version}_{self.architecture}.deb"

    def control(self) -> str:
        """Return the control file; the stand-ins say what they are."""
        fields = {
            "Package": self.name, "Version": self.version, "Architecture": self.architecture,
            "Maintainer": "tunecheck lab <lab@localhost>", "Section": "lab", "Priority": "optional",
            **self.fields, "Description": self.fields.get("Description", f"stand-in for {self.name} (tunecheck lab)"),
        }  # fmt: skip
        return "".join(f"{key}: {value}\n" for key, value in fields.items())


@dataclass(frozen=True)
class Link:
    """A symbolic link of a package."""

    target: str


class Repository:
    """A repository in ``folder``. ``publish`` may be called again: a newer version appears as it does on a mirror."""

    def __init__(self, folder: Path) -> None:
        if missing := needs.missing_packages(needs.REPOSITORY):
            raise LabError(f"an apt repository needs {', '.join(missing)}; run: apt-get install {' '.join(missing)}")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._home = Path(tempfile.mkdtemp(prefix="tc-gpg-"))  # short: gpg-agent's socket is in it
        self._gpg("--quick-generate-key", "tunecheck lab", "ed25519", "sign", "1d")
        listing = self._gpg("--with-colons", "--list-keys").decode()
        self.fingerprint = re.findall(r"^fpr:+([0-9A-F]{40}):", listing, re.MULTILINE)[0]
        (folder / KEYRING).write_bytes(self._gpg("--armor", "--export"))

    def publish(self, packages: Iterable[Package]) -> None:
        """Build the packages into the folder and write its indexes anew, signed."""
        for package in packages:
            build(package, self.folder)
        index = _run(["apt-ftparchive", "packages", "."], self.folder)
        (self.folder / "Packages").write_bytes(index)
        for old in ("Release", "InRelease"):
            (self.folder / old).unlink(missing_ok=True)
        options = {"Origin": "tunecheck lab", "Label": "tunecheck lab", "Architectures": "amd64"}
        release = _run(["apt-ftparchive", *(f"-oAPT::FTPArchive::Release::{k}={v}" for k, v in options.items()),
                        "release", "."], self.folder)  # fmt: skip
        (self.folder / "Release").write_bytes(release)
        self._gpg("--clearsign", "--output", str(self.folder / "InRelease"), str(self.folder / "Release"))

    def close(self) -> None:
        """End the agent and remove the key: nothing can be signed any more."""
        subprocess.run(["gpgconf", "--homedir", str(self._home), "--kill", "all"], capture_output=True, timeout=20)
        shutil.rmtree(self._home, ignore_errors=True)

    def _gpg(self, *arguments: str) -> bytes:
        return _run(["gpg", "--homedir", str(self._home), "--batch", "--yes", "--passphrase", "", *arguments])


def build(package: Package, folder: Path) -> Path:
    """Build one .deb into ``folder`` and return it. Owner root, the same bytes each time."""
    with tempfile.TemporaryDirectory(prefix="tc-deb-") as name:
        tree = Path(name)
        tree.chmod(0o755)
        for path, content in package.files.items():
            _write(tree / path.lstrip("/"), content, 0o755 if path in package.programs else 0o644)
        _write(tree / "DEBIAN/control", package.control(), 0o644)
        for script, text in package.scripts.items():
            _write(tree / "DEBIAN" / script, text, 0o755)
        for at in (tree, *tree.rglob("*")):
            if at.is_dir():
                at.chmod(0o755)
        # Fast to unpack: without KVM xz costs more than the disk.
        _run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(folder / package.file)])
    return folder / package.file


def _write(path: Path, content: str | bytes | Link, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Link):
        path.symlink_to(content.target)
        return
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def _run(argv: list[str], folder: Path | None = None) -> bytes:
    env = {**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=300)
    if done.returncode != 0:
        raise LabError(f"{argv[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
