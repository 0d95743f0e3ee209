"""What p2p, allreduce and trial share: their options, and the way from a trial to a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .cli_check import REPORTS
from .errors import UsageError

if TYPE_CHECKING:
    from .trials.session import Trial

__all__ = ["full_preflight", "numbers", "trial", "trial_options"]


def trial_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that p2p and allreduce share."""
    for option in (
        click.option("--after-reset", is_flag=True, help="The GPUs that a trial wedged were reset: run again."),
        click.option("--force", is_flag=True, help="Run although processes use the GPUs."),
        click.option("--evidence", metavar="DIR", default=".", help="Where a stall leaves its bundle; default: here."),
        click.option("--gpus", metavar="LIST", help="Only these, by the report's numbers: 0,1,4."),
        *REPORTS,
    ):
        command = option(command)
    return command


def numbers(text: str | None) -> list[int]:
    """``0,1,4`` as numbers."""
    if text is None:
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--gpus {text}: expected numbers separated by commas, as in --gpus 0,1") from None


def full_preflight(source: str | None, since: str | None, record: str | None, prometheus_to: str | None,
                   **given: Any) -> None:
    """``tunecheck preflight --full``: everything that is read, and everything that is measured."""
    from .trials.everything import everything

    if source is not None or since is not None or record is not None:
        raise UsageError("--full measures this machine: it goes with neither --from nor --since nor --record")
    trial("preflight", everything, prometheus_to=prometheus_to, **given)


def trial(verb: str, measure: Trial, spec_file: str | None, gpus: str | None = None, force: bool = False,
          after_reset: bool = False, evidence: str = ".", verbose: bool = False, pass_file: str | None = None,
          **outputs: str | None) -> None:
    """Look at the machine, measure, judge, report; leaves through SystemExit with the verdict's code."""
    import datetime

    from .cli_check import look, passing, say
    from .host.live import LiveHost
    from .report.line import LiveLine
    from .report.outputs import Run, check_outputs, rendered, to_standard_output, write_outputs

    wanted = {kind.removesuffix("_to"): place for kind, place in outputs.items()}
    check_outputs(wanted, None)
    chosen = numbers(gpus)
    leave = passing(pass_file, full=True)
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        click.echo("tunecheck: CUDA_VISIBLE_DEVICES is set and not followed: a trial measures all GPUs; choose with "
                   "--gpus", err=True)
    frozen, snapshot = look(verb, spec_file, None)
    from .report.document import document
    from .rules import Case, judge
    from .trials import session
    from .trials.progress import Shown

    line, alone = LiveLine(), to_standard_output(wanted)
    door = LiveHost()
    try:
        measured = session.run(door, snapshot, measure, chosen, force, after_reset, evidence,
                               None if alone else Shown(line))
    finally:
        line.erase()
        door.close()
    case = Case(snapshot, frozen, measured=measured)
    findings = judge(case, verb)
    run = Run(document(verb, case, findings), findings, datetime.datetime.now(datetime.UTC), "")
    if alone:
        text = rendered(alone, run)
    else:
        from .report.terminal import render, style_for

        text = render(verb, case, findings, style_for(sys.stdout), verbose)
    code = run.document["exit_code"]
    say(text, lambda: [*write_outputs(wanted, run), *leave(findings, code, frozen)], alone is not None)
    raise SystemExit(code)
