"""Help in groups, completion, the man page: they hold every verb and no wrong call."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from tunecheck.cli.completion import _PLACES, script
from tunecheck.cli.help_groups import EXAMPLES, GROUPS, MEANT, meant
from tunecheck.cli.main import cli
from tunecheck.cli.man import page
from tunecheck.errors import Misuse, UsageError
from tunecheck.rules.index import CHECKS

ROOT = Path(__file__).parents[3]
CONTEXT = click.Context(cli, info_name="tunecheck")
VERBS = cli.list_commands(CONTEXT)


def command_of(words: list[str]) -> click.Command:
    """The command of "recipe list"; fails where there is none."""
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group), words
        found = command.get_command(CONTEXT, word)
        assert found is not None, words
        command = found
    return command


def test_every_verb_is_in_one_group() -> None:
    assert sorted(verb for _, verbs in GROUPS for verb in verbs) == VERBS


def test_what_acts_on_a_box_stands_below_no_control_node() -> None:
    """`push` writes to /var/lib/tunecheck of the machine that it runs on, and its line says so."""
    (heading,) = [heading for heading, verbs in GROUPS if "push" in verbs]
    assert "control node" not in heading
    line = CliRunner().invoke(cli, ["--help"]).output.partition("\n  push")[2].partition("\n")[0]
    assert "/var/lib/tunecheck" in line


def test_help_fits_and_cuts_nothing() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).stdout
    assert "..." not in shown.partition("\n\n")[2] and max(map(len, shown.splitlines())) <= 80
    assert all(heading in shown for heading, _ in GROUPS)


@pytest.mark.parametrize("call", [call for call, _ in EXAMPLES])
def test_every_example_is_a_call_that_exists(call: str) -> None:
    words = shlex.split(call.removeprefix("sudo "))
    assert words[0] == "tunecheck"
    command = command_of(words[1:2])
    options = {option for each in command.params for option in each.opts}
    assert {word for word in words[2:] if word.startswith("-") and word != "-"} <= options


def test_what_is_meant_exists_and_no_verb_is_explained_away() -> None:
    for word, calls in MEANT.items():
        assert word not in VERBS
        for call in calls:
            words = call.split()
            command = command_of([each for each in words if not each.startswith("-")])
            known = {option for each in command.get_params(CONTEXT) for option in each.opts}
            assert {each for each in words if each.startswith("-")} <= known, call


@pytest.mark.parametrize(("typed", "says"), [
    ("list", "checks"), ("LS", "checks"), ("preflihgt", "preflight"), ("benchmrk", "p2p"), ("qqqq", ""),
    ("topology", "topo"), ("doctor", "preflight"), ("check", "preflight"),
])
def test_a_verb_that_is_none(typed: str, says: str) -> None:
    assert (meant(typed, VERBS)[:1] or [""])[0] == says
    error = CliRunner().invoke(cli, [typed]).exception
    assert isinstance(error, UsageError) and error.flaw is Misuse.NO_SUCH
    assert (f" {says}" if says else "--help") in str(error)


def test_a_verb_without_its_last_letter_is_named_beside_what_the_word_means() -> None:
    assert (meant("check", VERBS), meant("hosts", VERBS)) == (["preflight", "checks"], ["fleet", "host"])


@pytest.mark.parametrize(("words", "typed", "offers"), [
    ([], "pre", {"preflight"}), (["explain"], "acs-re", {"acs-redirect"}), (["topo"], "--fr", {"--from"}),
    (["explain"], "", {check.id for check in CHECKS}), (["recipe"], "li", {"list", "lint"}),
    (["spec", "show", "-i", str(ROOT / "inventory/box1"), "--host"], "bo", {"box1"}),
    (["spec", "show", "-i", "/nowhere", "--host"], "", set()),
])
def test_completion(words: list[str], typed: str, offers: set[str]) -> None:
    found = ShellComplete(cli, {}, "tunecheck", "_TUNECHECK_COMPLETE").get_completions(words, typed)
    assert {each.value for each in found} == offers


def test_bash_reads_its_script_and_all_are_installed(tmp_path: Path) -> None:
    subprocess.run(["bash", "-n"], input=script("bash").encode(), check=True)
    done = CliRunner().invoke(cli, ["completion", "--install", str(tmp_path)])
    assert done.exit_code == 0
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {*_PLACES.values(), "man/man1/tunecheck.1"}
    rollback = (ROOT / "roles/preflight/tasks/remove.yml").read_text()
    assert [name for name in files if f"{{path: /usr/local/share/{name}, state: absent}}" not in rollback] == []
    wrong = CliRunner().invoke(cli, ["completion", "--install", "/proc/x"])
    assert isinstance(wrong.exception, UsageError) and wrong.exception.flaw is Misuse.UNWRITABLE
    assert CliRunner().invoke(cli, ["completion"]).exit_code != 0


def test_the_man_page_has_every_verb_and_is_roff() -> None:
    text = page()
    assert [verb for verb in VERBS if f"\n.SS tunecheck {verb}" not in text] == []
    assert "\\-\\-from" in text and ".SH EXIT STATUS\n0 pass" in text
    assert not re.findall(r"(?m)^(?!\.(?:TH|SH|SS|TP|B|PP)\b)[.'].*", text)


def test_make_alone_is_help() -> None:
    done = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory"], capture_output=True, text=True, check=True)
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())) - {"help"}
    assert [target for target in targets if target not in done.stdout] == []


def test_the_list_of_checks_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(cli, ["checks"]).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert {check.id for check in CHECKS} <= {line.split()[0] for line in lines if line.strip()}
