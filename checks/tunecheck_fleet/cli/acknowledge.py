"""``tunecheck acknowledge``: somebody is at work on a finding."""

from __future__ import annotations

import click

from .shared_options import decided, deciding, stored

__all__ = ["acknowledge"]


@click.command()
@click.option("--owner", default="", metavar="NAME", help="Who is at work on it.")
@click.option("--link", default="", metavar="URL", help="The ticket.")
@click.option("--note", default="", metavar="TEXT", help="What is being done.")
@deciding
@stored
def acknowledge(findings: tuple[str, ...], owner: str, link: str, note: str, author: str | None, show: bool,
                ended: int | None, as_json: bool, audit_id: int | None, store_url: str | None) -> None:
    """Acknowledge findings that are open: no alert any more for the hosts that have them now.

    They stay drift until they are gone, approved or waived; a host that joins is news. ID is what `tunecheck fleet`
    shows."""
    if link:
        from ..outputs.webhook import check_link

        check_link(link, "the ticket")
    decided("acknowledge", store_url, findings, show, ended, as_json, audit_id, author=author, owner=owner,
            link=link, note=note)
