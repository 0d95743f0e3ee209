"""What every verb says where standard output takes only a part of its text: a disk that is nearly full."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.unit.cli.carried import Fleet

from tunecheck.cli.main import cli

_ROOT = Path(__file__).resolve().parents[3]
_ENV = {**os.environ, "PYTHONPATH": str(_ROOT / "checks"), "LC_ALL": "C.UTF-8"}
_NO_SPACE, _TOO_LARGE = "No space left on device", "File too large"
_PAGE, _LEFT = 4096, 8
#: What each verb is called with; where it prints nothing on this machine, its help.
_CALLS = {
    "accept": "--help", "acknowledge": "--list", "allreduce": "--help", "approve": "--list", "audit": "--from boxes",
    "blame": "gpu.count --host gpu1", "checks": "", "completion": "bash", "drift": "--since audit:1", "driver": "",
    "explain": "acs-redirect", "export": "--help", "fleet": "", "fleet baseline": "--from-majority",
    "fleet doctor": "", "fleet hosts": "", "fleet prune": "--keep 400d", "fleet volatility": "", "gate": "--help",
    "history": "--host gpu1", "host": "", "ingest": "--help", "ingest hosts": "--help", "ingest revoke": "--help",
    "ingest token": "--help", "init": "--help", "man": "", "p2p": "--help", "pins": "--help", "preflight": "--json",
    "push": "--help", "recipe lint": "lab-tiny", "recipe list": "", "recipe pin": "--help", "recipe render": "--help",
    "recipe show": "lab-tiny", "record": "-o -", "recover": "--help", "runtime": "-v", "snapshot": "",
    "spec freeze": "--help", "spec schema": "", "spec show": f"--json -i {_ROOT}/inventory/box1", "topo": "",
    "trial": "--help", "waive": "--list", "watch": "--help"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    fleet.put(1)
    assert [fleet.audit()[0] for _ in range(2)] == [0, 0]
    return fleet.folder


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file on a file system with 8 bytes left, to append to."""
    folder = tmp_path_factory.mktemp("disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_PAGE}", "tunecheck", str(folder)],
                          capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        pytest.skip(f"a small tmpfs cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder / "out"
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=20)


def _commands(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(names)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from _commands(below, (*names, name))
    if command.invoke_without_command:
        yield " ".join(names)


def _writing(verb: str, out: Path, folder: Path, unbuffered: bool, limited: int | None = None,
             args: str | None = None) -> subprocess.CompletedProcess[str]:
    with out.open("ab") as stream:
        return subprocess.run(
            [sys.executable, "-m", "tunecheck", *verb.split(), *(_CALLS[verb] if args is None else args).split()],
            env=_ENV | {"PYTHONUNBUFFERED": "1" if unbuffered else "",
                        "TUNECHECK_STORE": str(folder / "state/fleet.db")}, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=stream, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
            preexec_fn=None if limited is None else
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limited, limited)))


def test_every_verb_is_in_the_table() -> None:
    assert sorted(_CALLS) == sorted(_commands(cli))


@pytest.mark.parametrize("verb", _CALLS)
def test_a_disk_that_takes_a_part_is_said(verb: str, disk: Path, history: Path) -> None:
    disk.write_bytes(b"x" * (_PAGE - _LEFT))
    done = _writing(verb, disk, history, unbuffered=True)
    assert disk.stat().st_size == _PAGE
    assert (done.returncode, _NO_SPACE in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("unbuffered", [True, False])
@pytest.mark.parametrize("verb", ["checks", "preflight", "record", "snapshot", "man"])
def test_a_limit_of_the_file_s_size_is_said(verb: str, unbuffered: bool, tmp_path: Path) -> None:
    done = _writing(verb, tmp_path / "out", tmp_path, unbuffered, limited=_LEFT)
    assert (tmp_path / "out").stat().st_size == _LEFT
    assert (done.returncode, _TOO_LARGE in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("verb", ["checks", "snapshot", "spec schema"])
def test_a_full_device_is_said_unbuffered(verb: str, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/dev/full")
    done = _writing(verb, tmp_path / "out", tmp_path, unbuffered=True)
    assert (done.returncode, _NO_SPACE in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_reader_that_went_away_is_nobody_s_fault(unbuffered: bool, tmp_path: Path) -> None:
    for verb in ("checks", "man", "snapshot"):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as stream:
            done = subprocess.run([sys.executable, "-m", "tunecheck", verb],
                                  env=_ENV | {"PYTHONUNBUFFERED": "1" if unbuffered else ""}, stdout=stream,
                                  stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def _with_a_verb(code: str, out: Path) -> subprocess.CompletedProcess[str]:
    """``checks`` with a body of its own, as `python -m tunecheck` runs it."""
    program = (f"import os, sys\nfrom tunecheck.cli.main import cli\ndef checks(): {code}\n"
               "cli.commands['checks'].callback = checks\nfrom tunecheck.__main__ import main\nmain()")
    with out.open("wb") as stream:
        return subprocess.run([sys.executable, "-c", program, "checks"], env=_ENV | {"PYTHONUNBUFFERED": ""},
                              stdout=stream, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


@pytest.mark.parametrize("end", ["", "; raise SystemExit(1)"])
def test_what_is_left_in_the_buffer_at_the_end_counts(tmp_path: Path, end: str) -> None:
    (tmp_path / "out").symlink_to("/dev/full")
    done = _with_a_verb(f"sys.stdout.write('word'){end}", tmp_path / "out")
    assert (done.returncode, done.stderr) == (2, f"tunecheck: standard output cannot be written ({_NO_SPACE})\n")


def test_a_file_system_that_fails_when_the_file_is_closed_counts(tmp_path: Path) -> None:
    """NFS and quotas say so no earlier."""
    refuse = "raise OSError(122, 'Disk quota exceeded')"
    code = f"exec(\"def close(_): {refuse}\\nos.close = close\\nsys.stdout.write('word')\")"
    done = _with_a_verb(code, tmp_path / "out")
    assert (done.returncode, done.stderr) == (2, "tunecheck: standard output cannot be written (Disk quota exceeded)\n")
