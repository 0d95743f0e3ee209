"""``tunecheck history``: everything that ever changed on a host."""

from __future__ import annotations

import time

import click

from .fleet.verbs import listed, stored

__all__ = ["history"]


@click.command()
@click.option("--host", required=True, metavar="HOST", help="Whose history.")
@click.option("--fact", metavar="FACT", help="Only this fact; a family ends in a dot (kernel.cmdline.).")
@click.option("--since", metavar="TIME", help="Only what came later: 7d, 36h, 2026-11-01, or audit:12.")
@click.option("--all", "everything", is_flag=True, help="Also values that the host had when it was first seen.")
@listed
@stored
def history(host: str, fact: str | None, since: str | None, everything: bool, json_to: str | None,
            store_url: str | None) -> None:
    """Show what changed on a host, oldest first, each with its interval."""
    from .fleet import names
    from .fleet.outputs.rows import HistoryRow
    from .fleet.verbs import check_list, opened
    from .fleet.verbs import history as show
    from .fleet.when import since as moment

    check_list(json_to)
    begin = moment(since, "--since", time.time()) if since is not None else None
    with opened(store_url) as store:
        names.host(store, host)
        if fact is not None:
            names.fact(store, fact, host)
        after = store.audit(begin).started if isinstance(begin, int) else begin
        spans = [span for span in store.history(host, fact, after)
                 if everything or fact is not None or not span.baseline]
    rows = [HistoryRow(span.fact, span.value, span.since, span.before, span.until, span.until_at) for span in spans]
    show(f"{host}{f'  {fact}' if fact else ''}, oldest first", list(rows), json_to, "history",
         names.no_values(fact or "", host, "nothing changed" + (
             "" if everything else " (--all shows what it had from the beginning)")),
         host=host, fact=fact, since=since)
