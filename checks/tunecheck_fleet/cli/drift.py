"""``tunecheck drift``: what changed lately, from the history alone."""

from __future__ import annotations

import time
from typing import Any

import click

from tunecheck.cli import completed

from .shared_options import judged

__all__ = ["drift"]


@click.command()
@click.option("--since", default="7d", show_default=True, metavar="TIME",
              help="From when on: 7d, 36h, 2026-11-01, or audit:12.")
@click.option("--host", metavar="HOST", shell_complete=completed.hosts, help="Only on this host.")
@click.option("--fact", metavar="FACT", help="Only this fact, or check; a family ends in a dot (kernel.cmdline.).")
@judged
@click.pass_context
def drift(context: click.Context, /, since: str, host: str | None, fact: str | None, store_url: str | None,
          baseline: str, verbose: bool, fail_on: tuple[str, ...], max_missing: str, **outputs: Any) -> None:
    """Show what changed since a day (--since, 7 days ago), over all audits from then on: on all hosts, on one, or of
    one fact. No box is asked.

    What is open from before is one line, unless -v, --host or --fact asks for it; it counts all the same. What stands
    is one line too.

    Exit codes as those of audit."""
    from click.core import ParameterSource

    from tunecheck.errors import Misuse, UsageError

    from .. import lookup
    from ..focus import focus
    from ..judge import JudgeOptions, allowed_missing, report
    from ..which_audit import as_left, newest_heard, newest_with
    from .shared_options import check_places, finish, opened
    from .time_options import since as moment

    wanted = check_places(outputs)
    allowed_missing(max_missing, 1)
    if baseline.startswith("audit:") and context.get_parameter_source("since") is ParameterSource.COMMANDLINE:
        raise UsageError(f"--baseline {baseline[:80]} and --since {since[:80]} both say what to compare with: drop one "
                         "of them", Misuse.DOES_NOT_BELONG)
    options = JudgeOptions(baseline=baseline, since=moment(since, "--since", time.time()), union=host is None)
    with opened(store_url) as store:
        if host is not None:
            lookup.host(store, host)
        if fact is not None and not lookup.check(fact):
            lookup.fact(store, fact, host)
        audit = newest_with(store, host) if host is not None else newest_heard(store)[0]
        found = report(store, audit, options, host, any(wanted.values()))
        found = focus(found, host, fact)
        if host is not None:
            found = as_left(store, found, host)
    finish(found, wanted, verbose, fail_on, max_missing, changes=host is None and fact is None)
