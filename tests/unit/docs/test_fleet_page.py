"""docs/fleet.md: every command on it is one, every verb of the fleet is on it, and so is every exit code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tunecheck.cli.main import cli
from tunecheck_fleet.cli.audit import audit
from tunecheck_fleet.judge import FAIL_ON

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/fleet.md").read_text()
COMMANDS = [line[line.index("tunecheck "):] for block in re.findall(r"^```\n(.*?)^```", PAGE, re.M | re.S)
            for line in block.splitlines()]
FLEET = ("audit", "drift", "blame", "history", "waive", "export")


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one(line: str) -> None:
    command: click.Command = cli
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            break
        command, words = found, words[1:]
    command.make_context(command.name, words)       # refuses an unknown option, argument or choice


def test_every_verb_of_the_fleet_is_used() -> None:
    assert [verb for verb in FLEET if not any(line.startswith(f"tunecheck {verb} ") for line in COMMANDS)] == []
    fleet = cli.get_command(click.Context(cli), "fleet")
    assert isinstance(fleet, click.Group)
    assert [verb for verb in fleet.commands if not any(line.startswith(f"tunecheck fleet {verb}") for line in COMMANDS)
            and f"`tunecheck fleet {verb}`" not in PAGE] == []


def test_every_option_that_it_names_exists() -> None:
    verbs = [cli.get_command(click.Context(cli), verb) for verb in (*FLEET, "snapshot", "ingest")]
    known = {option for verb in verbs if verb for each in verb.params for option in each.opts} | {"--check", "--diff"}
    assert sorted(set(re.findall(r"`(--[a-z-]+)", PAGE)) - known) == []


def test_the_exit_codes_are_those_of_the_help() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE))
    assert list(rows) == ["0", "1", "2", "3", "130", "143"]
    assert all(f"`{word}`" in rows["1"] or f"--fail-on {word}" in rows["1"] for word in FAIL_ON)
    shown = " ".join((audit.help or "").split())
    for code in ("1", "2", "3", "130", "143"):
        assert f"{code}:" in shown or f"code {code}:" in shown


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).is_file(), target
