"""The `tunecheck` command: flat verbs. Exit codes: 0 pass, 1 a check failed, 2 bad usage or spec, 3 could not
determine. Heavy things are imported where they are used: start-up is part of every verb's price."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from . import __version__
from .errors import SpecError, TunecheckError, UsageError

__all__ = ["main"]

_INTERRUPTED = 130


class _Verbs(click.Group):
    """Loads the `spec` group only when it is asked for: on the box it is never needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "spec"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "spec":
            from .cli_spec import spec

            return spec
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tunecheck")
def cli() -> None:
    """Prove that an inference host really is what its specification says.

    Exit codes: 0 pass, 1 a check failed, 2 bad usage or spec, 3 could not determine.
    """


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that topo, host and preflight share."""
    for option in (
        click.option("--record", metavar="FILE", help="Also keep everything that was read, for --from."),
        click.option("--from", "source", metavar="PATH",
                     help="Judge a recording, a bug report or a folder of command outputs, not this machine."),
        click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
                     help="Write JSON to FILE; without FILE to standard output, in place of the report."),
        click.option("--spec", "spec_file", metavar="FILE",
                     help="Judge against this spec, not /etc/tunecheck/spec.json."),
    ):
        command = option(command)
    return command


@cli.command()
@_options
def topo(**options: Any) -> None:
    """Show the PCIe tree, links, ACS and relations."""
    _check("topo", **options)


@cli.command()
@_options
@click.option("--trial", is_flag=True, help="Judge only what a trial boot has to prove.")
def host(**options: Any) -> None:
    """Check command line, IOMMU, ACS, modules, CPU."""
    _check("host", **options)


@cli.command()
@_options
def preflight(**options: Any) -> None:
    """Check everything that topo and host check."""
    _check("preflight", **options)


@cli.command()
def checks() -> None:
    """List the checks."""
    from .rules import RULES

    for rule in RULES:
        click.echo(f"{rule.id:<21}{rule.summary}")


@cli.command()
@click.argument("check")
def explain(check: str) -> None:
    """Print what a check means and how to fix it."""
    from .docs_pages import page

    click.echo(page(check), nl=False)


def _check(verb: str, spec_file: str | None, json_to: str | None, source: str | None, record: str | None,
           trial: bool = False) -> None:
    """Open the host, read, judge, report; leaves through SystemExit with the verdict's code."""
    from .facts.snapshot import gather
    from .facts.spec_file import read_spec
    from .report.document import document, to_text
    from .report.output import check_writable, write_file
    from .rules import Case, judge

    for path in (record, json_to):
        if path is not None and path != "-":
            check_writable(path)
    door, recording = _open(source, record)
    try:
        frozen = read_spec(door, spec_file, required=verb != "topo")
        case = Case(gather(door, frozen.spec if frozen else None, verb != "topo", verb != "host"), frozen, trial)
    finally:
        door.close()
    findings = judge(case, verb)
    result = document(verb, case, findings)
    if json_to == "-":
        _print(to_text(result))
    else:
        from .report.terminal import render, style_for

        _print(render(verb, case, findings, style_for(sys.stdout)))
    if json_to not in (None, "-"):
        write_file(str(json_to), to_text(result).encode())
        _print(f"JSON: {json_to}\n")
    if recording is not None and record is not None:
        write_file(record, recording.packed())
    raise SystemExit(result["exit_code"])


def _open(source: str | None, record: str | None) -> tuple[Any, Any]:
    """The host to ask, and the recorder where one was asked for."""
    if source is not None:
        if record is not None:
            raise UsageError("--record and --from exclude each other: there is a recording already; drop one of them")
        from .host.source import open_source

        door, note = open_source(source)
        if note:
            click.echo(f"tunecheck: {note}", err=True)
        return door, None
    from .host.live import LiveHost
    from .host.recording import RecordingHost

    door = LiveHost()
    if record is None:
        return door, None
    recorder = RecordingHost(door)
    return recorder, recorder


def _print(text: str) -> None:
    """Write to standard output; a reader that went away (`| head`) changes nothing about the verdict."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit, and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise UsageError(f"standard output cannot be written ({error.strerror})") from None


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
