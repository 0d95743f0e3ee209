"""An option that stands before another verb below a verb is heeded or refused, and never passed over in silence."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.unit.refusing import refused

from tunecheck.cli.main import cli
from tunecheck.errors import Misuse

_ROOT = click.Context(cli)
_GROUPS = {name: group for name in cli.list_commands(_ROOT)
           if isinstance(group := cli.get_command(_ROOT, name), click.Group)}
#: Verb, option, verb below it, whether that one takes it over.
_CASES = [(name, option, below, option.name in {each.name for each in verb.params} and option.name in (
    "store_url", "state")) for name, group in _GROUPS.items() for option in group.params
    for below, verb in group.commands.items()]


def _args(option: click.Parameter, tmp_path: Path) -> list[str]:
    assert isinstance(option, click.Option)
    if option.is_flag:
        return [option.opts[0]]
    if isinstance(option.type, click.Choice):
        return [option.opts[0], str(option.type.choices[0])]
    return [option.opts[0], "1" if isinstance(option.type, click.IntRange) else str(tmp_path / "none")]


@pytest.mark.parametrize(("group", "option", "below", "heeded"), _CASES,
                         ids=lambda each: each.name if isinstance(each, click.Parameter) else str(each))
def test_it_is_heeded_or_refused(group: str, option: click.Parameter, below: str, heeded: bool, tmp_path: Path,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    args = [group, *_args(option, tmp_path), below, "--help"]
    if heeded:
        assert CliRunner().invoke(cli, args).exit_code == 0
        return
    with refused(Misuse.DOES_NOT_BELONG, max(option.opts, key=len), below):
        CliRunner().invoke(cli, args, catch_exceptions=False)


def test_there_are_such_verbs_and_what_comes_from_the_environment_is_no_mistake(monkeypatch: pytest.MonkeyPatch,
                                                                               tmp_path: Path) -> None:
    assert {group for group, *_ in _CASES} >= {"fleet", "ingest"} and any(heeded for *_, heeded in _CASES)
    monkeypatch.setenv("TUNECHECK_STORE", str(tmp_path / "none"))
    monkeypatch.setenv("TUNECHECK_WEBHOOK", "https://hooks.example.org/x")
    for below in ("hosts", "doctor"):
        assert CliRunner().invoke(cli, ["fleet", below, "--help"]).exit_code == 0
