"""A path in a command that is to be pasted is one word there, and no option, whatever it is called."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.recipes.load import SHIPPED, load
from tunecheck.util.typed_path import typed_path

_FOLDERS = ["plain", "-d", "-x y", "it's", "a b", "$x", "`id`", "é", "#a", "a;b", "*"]


def _pin(folder: str) -> tuple[str, str]:
    file = f"{folder}/lab-tiny.yml"
    Path(file).write_text((SHIPPED / "lab-tiny.yml").read_text())
    said = CliRunner().invoke(cli, ["recipe", "show", "--", file]).output
    return file, said.partition("lock: none; run: ")[2].partition("\n")[0]


def _zstd(folder: str) -> tuple[str, str]:
    file = f"{folder}/text.zst"
    Path(file).write_bytes(zstandard.compress(b"00:00.0 Host bridge\n"))
    said = str(CliRunner().invoke(cli, ["topo", f"--from={folder}"]).exception)
    return file, said.partition("unpack it first: ")[2].partition(" > ")[0]


def _snapshot(folder: str) -> tuple[str, str]:
    file = f"{folder}/snapshot.json.gz"
    Path(file).write_bytes(gzip.compress(b'{"schema": "tunecheck/snapshot/1"}'))
    said = str(CliRunner().invoke(cli, ["topo", f"--from={file}"]).exception)
    return file, said.partition("unpack it first: ")[2].partition(" > ")[0]


@pytest.mark.parametrize("folder", _FOLDERS)
@pytest.mark.parametrize("message", [_pin, _zstd, _snapshot])
def test_the_command_takes_the_file_that_it_is_about(folder: str, message: Callable[[str], tuple[str, str]],
                                                     tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    file, command = message(folder)
    last = shlex.split(command)[-1]
    assert not last.startswith("-") and Path(last).resolve() == Path(file).resolve(), command


def test_the_recipe_is_found_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-d").mkdir()
    _, command = _pin("-d")
    assert load(shlex.split(command)[-1], pinned=False).source.id == "lab-tiny"
    done = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert "No such option" not in done.output and not re.search("no such option", str(done.exception), re.IGNORECASE)


@pytest.mark.parametrize("folder", _FOLDERS)
def test_a_path_is_one_word_and_no_option(folder: str) -> None:
    (word,) = shlex.split(typed_path(folder))
    assert Path(word) == Path(folder) and not word.startswith("-")
    assert typed_path("-") == "-", "standard input"
