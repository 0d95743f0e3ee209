"""Write what a run has to say: the report, the files, a note about each."""

from __future__ import annotations

from collections.abc import Callable

import click

__all__ = ["emit_report"]


def emit_report(text: str, write: Callable[[], list[str]], alone: bool) -> None:
    """Write the report, then the files and a note about each; the notes go to standard error where a document is
    ``alone`` on standard output."""
    from ..util.whole_file import emit

    emit(text)
    notes = write()
    if alone:
        for note in notes:
            click.echo(f"tunecheck: {note}", err=True)
    elif notes:
        emit("\n".join([*notes, ""]))
