"""``tunecheck blame``: since when a fact is what it is, and whether we made it so."""

from __future__ import annotations

import click

from tunecheck.cli import completed

from .shared_options import listed, stored

__all__ = ["blame"]


@click.command()
@click.argument("fact", metavar="FACT")
@click.option("--host", required=True, metavar="HOST", shell_complete=completed.hosts, help="On which host.")
@listed
@stored
def blame(fact: str, host: str, json_to: str | None, store_url: str | None) -> None:
    """Show when one fact of one host changed, and by whom: every value that it had, newest first, between which audits
    it came, and whether our own roles ran there then, as its receipt says. A FACT that ends in a dot is a family
    (kernel.cmdline.)."""
    from .. import lookup
    from ..outputs.rows import BlameRow, HistoryRow, Row
    from .shared_options import check_list, history, opened

    check_list(json_to)
    with opened(store_url) as store:
        lookup.host(store, host)
        rows: list[Row] = []
        if fact in lookup.PRESENCE:     # nobody made it so: as history tells it
            rows += [HistoryRow(span.fact, span.value, span.since, span.before, span.until, span.until_at)
                     for span in reversed(store.presence(host)) if span.fact.startswith(fact)]
        else:
            lookup.fact(store, fact, host)
            known = lookup.known_from(store, host)
            rows += [BlameRow(span.fact, span.value, span.since.known_from(known), span.before, span.receipt)
                     for span in store.blame(fact, host)]
    history(f"{host}  {fact}, newest first", rows, json_to, "blame",
            lookup.no_values(fact, host), host=host, fact=fact)
