"""docs/rollout.md, "Two kinds of boxes in one inventory": what is done as the text says is an inventory, each host with
its own profile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tunecheck.app.draft import Draft
from tunecheck.app.draft_files import Login, files
from tunecheck.cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
_TITLE = "Two kinds of boxes in one inventory"
_PAGE = (ROOT / "docs/rollout.md").read_text(encoding="utf-8")
_PART = _PAGE.partition(f"\n## {_TITLE}\n")[2].partition("\n## ")[0]
_BLOCKS = {kind: body for kind, body in re.findall(r"(?ms)^```(\w+)\n(.*?)^```", _PART)}
_PROFILES = {"hgx": ("h200-hgx", 8), "rtx": ("rtx-pro-6000-switch", 4)}


def _followed(place: Path) -> Path:
    """Do what the page says; in place of a box that is read, what `tunecheck init` writes of one."""
    kinds = iter(_PROFILES.values())
    for line in _BLOCKS["sh"].splitlines():
        if called := re.fullmatch(r"tunecheck init (\S+)@(\S+) --name (\S+) -o (\S+)", line):
            user, address, name, folder = called.groups()
            profile, count = next(kinds)
            draft = Draft(name, True, {"profile": profile, "accelerators": {"count": count}})
            for path, text in files(draft, Login(address, user)).items():
                (place / folder / path).parent.mkdir(parents=True, exist_ok=True)
                (place / folder / path).write_text(text)
        else:
            assert line.split()[0] in ("mv", "rm")
            subprocess.run(line.split(), cwd=place, check=True)
    (named,) = set(re.findall(r"`(\S+/hosts\.yml)`", _PART)) - {"hosts.yml"}
    hosts = place / named
    before = yaml.safe_load(hosts.read_text())["all"]["children"]["inference"]["hosts"]
    hosts.write_text(_BLOCKS["yaml"])
    group, *_ = yaml.safe_load(_BLOCKS["yaml"])["all"]["children"].values()
    assert before.items() <= group["hosts"].items(), "the box that init read is there as init wrote it"
    return hosts.parent


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _followed(tmp_path_factory.mktemp("two"))


def _kinds() -> dict[str, str]:
    children = yaml.safe_load(_BLOCKS["yaml"])["all"]["children"]
    assert set(children) == set(_PROFILES)
    return {host: group for group, held in children.items() for host in held["hosts"]}


def test_each_host_is_shown_with_its_own_profile(followed: Path) -> None:
    done = CliRunner().invoke(cli, ["spec", "show", "-i", str(followed)])
    assert done.exit_code == 0 and done.stderr == "", "accepted, without a warning"
    shown = dict(re.findall(r"(?m)^(\S+)  profile (\S+)", done.stdout))
    assert shown == {host: _PROFILES[group][0] for host, group in _kinds().items()} and len(shown) > 2


def test_ansible_reads_the_same(followed: Path) -> None:
    listed = json.loads(subprocess.run([Path(sys.executable).with_name("ansible-inventory"), "-i", followed, "--list"],
                                       check=True, capture_output=True, text=True, cwd=followed).stdout)
    hosts = listed["_meta"]["hostvars"]
    assert {name: (each["box_spec"]["profile"], each["box_spec"]["accelerators"]["count"])
            for name, each in hosts.items()} == {host: _PROFILES[group] for host, group in _kinds().items()}


def test_what_is_so_on_one_box_alone_is_merged(tmp_path: Path) -> None:
    folder = _followed(tmp_path)
    (folder / "host_vars").mkdir()
    (folder / "host_vars/r2.yml").write_text("box_spec_host: {accelerators: {count: 3}}\n")
    done = CliRunner().invoke(cli, ["spec", "show", "-i", str(folder), "--json"])
    counts = {name: each["spec"]["accelerators"]["count"] for name, each in json.loads(done.stdout).items()}
    assert counts == {"h1": 8, "h2": 8, "r1": 4, "r2": 3}


def test_plays_and_audits_take_hosts_of_any_group() -> None:
    for play in (ROOT / "playbooks").glob("*.yml"):
        for each in yaml.safe_load(play.read_text(encoding="utf-8")):
            assert "inference" not in str(each.get("hosts", "")), play.name


def test_the_readme_and_init_lead_there() -> None:
    anchor = _TITLE.lower().replace(" ", "-")
    assert f"(docs/rollout.md#{anchor})" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "docs/rollout.md" in (ROOT / "checks/tunecheck/cli/init.py").read_text(encoding="utf-8")
