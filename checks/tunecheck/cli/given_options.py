"""Options as they are given: one that takes one value and is given twice is refused, as click would drop the first one
silently; so is one whose value is the next option, and a long one with one dash, which click reads as letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from ..errors import Misuse, UsageError

__all__ = ["check_dashes", "check_options"]

#: What lifts a guard, sends a secret or acts: it is never proposed for a word that only looks like it.
_OVERRIDES = frozenset(("--force", "--after-reset", "--act", "--allow-plain-http", "--raw", "--new", "--behind-proxy"))

_COLOURS = frozenset(("--color", "--no-color", "--colour", "--no-colour", "--colors", "--ansi", "--no-ansi"))
_OUTPUT = ("--output", "--json", "--html")
#: What other programs call an option -> what it may be called here: those that the verb has are named.
_MEANT = {"-o": _OUTPUT, "--out": _OUTPUT, "--output": _OUTPUT, "--output-file": _OUTPUT, "-l": ("--limit",),
          "-f": ("--from",), "--file": ("--from",), "--input": ("--from",), "-i": ("--inventory", "--from"),
          "-j": ("--json",), "--format": ("--json",), "-H": ("--host",), "-t": ("--timeout",)}
#: Options whose value is a place begin so in their help.
_PLACES = ("FILE", "DIR", "PATH", "FOLDER", "[FILE")


def check_dashes(command: click.Command, context: click.Context, arguments: Sequence[str], near: bool = False) -> None:
    """Refuse a long option of ``command`` that has one dash: `-from x`, `-host` (to click: `-h` and more). ``near``:
    also what only looks like one, for arguments that click refuses. UsageError names the option with both dashes."""
    own = [name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)]
    known = [name for name in own if name.startswith("--")]
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if len(name) < 3 or not name.startswith("-") or name.startswith("--"):
            continue
        meant = [f"-{name}"] if f"-{name}" in known else []
        if near and not meant:
            from ..util.suggestions import nearest

            meant = nearest(f"-{name}", known)
        if meant:
            from ..util.suggestions import did_you_mean

            raise UsageError(f"{name[:60]} has one dash, and a long option has two; {did_you_mean(meant)}",
                             Misuse.NO_SUCH)


def _check_guess(context: click.Context, error: click.NoSuchOption) -> None:
    """Refuse in our own words where click's guess would do harm: who meant --from does not type --force."""
    verb = context.command_path
    if error.option_name == "--from":
        raise UsageError(f"`{verb}` takes no --from; outputs and recordings of one machine are judged by `tunecheck "
                         "preflight --from PATH`; of many, make a snapshot of each, `mkdir -p FOLDER && tunecheck "
                         "snapshot --from PATH --json FOLDER/HOST.json`, then `tunecheck audit --from FOLDER`",
                         Misuse.NO_SUCH)
    if error.option_name in _COLOURS:
        raise UsageError(f"`{verb}` has no option {error.option_name}; a pipe gets no colours, and a terminal none "
                         f"either with: NO_COLOR=1 {verb}", Misuse.NO_SUCH)
    known = {name: each for each in context.command.params if isinstance(each, click.Option) for name in each.opts}
    meant = [f"{name} {known[name].metavar or ''}".rstrip() for name in _MEANT.get(error.option_name, ())
             if name in known]
    if meant:
        from ..util.suggestions import did_you_mean

        raise UsageError(f"`{verb}` has no option {error.option_name}; {did_you_mean(meant)}", Misuse.NO_SUCH)
    if _OVERRIDES.intersection(error.possibilities or ()):
        raise UsageError(f"`{verb}` has no option {error.option_name[:60]}; `{verb} --help` lists them", Misuse.NO_SUCH)


def _words(value: object) -> tuple[str, ...]:
    """Return the words that were given for one argument."""
    given = value if isinstance(value, tuple) else (value,)
    return tuple(each for each in given if isinstance(each, str))


def check_options(context: click.Context, command: click.Command | None, arguments: list[str]) -> None:
    """Refuse an option with one value that is given twice, or that takes the next option for its value, and a word that
    is empty. ``arguments``: those of ``command``; of a group, those of its verb. UsageError names the option."""
    arguments = list(arguments)
    path = f"{context.command_path} {command.name if command else ''}"
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        path += f" {arguments[0]}"
        command = command.get_command(context, arguments.pop(0))
    if command is None:
        return
    with click.Context(command, parent=context, info_name=command.name) as own:
        if isinstance(command, click.Group):
            check_dashes(command, own, arguments[:1], near=True)
            return
        check_dashes(command, own, arguments)
        try:
            values, _, order = command.make_parser(own).parse_args(list(arguments))
        except click.UsageError as error:
            check_dashes(command, own, arguments, near=True)
            if isinstance(error, click.NoSuchOption):
                _check_guess(own, error)
            return      # said in click's own words, when the command is run
    names = {name for each in command.params if isinstance(each, click.Option) for name in each.opts}
    for option in order:
        value = values.get(option.name or "")
        if isinstance(option, click.Option) and isinstance(value, str) and value in names:
            name = max(option.opts, key=len)
            raise UsageError(f"{name} takes {option.metavar or 'a value'}, and {value} stands behind it; expected "
                             f"{name} {option.metavar or 'VALUE'} {value} ...", Misuse.LEFT_OUT)
        place = isinstance(option, click.Option) and (option.metavar or "").startswith(_PLACES)
        if place and isinstance(value, str) and not value.strip():
            name = max(option.opts, key=len)
            raise UsageError(f"{name} is empty; expected {name} {(option.metavar or '').strip('[]')}, or leave it out",
                             Misuse.MALFORMED)
        if isinstance(option, click.Argument) and not all(each.strip() for each in _words(value)):
            wanted = option.metavar or (option.name or "").upper()
            raise UsageError(f"an empty word stands where `{path}` expects {wanted}; what that may be: {path} --help",
                             Misuse.LEFT_OUT)
    for option, count in Counter(order).items():
        if count > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count):
            name = max(option.opts, key=len)
            more = "; put the files into one folder, and give that" if name == "--from" else ""
            raise UsageError(f"{name} is given {count} times; expected once{more}", Misuse.DOES_NOT_BELONG)
