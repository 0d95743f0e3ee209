"""Commands of tunecheck that a verb of the fleet prints, so that they ask the history that the verb was asked about."""

from __future__ import annotations

import re
import shlex

import click

__all__ = ["own_command", "remember"]

_KEY = "tunecheck_fleet.store"
#: user:PASSWORD@ of an address.
_PASSWORD = re.compile(r"(://[^/@:]*):.*@")


def remember(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Callback of --store: keep what was typed. What the environment gives holds for the next command, too."""
    if value is not None and parameter.name is not None and \
            context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE:
        context.meta[_KEY] = value
    return value


def own_command(words: str) -> str:
    """`tunecheck WORDS`, with --store as it was typed, quoted for a shell. A password is never printed: its place
    holds ***."""
    context = click.get_current_context(silent=True)
    typed = context.meta.get(_KEY) if context is not None else None
    return f"tunecheck {words}" if typed is None else f"tunecheck {words} --store {_quoted(typed)}"


def _quoted(typed: str) -> str:
    return shlex.quote(_PASSWORD.sub(r"\1:***@", typed))
