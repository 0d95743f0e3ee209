"""docs/rollout.md: the variables of the rollout with their defaults, and no other; the forks."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

from tunecheck.spec.variables import PLAYS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/rollout.md").read_text()
#: The play, and the files that it includes.
PLAY = "".join((ROOT / "playbooks" / name).read_text()
               for name in ("provision.yml", "tasks/unfinished.yml", "tasks/before_writing.yml"))


def test_every_variable_stands_there_with_its_default() -> None:
    shown = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\|", PAGE, re.MULTILINE))
    assert set(shown) == {name for name in PLAYS if name.startswith("provision_")}
    for name, default in shown.items():
        assert (f"{name} | default({default.strip('`')})" in PLAY) if default else (f"{name} | default" not in PLAY)


def test_the_forks_are_those_of_the_configuration() -> None:
    read = configparser.ConfigParser()
    read.read(ROOT / "ansible.cfg")
    assert f"`ansible.cfg` ({read['defaults']['forks']})" in PAGE


def test_the_readme_leads_there() -> None:
    assert "(docs/rollout.md)" in (ROOT / "README.md").read_text()
