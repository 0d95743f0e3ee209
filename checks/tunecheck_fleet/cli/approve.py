"""``tunecheck approve``: a change is as it should be, and becomes the baseline."""

from __future__ import annotations

import click

from .shared_options import decided, deciding, stored

__all__ = ["approve"]


@click.command()
@click.option("--note", default="", metavar="TEXT", help="Why it is as it should be.")
@deciding
@stored
def approve(findings: tuple[str, ...], note: str, author: str | None, show: bool, ended: int | None, as_json: bool,
            audit_id: int | None, store_url: str | None) -> None:
    """Approve findings that are open: their values are the baseline from now on.

    ID is what `tunecheck fleet` shows. What the desired state asks for is changed there, or waived."""
    decided("approve", store_url, findings, show, ended, as_json, audit_id, author=author, note=note)
