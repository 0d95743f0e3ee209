"""``tunecheck man``: the manual page, made of the same texts as --help."""

from __future__ import annotations

import re

import click

from .. import __version__

__all__ = ["man", "page"]


@click.command()
def man() -> None:
    """Print the manual page: tunecheck man | man -l -"""
    click.echo(page(), nl=False)


def page() -> str:
    """Return the page of section 1 as roff: every verb with every option, the examples, the exit codes."""
    from .help_groups import examples, groups
    from .main import cli

    context = click.Context(cli, info_name="tunecheck")
    offered = cli.list_commands(context)
    intro = (cli.help or "").split("\n\n")
    parts = [f'.TH TUNECHECK 1 "" "tunecheck {__version__}" "User Commands"', ".SH NAME",
             r"tunecheck \- prove that a GPU inference host is what its specification says",
             ".SH SYNOPSIS", ".B tunecheck", r"\fIVERB\fR [\fIOPTION\fR]...", ".SH DESCRIPTION", _text(intro[0])]
    parts += [".SH EXAMPLES", *(line for call, does in examples(offered)
                                      for line in (".TP", rf"\fB{_text(call)}\fR", _text(does)))]
    for heading, verbs in groups(offered):
        parts.append(f".SH {_text(heading).upper()}")
        for verb in verbs:
            command = cli.get_command(context, verb)
            assert command is not None
            parts += _command(command, f"tunecheck {verb}", context)
    parts += [".SH EXIT STATUS", _text(" ".join(" ".join(intro[1:]).split()).removeprefix("Exit codes: "))]
    return "\n".join(parts) + "\n"


def _command(command: click.Command, name: str, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context)).replace(" [ARGS]...", "")
    parts = [f".SS {_text(name)} {_text(usage)}", *(_text(" ".join(paragraph.split())) + "\n.PP"
                                                   for paragraph in (command.help or "").split("\n\n"))]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            parts += [".TP", rf"\fB{_text(record[0])}\fR", _text(record[1]) or r"\&"]
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            below = command.get_command(context, verb)
            if below is not None and not below.hidden:
                parts += _command(below, f"{name} {verb}", context)
    return parts


def _text(text: str) -> str:
    """Return plain text for roff: no line begins a request, a hyphen stays one that can be pasted."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)
