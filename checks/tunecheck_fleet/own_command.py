"""Commands of tunecheck that a verb of the fleet prints, so that they ask the history that the verb was asked about."""

from __future__ import annotations

import re
import shlex

import click

__all__ = ["just_typed", "own_command", "remember"]

_KEY = "tunecheck_fleet.store"
_FIELD = re.compile(r"\{([a-z]+)\}")
#: user:PASSWORD@ of an address.
_PASSWORD = re.compile(r"(://[^/@:]*):.*@")


def remember(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Callback of --store: keep what was typed. What the environment gives holds for the next command, too."""
    if value is not None and parameter.name is not None and \
            context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE:
        context.meta[_KEY] = value
    return value


def own_command(template: str, **values: object) -> str:
    """`tunecheck TEMPLATE`, with --store as it was typed, for a shell. ``{name}`` stands for a value: a host, group,
    fact or number, which may be a stranger's and is one word, whatever is in it. A password is never printed: its
    place holds ***."""
    words = _FIELD.sub(lambda found: shlex.quote(str(values[found.group(1)])), template)
    context = click.get_current_context(silent=True)
    typed = context.meta.get(_KEY) if context is not None else None
    return f"tunecheck {words}" if typed is None else f"tunecheck {words} --store {_quoted(typed)}"


def just_typed(command: str) -> bool:
    """Whether that is the command which runs now, with the same arguments, in whatever order they were typed."""
    context = click.get_current_context(silent=True)
    if context is None:
        return False
    verbs, words = context.command_path.split()[1:], shlex.split(command)[1:]
    if words[:len(verbs)] != verbs:
        return False
    again = context.command.make_context(context.info_name, words[len(verbs):], resilient_parsing=True)
    return again.params == context.params


def _quoted(typed: str) -> str:
    return shlex.quote(_PASSWORD.sub(r"\1:***@", typed))
