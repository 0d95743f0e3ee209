"""A folder whose texts lie in folders below it is told so, whatever else lies in it, and how one of them is given."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.unit.cli.carried import ROOT, Fleet
from tests.unit.imports.samples import lab
from tests.unit.refusing import refused

from tunecheck.errors import Misuse, UsageError
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage

#: What lies beside the folders -> why nothing of it is of use
_BESIDE = {"nothing": ({}, Damage.EMPTY), "empty": ({"a.txt": ""}, Damage.EMPTY),
           "two empty": ({"a.txt": "", "b.txt": "\n"}, Damage.EMPTY),
           "a document": ({"README.md": "# Texts of boxes\n\nEach folder is one box.\n\n## How\n\n- [one](one/a.txt)\n"
                                           "- **two**\n\n```\nsudo lspci -nnvvv\n```\n"}, Damage.TOO_LITTLE),
           "prose": ({"notes.txt": "to do tomorrow\n"}, Damage.UNKNOWN_PART),
           "no text": ({"photo.jpg": "\x00\x01\x02" * 999}, Damage.UNKNOWN_PART)}


@pytest.mark.parametrize("name", ["box 1", "--from"])
@pytest.mark.parametrize("beside", _BESIDE)
def test_the_folders_below_are_named_and_one_can_be_given(tmp_path: Path, beside: str, name: str) -> None:
    files, damage = _BESIDE[beside]
    for folder in ("a", ".git", name):
        (tmp_path / folder).mkdir()
    (tmp_path / name / "lspci.txt").write_text(lab("acs-iommu"))
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    with refused(damage, "folders below it are not read", name, "--from ", str(tmp_path)):
        load_import(str(tmp_path))
    with pytest.raises(UsageError) as error:
        load_import(f"{tmp_path}/")
    given = re.search(r"tunecheck preflight --from ('[^']*'|\S+?)(?=;|$)", str(error.value))
    assert given and ".git" not in str(error.value)
    (path,) = shlex.split(given[1])
    assert load_import(path).origins, "the command in it reads texts"


def test_many_folders_are_counted_and_none_is_made_up(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"box{number}").mkdir()
    with refused(Damage.EMPTY, "box0, box1, box2, box3 and 5 more"):
        load_import(str(tmp_path))
    (tmp_path / "box0" / "README.md").write_text("# Texts\n\n- one\n- two\n")
    with pytest.raises(UsageError) as error:
        load_import(str(tmp_path / "box0"))
    assert "folders below" not in str(error.value)
    with pytest.raises(UsageError) as error:
        load_import(str(tmp_path / "box0" / "README.md"))
    assert "folders below" not in str(error.value)


@pytest.mark.parametrize(("given", "here"), [
    ("inv entory", ""), ("inv entory/", ""), ("inv entory/hosts.yml", ""), ("inv entory/host_vars", ""),
    ("inv entory/host_vars/box1.yml", ""), ("", ""), (".", "inv entory"), ("box1.yml", "inv entory/host_vars")])
def test_of_an_inventory_the_verbs_that_read_it_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str,
                                                          here: str) -> None:
    """Whatever of it is given, the whole inventory is named, and both commands read it."""
    shutil.copytree(ROOT / "inventory" / "box1", tmp_path / "inv entory")
    monkeypatch.chdir(tmp_path / here)
    with pytest.raises(UsageError) as error:
        load_import(given if here else str(tmp_path / given))
    said = str(error.value)
    assert "--from" not in said.partition("; expected ")[0]
    commands = re.findall(r"tunecheck ((?:audit|spec show) -i (?:'[^']*'|\S+?))(?=;|$)", said)
    audit, show = (shlex.split(each) for each in commands)
    fleet = Fleet(tmp_path)
    assert (audit[0], audit[2]) == ("audit", show[3])
    folder = str((tmp_path / here / show[3]).resolve())
    code, out, err = fleet.run(*show[:3], folder)
    assert code == 0 and "box1" in out, err
    # It is read; nobody is asked, as no host of it is meant.
    flaw, _ = fleet.refused(*audit[:2], folder, "--limit", "nobody")
    assert flaw in (Misuse.NO_SUCH, Misuse.EMPTY)
