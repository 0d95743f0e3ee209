"""The next step for a draft is one that works: a recipe of which nobody published the image has to state it first."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.recipes.load import SHIPPED, load, names


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("verb", ["lint", "show", "render"])
def test_the_command_that_pins_is_named_where_it_can_work(name: str, verb: str) -> None:
    found = load(name, pinned=False)
    done = CliRunner().invoke(cli, ["recipe", verb, name])
    said = " ".join(f"{done.output} {done.exception}".split())
    assert f"run: tunecheck recipe pin {name}" in said or found.frozen.status != "draft"
    assert (f"run: tunecheck recipe pin {name}.yml" in said) == (found.source.image.ref is None)


@pytest.mark.parametrize("name", [name for name in names() if load(name, pinned=False).source.image.ref is None])
def test_the_copy_that_it_says_can_be_made_and_pinned(name: str, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(cli, ["recipe", "pin", name, "-o", "x.json"]).exception
    copied = re.search(r": cp (\S+) (\S+); state image\.ref in \2; then run: (tunecheck recipe pin \S+)$", str(said))
    assert copied is not None, said
    text = Path(shlex.split(copied[1])[0]).read_text()
    Path(copied[2]).write_text(text)
    again = CliRunner().invoke(cli, shlex.split(copied[3])[1:]).exception
    assert str(again).endswith(f": state image.ref in that file, then run: {copied[3]}")
    Path(copied[2]).write_text(re.sub(r"(?m)^image: \{ref: null\}", "image: {ref: 'http//nowhere'}", text))
    assert "image.ref is null" not in str(CliRunner().invoke(cli, shlex.split(copied[3])[1:]).exception)


_NAMED = re.compile(r"tunecheck recipe pin ((?:'[^']*'|\"[^\"]*\"|[^\s;\]'\"])+)")


@pytest.mark.parametrize("folder", [".", "a b", "-d", "it's", "sub/below"])
@pytest.mark.parametrize("id_", ["mine", *names()[:3]])
@pytest.mark.parametrize("verb", ["lint", "show", "render", "pin"])
def test_a_command_names_the_recipe_that_was_given(verb: str, id_: str, folder: str, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may have an id that no recipe of ours has, and a copy has the id of the one that it was made from."""
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir(parents=True, exist_ok=True)
    given = Path(folder, f"{id_}.yml")
    source = names()[0] if id_ == "mine" else id_
    given.write_text(re.sub(rf"(?m)^id: {source}$", f"id: {id_}", (SHIPPED / f"{source}.yml").read_text()))
    done = CliRunner().invoke(cli, ["recipe", verb, "--", str(given)])
    said = f"{done.output} {done.exception}"
    commands = [command for line in said.splitlines() if "not pinned: " not in line for command in _NAMED.findall(line)]
    assert commands or verb == "pin", said
    for command in commands:
        (path,) = shlex.split(command)
        assert not path.startswith("-") and Path(path).resolve() == given.resolve(), said
