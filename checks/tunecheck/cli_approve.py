"""``tunecheck approve``: a change is as it should be, and becomes the baseline."""

from __future__ import annotations

import click

from .fleet.verbs import decided, stored

__all__ = ["approve"]


@click.command()
@click.argument("findings", metavar="ID", nargs=-1)
@click.option("--note", default="", metavar="TEXT", help="Why it is as it should be.")
@click.option("--author", metavar="NAME", help="Who says so; default: you.")
@click.option("--list", "show", is_flag=True, help="List what was approved and acknowledged.")
@click.option("--end", "ended", type=click.IntRange(1), metavar="N", help="Take back what --list shows as N.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@stored
def approve(findings: tuple[str, ...], note: str, author: str | None, show: bool, ended: int | None, as_json: bool,
            store_url: str | None) -> None:
    """Approve findings of the newest audit: their values are the baseline from now on.

    ID is what `tunecheck fleet` shows. What the desired state asks for is changed there, or waived."""
    decided("approve", store_url, findings, show, ended, as_json, author=author, note=note)
