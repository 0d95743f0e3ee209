"""The `tunecheck` command: flat verbs. Exit codes: 0 pass, 1 a check failed, 2 bad usage or spec, 3 could not
determine. Heavy things are imported where they are used: start-up is part of every verb's price."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..app.evaluate import check
from ..errors import CONTROL_NODE, Misuse, SpecError, TunecheckError, UsageError
from ..util import interrupt
from . import completed
from .complaints import complain, defect, meant_by, of_control_node
from .fleet_verbs import FLEET_VERBS, fleet_installed, fleet_verb
from .given_options import check_dashes, check_options
from .shared_options import HISTORY, options
from .streams import Errors, Output, arrived, whole

__all__ = ["interrupted", "main"]

#: Could not be determined: a defect of this program says nothing about the box.
_UNDETERMINED = 3


class _Verbs(click.Group):
    """Loads these verbs, each from its own file, only when they are asked for: start-up time."""

    later = ("accept", "allreduce", "completion", "gate", "init", "man", "p2p", "pins", "push", "recipe", "record",
             "recover", "snapshot", "spec", "trial", "watch")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self.later, *(FLEET_VERBS if fleet_installed() else ())])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in FLEET_VERBS:
            return fleet_verb(cmd_name)
        if cmd_name not in self.later:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs in groups, each with its whole first line, and calls to copy."""
        from .help_groups import examples, groups

        offered = self.list_commands(ctx)
        for heading, verbs in groups(offered):
            with formatter.section(heading):
                found = [(verb, self.get_command(ctx, verb)) for verb in verbs]
                formatter.write_dl([(verb, command.get_short_help_str(200)) for verb, command in found if command])
        with formatter.section("Examples"):
            formatter.write_dl(examples(offered), col_max=40)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        check_dashes(self, ctx, args[:1], near=True)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from ..util.suggestions import did_you_mean
            from .help_groups import meant

            near = meant(args[0], sorted({*self.list_commands(ctx), *FLEET_VERBS}))
            hint = did_you_mean(near) or "`tunecheck --help` lists them"
            raise UsageError(f"No such command {args[0][:60]!r}; {hint}", Misuse.NO_SUCH)
        name, command, rest = super().resolve_command(ctx, args)
        check_options(ctx, command, rest)
        return name, command, rest


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tunecheck")
def cli() -> None:
    """Prove that an inference host really is what its specification says.

    Exit codes: 0 pass (also with warnings), 1 a check failed, 2 bad usage or spec, 3 could not determine, 4 a trial
    hung. A pipe gets one line for each cause, with -v one per finding; COLUMNS=80 keeps the terminal's form. NO_COLOR=1
    leaves out colours.
    """


@cli.command()
@options
def topo(**given: Any) -> None:
    """Show the PCIe tree, links, ACS and relations."""
    check("topo", **given)


@cli.command()
@options
@HISTORY
@click.option("--trial", is_flag=True, help="Judge only what a trial boot has to prove.")
def host(**given: Any) -> None:
    """Check command line, IOMMU, ACS, modules, CPU."""
    check("host", **given)


@cli.command()
@options
def driver(**given: Any) -> None:
    """Check the NVIDIA driver: versions, holds, the next boot."""
    check("driver", **given)


@cli.command()
@options
def runtime(**given: Any) -> None:
    """Check what gives containers their GPUs."""
    check("runtime", **given)


@cli.command()
@options
@HISTORY
@click.option("--full", is_flag=True, help="Also measure: every pair, all-reduces of every subset size, a soak.")
@click.option("--quick", is_flag=True, help="Also measure, in short: every pair, all ranks, a soak of 2 s.")
@click.option("--if-needed", is_flag=True, help="With --full or --quick: only where no measured pass still holds.")
@click.option("--soak", metavar="TIME", help="Of --full: 60s (the default), 10m; 0: none.")
@click.option("--evidence", metavar="DIR", help="Where a stall leaves its bundle; default: here, with --pass "
              "without FILE in /var/lib/tunecheck/evidence.")
@click.option("--pass", "pass_file", is_flag=False, flag_value="/run/tunecheck/pass.json", metavar="[FILE]",
              help="Leave the passes that tunecheck gate asks for; measure where the spec's gate.measured wants it.")
def preflight(full: bool, quick: bool, if_needed: bool, soak: str | None, evidence: str | None, pass_file: str | None,
              **given: Any) -> None:
    """Check everything that topo, host, driver and runtime check."""
    if full and quick:
        raise UsageError("--full and --quick exclude each other: drop one of them", Misuse.DOES_NOT_BELONG)
    if if_needed and not (full or quick):
        raise UsageError("--if-needed says when to measure: give --full or --quick with it", Misuse.LEFT_OUT)
    if soak is not None and not full:
        raise UsageError("--soak is how long --full repeats all-reduces: give --full with it, or leave it out",
                         Misuse.LEFT_OUT)
    if pass_file == "":
        raise UsageError("--pass is empty: give a file, or leave it out for /run/tunecheck/pass.json", Misuse.MALFORMED)
    if (full or quick or pass_file is not None) and given.pop("history"):
        raise UsageError("--history lists what was before this boot and measures nothing: run it without --full, "
                         "--quick and --pass", Misuse.DOES_NOT_BELONG)
    if full or quick or pass_file is not None:
        from ..app.measured_preflight import measuring

        measuring("full" if full else "quick" if quick else None, if_needed, "60s" if soak is None else soak, evidence,
                  pass_file, **given)
    if evidence is not None:
        raise UsageError("--evidence is for a stall: give --full, --quick or --pass with it, or leave it out",
                         Misuse.LEFT_OUT)
    check("preflight", **given)


