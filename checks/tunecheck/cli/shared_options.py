"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable

import click

from .unread_input import from_option

__all__ = ["HISTORY", "REPORTS", "options", "trial_options"]

#: What every verb that ends in a report takes.
REPORTS = (
    click.option("--html", "html_to", metavar="FILE", help="Write a report for the browser, one file, offline."),
    click.option("--prometheus", "prometheus_to", metavar="FILE.prom",
                 help="Write metrics for node_exporter's textfile collector."),
    click.option("--junit", "junit_to", metavar="FILE", help="Write JUnit XML, for CI."),
    click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
                 help="Write JSON to FILE; without FILE to standard output, in place of the report."),
    click.option("--spec", "spec_file", metavar="FILE",
                 help="Judge against this spec, not /etc/tunecheck/spec.json."),
    click.option("-v", "--verbose", is_flag=True, help="Show every finding, also what was not judged."),
)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all checking verbs have."""
    for option in (
        click.option("--since", metavar="PATH",
                     help="Show counters as differences to an earlier recording or snapshot of the same host."),
        click.option("--record", metavar="FILE", help="Also keep what was read, without names, for --from."),
        from_option("PATH", "Judge a recording, a snapshot, a bug report, or a file or folder of command outputs (- "
                    "for standard input), not this machine."),
        *REPORTS,
    ):
        command = option(command)
    return command


#: Of the verbs that read the kernel log.
HISTORY = click.option("--history", is_flag=True, help="Also list what the kernel said of GPUs before this boot: the "
                       "journal's earlier boots, or those in what --from gives.")


def trial_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that the verbs which measure share."""
    for option in (
        click.option("--after-reset", is_flag=True, help="The GPUs that a trial wedged were reset: run again."),
        click.option("--force", is_flag=True, help="Run although processes use the GPUs."),
        click.option("--evidence", metavar="DIR", help="Where a stall leaves its bundle; default: here."),
        click.option("--gpus", metavar="LIST", help="Only these, by the report's numbers: 0,1,4."),
        *REPORTS,
    ):
        command = option(command)
    return command
