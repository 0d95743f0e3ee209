"""What ``tunecheck init`` calls a box: a name that is free, and one by which Ansible finds this box and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.cli.test_init import FIXTURE, flaw_of, seen
from tests.unit.facts import trees

from tunecheck.app.draft import drafted
from tunecheck.app.draft_files import Login, files
from tunecheck.app.draft_name import GROUP, taken
from tunecheck.cli.main import cli
from tunecheck.errors import Misuse
from tunecheck.model.fact import known

_PATTERNS = [f"box{sign}1" for sign in "!&:,[]*?"] + ["~box1", "!box1", "box[1:3]"]


@pytest.mark.parametrize("name", ["all", "ungrouped", GROUP, "localhost", *_PATTERNS, "a b", "", "-x", "x" * 64])
def test_a_name_that_means_something_else_is_refused_before_anything_is_written(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["init", "--from", str(FIXTURE), "--name", name])
    assert flaw_of(done) is Misuse.MALFORMED and list(tmp_path.iterdir()) == []
    assert "for example box1" in str(done.exception) and taken(name) in str(done.exception)
    assert ("pattern" in str(done.exception)) == (name in _PATTERNS)


@pytest.mark.parametrize("name", ["all", "ungrouped", GROUP, "localhost"])
def test_nor_does_a_box_get_one_that_is_called_so(name: str) -> None:
    draft = drafted(replace(seen(trees.below_one_switch(2)), hostname=known(name, "x")), None, "box4")
    assert (draft.name, draft.named) == ("box4", False)


def test_every_group_of_the_written_inventory_is_refused() -> None:
    text = files(drafted(seen(trees.below_one_switch(2)), "gpu7"), Login())["hosts.yml"]
    groups = [*yaml.safe_load(text), *yaml.safe_load(text)["all"]["children"], "ungrouped"]
    assert len(groups) == 3 and all(map(taken, groups))


@pytest.mark.parametrize("name", ["box1", "gpu-7.example", "rack_2", "7", "1e3", "0x1f", "on", "null", "No", "12.5"])
def test_a_name_is_the_name_of_the_host(name: str) -> None:
    text = files(drafted(seen(trees.below_one_switch(2)), name), Login())["hosts.yml"]
    assert list(yaml.safe_load(text)["all"]["children"][GROUP]["hosts"]) == [name]


@pytest.mark.parametrize(("there", "name"), [
    ([], "box1"), (["box1"], "box2"), (["box1", "box2", "lab"], "box3"), (["box2"], "box1")])
def test_a_box_without_a_name_gets_a_free_one(
        there: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for each in there:
        Path("inventory", each).mkdir(parents=True)
    done = CliRunner().invoke(cli, ["init", "--from", str(_texts(tmp_path))])
    assert done.exit_code == 0, done.output
    hosts = Path("inventory", name, "hosts.yml").read_text()
    assert f"        {name}:   # CHANGE: " in hosts and f"inventory/{name}: an inventory for {name}," in done.output


def test_a_name_that_is_given_and_not_free_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("inventory/box1").mkdir(parents=True)
    done = CliRunner().invoke(cli, ["init", "--from", str(_texts(tmp_path)), "--name", "box1"])
    assert flaw_of(done) is Misuse.ALREADY


def _texts(place: Path) -> Path:
    """Texts that do not tell a name."""
    text = place / "texts" / "lspci.txt"
    text.parent.mkdir()
    text.write_text("00:00.0 Host bridge [0600]: Intel Corporation 82G33 [8086:29c0]\n"
                    "03:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n")
    return text.parent