@cli.command()
def checks() -> None:
    """List the checks by subject; without the headings: grep -v '^#'."""
    from itertools import groupby

    from ..report.style import style_for, wrap
    from ..rules.index import CHECKS

    for heading, below in groupby(CHECKS, lambda each: each.heading):
        click.echo(f"# {heading.value}")
        for each in below:
            for line in wrap(f"{each.id:<21}{each.summary}", style_for(sys.stdout).width, hang=21):
                click.echo(line)


@cli.command()
@click.argument("name", metavar="CHECK|WORD", nargs=-1, shell_complete=completed.checks)
@click.option("--markdown", is_flag=True, help="The page as it is written.")
@click.option("--list", "every", is_flag=True, help="The words that have a page; `tunecheck checks` lists the checks.")
def explain(name: tuple[str, ...], markdown: bool, every: bool) -> None:
    """Print what a check or a word of the field means and how to fix it.

    CHECK is a check's id; a WORD is PIX, PHB, GNS, "Xid 79", or the code of a finding in JSON. Several are explained
    one after the other."""
    from ..report.check_pages import WORDS, asked_for, page, summary

    if every:
        from ..report.style import style_for, wrap

        if name:
            raise UsageError("--list lists every word; leave out the word, or leave out --list", Misuse.DOES_NOT_BELONG)
        click.echo("\n".join(wrap(", ".join(WORDS), style_for(sys.stdout).width)))
        return
    if not name:
        raise UsageError("explain what? A check, which `tunecheck checks` lists, or a word of a report, such as PIX, "
                         "ACS or \"Xid 79\"; `tunecheck explain --list` has all words", Misuse.LEFT_OUT)

    texts, verbs = [], {*cli.list_commands(click.get_current_context()), *FLEET_VERBS}
    for asked in asked_for(name):
        also = f"`tunecheck {asked.lower()} --help`" if asked.lower() in verbs else ""
        try:
            text = page(asked)
        except UsageError:
            if also:
                raise UsageError(f"{asked} is a command and no check; what it does: {also.strip('`')}", Misuse.NO_SUCH
                                 ) from None
            raise
        if also:
            text += f"\nIt is a command, too: {also}\n"
        if not markdown and text.startswith("#"):
            from ..report.page import rendered
            from ..report.style import style_for

            text = rendered(text, style_for(sys.stdout), summary(asked))
        texts.append(text)
    click.echo("\n".join(texts), nl=False)


def main() -> None:
    """Entry point: run a verb, turn every error into one sentence and an exit code."""
    if sys.stderr is None:      # started with it closed (`2>&-`)
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open to the end
    # Never fail on a character that the terminal's encoding lacks.
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    stderr = sys.__stderr__
    if stderr is not None and sys.stderr is stderr:
        sys.stderr = Errors(whole(stderr.buffer), stderr.encoding, "backslashreplace", line_buffering=True)
    try:
        stdout = sys.stdout
        if stdout is None:
            # The next file to be opened would get its number, and the report.
            raise UsageError("standard output is closed, the report would be lost; to leave it out: >/dev/null",
                             Misuse.CLOSED)
        stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        unwrapped = stdout is sys.__stdout__
        if unwrapped:
            sys.stdout = Output(whole(stdout.buffer), stdout.encoding, "backslashreplace",
                                line_buffering=stdout.isatty())
        try:
            cli.main(prog_name="tunecheck", standalone_mode=False)
        except SystemExit:
            arrived()
            interrupt.check()       # one that a library has swallowed
            raise
        arrived()
        interrupt.check()
    except (KeyboardInterrupt, click.Abort):
        sys.exit(interrupted())
    except SpecError as error:
        for problem in error.problems:
            complain(problem)
        sys.exit(error.exit_code)
    except TunecheckError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        if meant := meant_by(error):
            click.echo(meant, err=True)
        sys.exit(error.exit_code)
    except Exception as error:
        if _is_interrupt(error):
            sys.exit(interrupted())
        if isinstance(error, ModuleNotFoundError) and of_control_node(error.name or ""):
            complain(f"this runs on the control node: {error.name} is missing here; {CONTROL_NODE}")
            sys.exit(UsageError.exit_code)
        defect(error)
        sys.exit(_UNDETERMINED)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it was raised because of Ctrl-C. Python makes a RuntimeError of whatever comes in __set_name__, so while
    a class is made (typeobject.c, type_new_set_names())."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def interrupted() -> int:
    """Say that Ctrl-C or SIGTERM has come, and what is left behind. Return the exit code."""
    from ..util.left_behind import left_behind

    interrupt.ending()
    complain(f"{interrupt.word()}; {left_behind()}")
    return interrupt.exit_code()
