"""A text on standard input that no option asked for is named; where nobody handed one over, nothing is said."""

from __future__ import annotations

import os
import pty
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import pytest

from tunecheck.cli.main import cli
from tunecheck.cli.unread_input import waits_unread

_ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "checks"), "LC_ALL": "C.UTF-8"}
_TOLD = "--from -"
#: Verbs with --from that is no text of a box, or a folder of many.
_OTHERS = {"audit"}
_LOOKS = "import sys; from tunecheck.cli.unread_input import waits_unread; sys.exit(waits_unread(0))"


def _with_from(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            yield from _with_from(found, f"{name} {each}".strip()) if (found := command.get_command(context, each)) \
                else ()
    elif any("--from" in parameter.opts for parameter in command.params):
        yield name, command


def test_every_verb_with_from_looks() -> None:
    found = {name: next(each for each in command.params if "--from" in each.opts)
             for name, command in _with_from(cli)}
    assert {"topo", "preflight", "snapshot", "pins", "init", "push", "recipe lint"} <= set(found)
    assert {name for name, option in found.items() if option.callback is None} == _OTHERS & set(found)


@contextmanager
def _input(kind: str, folder: Path) -> Iterator[int]:
    file = folder / "topo.txt"
    file.write_text("" if kind == "an empty file" else "GPU0\tGPU1\n")
    with ExitStack() as stack:
        def pipe(content: bytes, closed: bool) -> int:
            reads, writes = os.pipe()
            os.write(writes, content)
            os.close(writes) if closed else stack.callback(os.close, writes)
            return reads

        def ends(content: bytes) -> int:
            ours, theirs = socket.socketpair()
            stack.callback(ours.close)
            ours.sendall(content)
            return theirs.detach()

        def terminal() -> int:
            ours, theirs = pty.openpty()
            stack.callback(os.close, ours)
            os.write(ours, b"typed ahead\n")
            return theirs

        def read_before() -> int:
            descriptor = os.open(file, os.O_RDONLY)
            os.read(descriptor, 3)
            return descriptor

        made = {"a file": lambda: os.open(file, os.O_RDONLY), "an empty file": lambda: os.open(file, os.O_RDONLY),
                "a file that is half read": read_before, "a full pipe": lambda: pipe(b"x", True),
                "a full pipe that stays open": lambda: pipe(b"x", False), "an empty pipe": lambda: pipe(b"", False),
                "an ended pipe": lambda: pipe(b"", True), "a socket": lambda: ends(b"x"), "a terminal": terminal,
                "no input": lambda: os.open(os.devnull, os.O_RDONLY)}
        descriptor = made[kind]()
        stack.callback(os.close, descriptor)
        yield descriptor


@pytest.mark.parametrize(("kind", "waits"), [
    ("a file", True), ("a full pipe", True), ("a full pipe that stays open", True), ("an empty file", False),
    ("a file that is half read", False), ("an empty pipe", False), ("an ended pipe", False), ("a socket", False),
    ("a terminal", False), ("no input", False)])
def test_only_what_surely_holds_a_text_is_named_and_nothing_is_read(tmp_path: Path, kind: str, waits: bool) -> None:
    with _input(kind, tmp_path) as descriptor:
        done = subprocess.run([sys.executable, "-c", _LOOKS], stdin=descriptor, env=_ENV, check=False, timeout=30)
        assert done.returncode == int(waits)
        if waits:
            assert os.read(descriptor, 9)[:1] in (b"x", b"G"), "it is all there"


def test_a_closed_input_is_none() -> None:
    done = subprocess.run(["sh", "-c", f"{shlex.quote(sys.executable)} -c {shlex.quote(_LOOKS)} <&-"], env=_ENV,
                          check=False, timeout=30)
    assert done.returncode == 0 and not waits_unread(9999)


_LOOK = f"{shlex.quote(sys.executable)} -c {shlex.quote(_LOOKS)}"
_CALLED, _GIVEN = f"{_LOOK} || echo told", f"{_LOOK} < box.txt || echo told"


@pytest.mark.parametrize(("script", "told"), [
    (f"cat box.txt | ({_CALLED})", 0), (f"while read line; do {_CALLED}; done < box.txt", 0),
    (_GIVEN, 1), (f"for each in 1 2; do {_GIVEN}; done", 2),
    (f"cat box.txt | while read line; do {_CALLED}; done", 0)])
def test_the_input_of_a_script_is_the_scripts(tmp_path: Path, script: str, told: int) -> None:
    (tmp_path / "box.txt").write_text("one\ntwo\nthree\n")
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=_ENV, check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    assert done.stdout.count("told") == told
    done = subprocess.run(["bash"], cwd=tmp_path, env=_ENV, check=True, capture_output=True, text=True,
                          input=f"{_CALLED}\ntrue\n", timeout=60)
    assert "told" not in done.stdout, "a script that the shell reads from its input"


@pytest.mark.parametrize("verb", ["snapshot", "topo"])
def test_the_line_names_the_verb_and_changes_nothing_else(tmp_path: Path, verb: str) -> None:
    (tmp_path / "topo.txt").write_text("GPU0\tGPU1\n")
    command = [sys.executable, "-m", "tunecheck", verb, "--json"]
    command += ["a.json"] if verb == "snapshot" else []
    with (tmp_path / "topo.txt").open("rb") as given:
        told = subprocess.run(command, cwd=tmp_path, env=_ENV, check=False, capture_output=True, text=True, stdin=given,
                              timeout=120)
    bare = subprocess.run(command, cwd=tmp_path, env=_ENV, check=False, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    (line,) = [each for each in told.stderr.splitlines() if _TOLD in each]
    assert line.endswith(f"tunecheck {verb} --from -") and _TOLD not in bare.stderr + told.stdout
    assert told.returncode == bare.returncode
