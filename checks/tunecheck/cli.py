"""The `tunecheck` command: flat verbs. Exit codes: 0 pass, 1 a check failed, 2 bad usage or spec, 3 could not
determine. Heavy things are imported where they are used: start-up is part of every verb's price."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from . import __version__
from .cli_check import check, options
from .errors import SpecError, TunecheckError

__all__ = ["main"]

_INTERRUPTED = 130


class _Verbs(click.Group):
    """Loads these verbs, each from its own file, only when they are asked for: start-up time."""

    later = ("allreduce", "p2p", "record", "snapshot", "spec", "trial")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self.later])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.later:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(import_module(f".cli_{cmd_name}", __package__), cmd_name)
        return found


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tunecheck")
def cli() -> None:
    """Prove that an inference host really is what its specification says.

    Exit codes: 0 pass, 1 a check failed, 2 bad usage or spec, 3 could not determine, 4 a trial hung.
    """


@cli.command()
@options
def topo(**given: Any) -> None:
    """Show the PCIe tree, links, ACS and relations."""
    check("topo", **given)


@cli.command()
@options
@click.option("--trial", is_flag=True, help="Judge only what a trial boot has to prove.")
def host(**given: Any) -> None:
    """Check command line, IOMMU, ACS, modules, CPU."""
    check("host", **given)


@cli.command()
@options
@click.option("--full", is_flag=True, help="Also measure, as p2p and allreduce do, with a soak of 60 s.")
def preflight(full: bool, **given: Any) -> None:
    """Check everything that topo and host check."""
    if full:
        from .cli_trials import full_preflight

        full_preflight(**given)
    check("preflight", **given)


@cli.command()
def checks() -> None:
    """List the checks."""
    from .rules import RULES

    for rule in RULES:
        click.echo(f"{rule.id:<21}{rule.summary}")


@cli.command()
@click.argument("check_id", metavar="CHECK")
def explain(check_id: str) -> None:
    """Print what a check means and how to fix it."""
    from .docs_pages import page

    click.echo(page(check_id), nl=False)


def main() -> None:
    """Entry point: run a verb, turn every error into one sentence and an exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:      # started with it closed (`>&-`)
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open to the end
        # Never fail on a character that the terminal's encoding lacks.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="tunecheck", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        click.echo("tunecheck: interrupted; nothing was changed", err=True)
        sys.exit(_INTERRUPTED)
    except SpecError as error:
        for problem in error.problems:
            click.echo(f"tunecheck: {problem}", err=True)
        sys.exit(error.exit_code)
    except TunecheckError as error:
        click.echo(f"tunecheck: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
