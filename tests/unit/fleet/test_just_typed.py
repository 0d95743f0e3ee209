"""A command that is named as the next step is told from the one that runs now."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tunecheck_fleet.own_command import just_typed, own_command, remember


@click.group()
def cli() -> None:
    pass


@cli.command()
@click.option("--host")
@click.option("-v", "--verbose", is_flag=True)
@click.option("--store", callback=remember, envvar="TUNECHECK_STORE")
def drift(host: str | None, verbose: bool, store: str | None) -> None:
    for command in (own_command("drift --host {host} -v", host="a b"), own_command("drift --host {host}", host="a b"),
                    own_command("fleet --host {host} -v", host="a b")):
        click.echo(str(just_typed(command)))


@pytest.mark.parametrize(("typed", "same"), [
    (["--host", "a b", "-v"], [True, False, False]), (["--verbose", "--host=a b"], [True, False, False]),
    (["--host", "a b"], [False, True, False]), (["--host", "c", "-v"], [False, False, False]),
    (["--store", "x y", "-v", "--host", "a b"], [True, False, False])])
def test_the_same_command_is_found_in_whatever_way_it_was_typed(typed: list[str], same: list[bool]) -> None:
    found = CliRunner().invoke(cli, ["drift", *typed], prog_name="tunecheck", catch_exceptions=False)
    assert found.output.split() == [str(each) for each in same]


def test_outside_of_a_command_nothing_was_typed() -> None:
    assert not just_typed("tunecheck drift")
