"""``tunecheck export``: the history as files for analysts."""

from __future__ import annotations

import click

from .shared_options import stored

__all__ = ["export"]


@click.command()
@click.option("--parquet", "folder", required=True, metavar="FOLDER", help="Write Parquet files there (created, 0700).")
@stored
def export(folder: str, store_url: str | None) -> None:
    """Write the whole history as Parquet: spans, values, facts, hosts, snaps, audits."""
    from .shared_options import opened

    with opened(store_url) as store:
        for path in store.export_parquet(folder):
            click.echo(path)
