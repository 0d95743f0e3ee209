"""An option that takes one value and is given twice is refused: click would drop the first one silently."""

from __future__ import annotations

from collections import Counter

import click

from ..errors import UsageError

__all__ = ["check_given_once"]


def check_given_once(context: click.Context, command: click.Command | None, arguments: list[str]) -> None:
    """Refuse an option with one value that is given twice. ``arguments``: those of ``command``; of a group, those of
    its verb. UsageError names the option."""
    arguments = list(arguments)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        command = command.get_command(context, arguments.pop(0))
    if command is None or isinstance(command, click.Group):
        return
    try:
        with click.Context(command, parent=context, info_name=command.name) as own:
            _, _, order = command.make_parser(own).parse_args(arguments)
    except click.UsageError:
        return      # said in click's own words, when the command is run
    for option, count in Counter(order).items():
        if count > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count):
            name = max(option.opts, key=len)
            more = "; put the files into one folder, and give that" if name == "--from" else ""
            raise UsageError(f"{name} is given {count} times; expected once{more}")
