"""An option with one value that is given twice, or has the next option for its value, is refused by every verb."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tunecheck.cli.complaints import meant_by
from tunecheck.cli.main import cli
from tunecheck.errors import Misuse, UsageError


def _parameters() -> list[tuple[tuple[str, ...], click.Parameter]]:
    context, found = click.Context(cli), []
    for verb in cli.list_commands(context):
        command = cli.get_command(context, verb)
        assert command is not None
        below: list[tuple[str, ...]] = [(verb,)]
        if isinstance(command, click.Group):
            below = [(verb, name) for name in command.list_commands(context)]
        for names in below:
            last = command.get_command(context, names[1]) if isinstance(command, click.Group) else command
            assert last is not None
            found += [(names, each) for each in last.params]
    return found


OPTIONS = [(names, each) for names, each in _parameters() if isinstance(each, click.Option)]
WORDED = sorted({names for names, each in _parameters() if isinstance(each, click.Argument)})


@pytest.mark.parametrize(("names", "option"), OPTIONS,
                         ids=[f"{' '.join(names)} {each.opts[-1]}" for names, each in OPTIONS])
def test_an_option_given_twice(names: tuple[str, ...], option: click.Option) -> None:
    if option.is_flag or option.count or option.multiple or option.nargs != 1:
        pytest.skip("may be given again")
    name = max(option.opts, key=len)
    done = CliRunner().invoke(cli, [*names, name, "1", name, "2"])
    assert isinstance(done.exception, UsageError) and re.search(rf"(^|\W){name} .* 2 ", str(done.exception))


@pytest.mark.parametrize(("names", "option"), OPTIONS,
                         ids=[f"{' '.join(names)} {each.opts[-1]}" for names, each in OPTIONS])
def test_an_option_takes_no_other_for_its_value(names: tuple[str, ...], option: click.Option) -> None:
    if option.is_flag or option.count or option.nargs != 1 or option.multiple or option._flag_needs_value:
        pytest.skip("needs no value, or takes several")
    name = max(option.opts, key=len)
    done = CliRunner().invoke(cli, [*names, name, name])
    assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.LEFT_OUT
    assert f"{name} takes " in str(done.exception)


@pytest.mark.parametrize(("names", "option"), OPTIONS,
                         ids=[f"{' '.join(names)} {each.opts[-1]}" for names, each in OPTIONS])
def test_a_long_option_with_one_dash_is_told_both(names: tuple[str, ...], option: click.Option) -> None:
    for name in (*option.opts, *option.secondary_opts):
        for typed in (name[1:], f"{name[1:]}=1") if name.startswith("--") else ():
            done = CliRunner().invoke(cli, [*names, typed, "1"])
            assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.NO_SUCH
            assert f"did you mean {name}?" in str(done.exception)


@pytest.mark.parametrize(("arguments", "name"), [
    (("-version",), "--version"), (("-help",), "--help"), (("spec", "-help"), "--help"), (("topo", "-help"), "--help"),
    (("preflight", "-form", "x"), "--from"), (("topo", "-jsno", "x"), "--json")])
def test_a_word_with_one_dash_that_is_nearly_an_option(arguments: tuple[str, ...], name: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, UsageError) and f"did you mean {name}?" in str(done.exception)


@pytest.mark.parametrize("arguments", [("topo", "-vv", "--from", "/dev/null"), ("audit", "-iinventory")])
def test_short_options_stay_together(arguments: tuple[str, ...]) -> None:
    assert "one dash" not in str(CliRunner().invoke(cli, arguments).exception)


@pytest.mark.parametrize("names", sorted({names for names, each in OPTIONS if "--from" in each.opts
                                          and each.metavar == "PATH"}), ids=" ".join)
def test_a_text_without_its_option_is_told_the_option_and_one_folder(names: tuple[str, ...]) -> None:
    for arguments in (["a.log", "b.log", "c.log"], ["--from", "a.log", "b.log", "c.log"]):
        done = CliRunner().invoke(cli, [*names, *arguments], standalone_mode=False)
        if not isinstance(done.exception, click.UsageError):
            pytest.skip("takes files of its own")
        assert " --from FOLDER" in meant_by(done.exception), names


@pytest.mark.parametrize(("arguments", "option"), [
    (("history", "box1"), "--host box1"), (("drift", "box1"), "--host box1"), (("audit", "inventory/box1"), "-i PATH")])
def test_a_host_and_an_inventory_without_their_option_are_told_it(arguments: tuple[str, ...], option: str) -> None:
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert isinstance(done.exception, click.UsageError) and option in meant_by(done.exception)


@pytest.mark.parametrize("typed", ["--forec", "--froce", "--from"])
@pytest.mark.parametrize("verb", ["p2p", "allreduce", "trial"])
def test_what_lifts_a_guard_is_never_proposed(verb: str, typed: str) -> None:
    done = CliRunner().invoke(cli, [verb, typed, "two.txt"])
    assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.NO_SUCH
    assert "--force" not in f"{done.output}{done.exception}"
    assert ("preflight --from PATH" in str(done.exception)) is (typed == "--from")


@pytest.mark.parametrize(("arguments", "says"), [
    (("topo", "--no-color"), "NO_COLOR=1 tunecheck topo"),
    (("preflight", "--colour"), "NO_COLOR=1 tunecheck preflight"),
    (("audit", "--color=always"), "NO_COLOR=1 tunecheck audit"),
    (("snapshot", "-o", "s.json"), "did you mean --json FILE"),
    (("topo", "-o", "t.html"), "--json [FILE] or --html FILE"), (("audit", "-i", "x", "-l", "gpu9"), "--limit PATTERN"),
    (("topo", "-f", "x"), "--from PATH")])
def test_an_option_of_other_programs_is_told_its_name_here(arguments: tuple[str, ...], says: str) -> None:
    done = CliRunner().invoke(cli, arguments, prog_name="tunecheck")
    assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.NO_SUCH
    assert says in str(done.exception)


@pytest.mark.parametrize(("names", "option"), OPTIONS,
                         ids=[f"{' '.join(names)} {each.opts[-1]}" for names, each in OPTIONS])
def test_an_empty_place_is_refused_and_named(names: tuple[str, ...], option: click.Option) -> None:
    if not (option.metavar or "").startswith(("FILE", "DIR", "PATH", "FOLDER", "[FILE")) or option.multiple:
        pytest.skip("takes no place")
    name = max(option.opts, key=len)
    done = CliRunner().invoke(cli, [*names, f"{name}="])
    assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.MALFORMED
    assert f"{name} is empty; expected {name} " in str(done.exception)


@pytest.mark.parametrize("word", ["", "  "])
@pytest.mark.parametrize("names", WORDED, ids=" ".join)
def test_an_empty_word_is_refused_by_every_verb(names: tuple[str, ...], word: str) -> None:
    """As a variable of a script that holds nothing: "$CHECK"."""
    done = CliRunner().invoke(cli, [*names, word], prog_name="tunecheck")
    assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.LEFT_OUT
    assert f"`tunecheck {' '.join(names)}`" in str(done.exception) and done.stdout == ""


def test_several_files_behind_from_are_all_named(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a 1.txt", "b.txt", "c.txt")]
    for file in files:
        Path(file).write_text("x")
    done = CliRunner().invoke(cli, ["topo", "--from", *files[:2]], standalone_mode=False)
    assert isinstance(done.exception, click.UsageError)
    assert f"cp '{files[0]}' {files[1]} texts && " in meant_by(done.exception)
