"""What is installed is what the locks name, the wheel is reproducible, and the release recipe of the page works."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tunecheck_fleet import wheelhouse

ROOT = Path(__file__).resolve().parents[3]
LOCKS = {path.stem: path.read_text() for path in (ROOT / "requirements").glob("*.lock")}
PAGE = (ROOT / "docs/supply-chain.md").read_text()


def _pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", sorted(LOCKS))
def test_every_package_of_a_lock_has_a_hash(name: str) -> None:
    blocks = re.split(r"^(?=[a-z0-9])", LOCKS[name], flags=re.MULTILINE)[1:]
    assert len(blocks) > 5
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_what_builds_is_what_the_control_node_has() -> None:
    build, control = _pins(LOCKS["build"]), _pins(LOCKS["control"])
    assert {"hatchling", "pip"} <= set(build) and build.items() <= control.items()
    wanted = [line for line in (ROOT / "requirements/build.in").read_text().splitlines() if line[0] != "#"]
    project = (ROOT / "pyproject.toml").read_text()
    assert all(f'"{line}"' in project for line in wanted), "one range for each, in both files"
    both = _pins(LOCKS["box"]).keys() & build.keys()
    assert all(_pins(LOCKS["box"])[name] == build[name] for name in both), "they are installed together"


def test_nothing_gets_into_the_wheelhouse_without_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...]] = []
    asked: list[str] = []

    def pip(*arguments: str) -> None:
        calls.append(arguments)
        if "-r" in arguments:
            asked.append(Path(arguments[arguments.index("-r") + 1]).read_text())
        if arguments[0] == "wheel":
            (tmp_path / "tunecheck-0.1.0-py3-none-any.whl").write_bytes(b"ours")

    monkeypatch.setattr(wheelhouse, "_pip", pip)
    wheelhouse._collect(ROOT, tmp_path, "3.13", "x86_64")
    fetched = [call for call in calls if call[0] == "download"]
    assert len(fetched) == 1 and all(word in fetched[0] for word in ("--require-hashes", "--only-binary=:all:"))
    assert asked == [LOCKS["box"]]
    assert not any("==" in word for call in calls for word in call), "a version on the command line has no hash"
    assert not any(";" in line for line in LOCKS["box"].splitlines() if "==" in line), "the box wants every wheel"
    assert hashlib.sha256(b"ours").hexdigest() in (tmp_path / "box.lock").read_text()


def test_the_wheel_is_the_same_when_it_is_built_again(tmp_path: Path) -> None:
    """From two copies in other places, of other times and another umask."""
    sums = []
    for name, umask, when in (("one", 0o022, 1_000_000_000), ("two", 0o077, 2_000_000_000)):
        copy = tmp_path / name / "checkout"
        old = os.umask(umask)
        try:
            for part in ("checks", "docs/checks"):
                shutil.copytree(ROOT / part, copy / part, copy_function=shutil.copyfile,
                                ignore=shutil.ignore_patterns("__pycache__"))
            for part in ("pyproject.toml", "README.md", "LICENSE"):
                shutil.copyfile(ROOT / part, copy / part)
            for path in copy.rglob("*"):
                os.utime(path, (when, when))
            subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / name)],
                           cwd=copy, check=True, capture_output=True, timeout=120,
                           env={key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"})
        finally:
            os.umask(old)
        (wheel,) = (tmp_path / name).glob("*.whl")
        sums.append((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()))
    assert sums[0] == sums[1]


def _commands(after: str) -> str:
    """The commands of the page behind this heading."""
    section = PAGE[PAGE.index(f"## {after}"):]
    return re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[0]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_release_is_signed_and_checked_as_the_page_says(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "tunecheck-0.1.0-py3-none-any.whl").write_bytes(b"wheel")
    (dist / "tunecheck-box.cdx.json").write_text("{}")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True, timeout=60)
    (dist / "allowed_signers").write_text(f"release@example {(tmp_path / 'key.pub').read_text()}")
    env = {**os.environ, "KEY": str(tmp_path / "key"), "SIGNER": "release@example"}

    def run(script: str, where: Path) -> int:
        return subprocess.run(["bash", "-e", "-c", script], cwd=where, env=env, capture_output=True, timeout=60,
                              check=False).returncode

    assert run(_commands("Making a release"), tmp_path) == 0
    assert run(_commands("Checking a release"), dist) == 0
    (dist / "tunecheck-box.cdx.json").write_text("[]")
    assert run(_commands("Checking a release"), dist) != 0, "another file"
    (dist / "tunecheck-box.cdx.json").write_text("{}")
    with (dist / "SHA256SUMS").open("a") as stream:
        stream.write("\n")
    assert run(_commands("Checking a release"), dist) != 0, "other sums"


def test_by_hand_the_same_locks_are_named() -> None:
    commands = _commands("What is installed is what the locks name").splitlines()
    assert commands[1].endswith("--require-hashes -r requirements/box.lock -r requirements/build.lock")
    assert commands[2].endswith("--no-deps --no-build-isolation .")
    assert "(docs/supply-chain.md)" in (ROOT / "README.md").read_text()
