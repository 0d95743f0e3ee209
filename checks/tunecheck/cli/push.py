"""``tunecheck push``: leave this box's snapshot where an audit finds it, and send it to a receiver."""

from __future__ import annotations

import click

from .unread_input import from_option

__all__ = ["push"]

_HERE = "/var/lib/tunecheck"


@click.command()
@click.option("--to", "url", metavar="URL", help="The receiver (tunecheck ingest); without it nothing is sent.")
@click.option("--token-file", metavar="FILE", help="This host's token; mode 0600.")
@click.option("--ca", metavar="FILE", help="Trust this authority, PEM, and not the public ones.")
@click.option("--cert", metavar="FILE", help="This host's own certificate, PEM, where the receiver asks for one.")
@click.option("--key", metavar="FILE", help="The private key of --cert.")
@click.option("--deadline", default="90s", metavar="TIME", help="For all of the sending; default: 90s.")
@click.option("--snapshot", "place", default=f"{_HERE}/snapshot.json", metavar="FILE",
              help=f"Where it is left for a pull; default: {_HERE}/snapshot.json.")
@click.option("--spool", default=f"{_HERE}/spool", metavar="DIR",
              help=f"What the receiver has not taken yet; default: {_HERE}/spool.")
@from_option("FILE", "Send this snapshot, and make none.")
def push(url: str | None, token_file: str | None, ca: str | None, cert: str | None, key: str | None, deadline: str,
         place: str, spool: str, source: str | None) -> None:
    """Leave a snapshot in /var/lib/tunecheck, where an audit finds it; with --to, send it.

    Exit codes: 0 taken; 1 somebody has to act: a snapshot that is never taken, a token that is not known (what waits
    stays in the spool), no usable spool; 2 bad usage; 3 not taken yet: it stays in the spool for the next run."""
    from pathlib import Path

    from ..errors import Misuse, UsageError

    if url is None and (token_file or ca or cert or key):
        raise UsageError("--token-file, --ca, --cert and --key are for --to; give the receiver's address as well",
                         Misuse.DOES_NOT_BELONG)
    to = None
    if url is not None:
        from ..push.push import target
        from ..util.durations import seconds

        to = target(url, token_file, ca, cert, key, seconds("--deadline", deadline))
    from ..push.spool import Spool

    kept = Spool(Path(spool))
    content, left = _snapshot(place, source, kept.nonce() if to is not None else "")
    if to is None:
        if left:
            here = f"{source}: a usable snapshot" if source is not None else f"snapshot: {place}"
            _print(f"{here}; nothing was sent (to send it: --to URL)")
        raise SystemExit(0 if left else 1)
    from ..push.push import push as send

    sent = send(content, to, kept, _print)
    for each in sent.left_out:
        _print(f"left out, the receiver never takes it: {each}")
    if sent.taken:
        _print(f"{sent.taken} snapshot{'s' * (sent.taken > 1)} taken by {to.url}")
    if sent.reason:
        rest = f"{sent.waiting} waiting in {spool}"
        if sent.unkept:
            rest = "this snapshot is lost: there is no usable spool"
        _print(f"{to.url}: {sent.reason}; {rest}")
    raise SystemExit(1 if sent.refused or sent.left_out or sent.unkept or not left else 3 if sent.reason else 0)


def _snapshot(place: str, source: str | None, nonce: str) -> tuple[bytes, bool]:
    """Return (content, whether it could be left for the pull). A full disk does not keep it from being sent."""
    from ..errors import UsageError
    from ..util.whole_file import PRIVATE, check_writable, write_file

    if source is not None:
        from pathlib import Path

        from ..app.confined import apart

        def checked(_: object) -> bytes:
            from ..facts.snapshot_file import load

            load(source)
            return Path(source).read_bytes()

        return apart(source, checked), True
    from ..app.read_host import look
    from ..facts.snapshot_file import Stored, packed

    _only_root(place)
    check_writable(place)
    frozen, found = look("preflight", None, None)
    content = packed(Stored(found, frozen), nonce=nonce)
    try:
        write_file(place, content, PRIVATE, "snapshot")
    except UsageError as error:
        _print(str(error))
        return content, False
    return content, True


def _only_root(place: str) -> None:
    """Refuse tunecheck's own folder where this user may not write in it. UsageError with the command that may."""
    import os
    from pathlib import Path

    from ..errors import Misuse, UsageError

    folder = Path(place).parent
    nearest = folder if folder.exists() else folder.parent      # where no role made it
    if str(folder) == _HERE and os.geteuid() and not os.access(nearest, os.W_OK):
        raise UsageError(f"{place}: only root may leave the snapshot there; run: sudo tunecheck push",
                         Misuse.UNWRITABLE)


def _print(text: str) -> None:
    click.echo(f"push: {text}", err=True)
