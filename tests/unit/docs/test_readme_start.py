"""The README's start: its picture is what the program says, its calls exist, and they are the first thing there."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import click
import pytest
import yaml
from lab.generators import picture

from tunecheck.app.draft import Draft
from tunecheck.app.draft_files import Login, files
from tunecheck.cli.main import cli
from tunecheck.spec import build
from tunecheck.spec.profile_files import names

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()


def test_the_picture_is_what_the_program_says() -> None:
    made = picture.svg(picture.report())
    assert made == picture.PICTURE.read_text(), "make it again: python -m lab.generators.picture"
    assert "](docs/report.svg)" in README and "redirects" in made and "fix:" in made and "#ff7b72" in made


def test_reading_comes_before_anything_that_writes() -> None:
    first = README.index("tunecheck preflight")
    assert all(first < README.index(later) for later in ("ansible-playbook site.yml", "make demo", "rollback.yml"))
    headings = re.findall(r"(?m)^#{2,3} (.+)$", README)
    assert "changes nothing" in headings[0]
    anchors = {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= anchors


def test_every_pasted_command_exists() -> None:
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            found = re.search(r"tunecheck (.+?)(?: <.*)?$", line)
            if found is None or "/tunecheck" not in line:
                continue
            verb, *options = shlex.split(found[1])
            command = cli.get_command(click.Context(cli), verb)
            assert command is not None, line
            known = {option for each in command.params for option in each.opts}
            assert {each for each in options if each.startswith("--")} <= known, line
    for lock in re.findall(r"requirements/\S+\.lock", README):
        assert (ROOT / lock).is_file()


def test_next_steps_can_be_pasted_after_the_install() -> None:
    """They begin with `tunecheck` or `sudo tunecheck`: the README says how both find it, and how to take that back."""
    start = README[:README.index("\n## What is proven")]
    link = re.search(r"sudo ln -s (\S+)/tunecheck (\S+)/`", start)
    assert link is not None and f"{link[1]}/pip install" in start, "of the environment that was made"
    # sudo's secure_path as Debian and Ubuntu ship it; Enterprise Linux has only the last four of these.
    secure = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    assert link[2] in secure and "Enterprise Linux: `/usr/bin/`" in start
    assert f"sudo rm {link[2]}/tunecheck" in start and "rm -r ~/tc" in start


def test_a_verb_that_is_typed_before_the_six_steps_needs_no_path() -> None:
    """What stands before the control node's environment is called by its path, or by what the link makes."""
    start = README[:README.index("## A real box, in six steps")]
    calls = re.findall(r"`((?:sudo )?\S*tunecheck [a-z]\S* [^`]*)`", start)
    assert calls and all("~/tc/bin/tunecheck" in call for call in calls), calls
    assert "`~/tc`" in README and "`.venv`" in README


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("rtx-")])
def test_the_line_that_leaves_a_word_out_is_the_profiles_list_without_it(name: str) -> None:
    """The line is to be copied below `box_spec:` of what `tunecheck init` writes, where it replaces a whole list."""
    (line,) = re.findall(r"(?m)^  kernel: \{cmdline: .*$", README)
    written = {"profile": name, "accelerators": {"count": 2}}
    drafted = yaml.safe_dump({"box_spec": written}).rstrip("\n") + f"\n{line}\n"
    made = files(Draft("box1", True, written), Login())["group_vars/inference.yml"]
    assert "\nbox_spec:\n  profile: " in made, "as far indented as the line"
    spec, plain = (build("box1", each).spec for each in (yaml.safe_load(drafted)["box_spec"], written))
    assert "pci=noacs" in plain.kernel.cmdline
    assert spec == replace(plain, kernel=replace(
        plain.kernel, cmdline=tuple(word for word in plain.kernel.cmdline if word != "pci=noacs")))
