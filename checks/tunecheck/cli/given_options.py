"""Options as they are given: one that takes one value and is given twice is refused, as click would drop the first one
silently; and so is one whose value is the next option."""

from __future__ import annotations

from collections import Counter

import click

from ..errors import Misuse, UsageError

__all__ = ["check_options"]


def check_options(context: click.Context, command: click.Command | None, arguments: list[str]) -> None:
    """Refuse an option with one value that is given twice, or that takes the next option for its value. ``arguments``:
    those of ``command``; of a group, those of its verb. UsageError names the option."""
    arguments = list(arguments)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        command = command.get_command(context, arguments.pop(0))
    if command is None or isinstance(command, click.Group):
        return
    try:
        with click.Context(command, parent=context, info_name=command.name) as own:
            values, _, order = command.make_parser(own).parse_args(arguments)
    except click.UsageError:
        return      # said in click's own words, when the command is run
    names = {name for each in command.params if isinstance(each, click.Option) for name in each.opts}
    for option in order:
        value = values.get(option.name or "")
        if isinstance(option, click.Option) and isinstance(value, str) and value in names:
            name = max(option.opts, key=len)
            raise UsageError(f"{name} takes {option.metavar or 'a value'}, and {value} stands behind it; expected "
                             f"{name} {option.metavar or 'VALUE'} {value} ...", Misuse.LEFT_OUT)
    for option, count in Counter(order).items():
        if count > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count):
            name = max(option.opts, key=len)
            more = "; put the files into one folder, and give that" if name == "--from" else ""
            raise UsageError(f"{name} is given {count} times; expected once{more}", Misuse.DOES_NOT_BELONG)
