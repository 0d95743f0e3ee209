"""What the command says on standard error when a verb ends early: each once, for every verb."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..util.typed_path import typed_path

__all__ = ["complain", "defect", "meant_by", "of_control_node"]


def meant_by(error: click.ClickException) -> str:
    """Return a hint for what was typed without its option: `tunecheck history box1`, "did you mean --host box1?";
    `tunecheck preflight a.log b.log`: both belong into one folder for --from. "" for any other error."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or "unexpected extra argument" not in error.message:
        return ""
    options = {name for each in context.command.params if each.metavar in ("HOST", "PATH") for name in each.opts}
    named = error.message.rpartition("(")[2].rstrip(")")
    if "--host" in options:
        return f"did you mean --host {named}?" if " " not in named else ""
    if "--from" in options and (given := context.params.get("source")):
        files = [given, *named.split()]
        if all(Path(each).is_file() for each in files):
            copied = " ".join(map(typed_path, files))
            return ("--from takes one PATH; several files belong into one folder: mkdir texts && "
                    f"cp {copied} texts && {context.command_path} --from texts")
        return (f"--from takes one PATH, and {given} stands there; several files belong into one folder: "
                f"{context.command_path} --from FOLDER")
    if "--from" in options and Path(named).exists():
        return f"did you mean {context.command_path} --from {typed_path(named)}?"
    if "--from" in options:
        return ("a recording, a file or a folder with outputs is given as --from PATH; several files belong into one "
                f"folder: {context.command_path} --from FOLDER")
    return "an inventory is given as -i PATH" if "--inventory" in options else ""


def of_control_node(module: str) -> bool:
    """Return whether a module that is missing is one that only control nodes have: no part of tunecheck or of Python,
    and nothing that every box has."""
    from importlib.metadata import PackageNotFoundError, requires

    first = module.partition(".")[0]
    if first in {"", __package__.partition(".")[0]} or first in sys.stdlib_module_names:
        return False
    try:
        named = [each for each in requires("tunecheck") or () if "extra ==" not in each]
    except PackageNotFoundError:
        named = []
    return not any(each.lower().replace("-", "_").startswith(first.lower()) for each in named)


def defect(error: Exception) -> None:
    """Report an error that this program did not expect: it is no finding, and exit code 1 would say that a check
    failed."""
    import traceback

    if "TUNECHECK_TRACEBACK" in os.environ:
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" in {each.filename.rpartition('/')[2]}:{each.lineno}" for each in last)
    text = str(error).split("\n")[0][:200]
    complain(f"internal error: {type(error).__name__}{f' ({text})' if text else ''}{where}; nothing was determined. "
             "This is a defect of tunecheck: report it with the command; TUNECHECK_TRACEBACK=1 shows more")


def complain(problem: str) -> None:
    if sys.stderr.isatty():
        from ..report.style import fitted

        problem = fitted(f"tunecheck: {problem}", sys.stderr).removeprefix("tunecheck: ")
    click.echo(f"tunecheck: {problem}", err=True)
