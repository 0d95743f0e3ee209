"""``tunecheck snapshot``: the parsed facts as JSON, of this machine or of what somebody recorded."""

from __future__ import annotations

import click

from .unread_input import from_option

__all__ = ["snapshot"]


@click.command()
@click.option("--spec", "spec_file", metavar="FILE", help="Read what this spec asks for, not /etc/tunecheck/spec.json.")
@click.option("--json", "json_to", default="-", metavar="FILE", help="Write to FILE, not to standard output.")
@from_option("PATH", "The facts in a recording, a bug report or a folder of command outputs.")
def snapshot(spec_file: str | None, json_to: str, source: str | None) -> None:
    """Write every fact as JSON, unjudged. --from takes it again.

    It names the host; a snapshot --from a recording without names does not."""
    from ..app.read_host import look
    from ..util.whole_file import PRIVATE, age_of, check_replaceable, emit, write_file

    if json_to != "-":
        check_replaceable(json_to)
    frozen, found = look("preflight", spec_file, source)
    from ..facts.snapshot_file import Stored, packed

    content = packed(Stored(found, frozen))
    if json_to != "-":
        older = age_of(json_to)
        write_file(json_to, content, PRIVATE, "snapshot")
        click.echo(f"snapshot: {json_to}{f' (replaces the file of {older})' if older else ''}", err=True)
    else:
        emit(content)
