"""``tunecheck ingest``: the receiver of `tunecheck push`, and who may push to it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tunecheck.errors import Misuse, UsageError

from ..hooks import hooked
from ..own_command import remember
from .shared_options import only_above

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ingest"]


#: Before and behind token, revoke and hosts.
_kept_in = click.option(
    "--state", metavar="DIR", help="Where hosts, tokens and what waits are kept; default: "
    "/var/lib/tunecheck-fleet/ingest, or for others than root ~/.local/state/tunecheck/ingest.")


@click.group(invoke_without_command=True)
@_kept_in
@click.option("--bind", default="127.0.0.1:8733", metavar="ADDRESS:PORT",
              help="Where to listen; default: 127.0.0.1:8733.")
@click.option("--cert", metavar="FILE", help="The receiver's certificate and chain, PEM: TLS.")
@click.option("--key", metavar="FILE", help="The private key of --cert.")
@click.option("--client-ca", metavar="FILE", help="Ask hosts for a certificate of this authority; it names the host.")
@click.option("--behind-proxy", is_flag=True, help="Something in front of it ends TLS: plain HTTP beyond loopback.")
@click.option("-i", "--inventory", metavar="PATH", help="Judge each host by the box_spec that this inventory declares.")
@click.option("--store", metavar="FILE|URL", envvar="TUNECHECK_STORE", callback=remember,
              help="The history, as for tunecheck audit; default: $TUNECHECK_STORE, or the SQLite file.")
@click.option("--window", default="1h", metavar="TIME",
              help="An audit is written when every host has pushed, or so long after the first; default: 1h.")
@click.option("--html", "html_to", metavar="FILE", help="Write the fleet page after each audit.")
@click.option("--prometheus", "prometheus_to", metavar="FILE.prom", help="Write the metrics after each audit.")
@hooked
@click.pass_context
def ingest(ctx: click.Context, state: str | None, bind: str, cert: str | None, key: str | None, client_ca: str | None,
           behind_proxy: bool, inventory: str | None, store: str | None, window: str, html_to: str | None,
           prometheus_to: str | None, webhook: str | None, webhook_secret: str | None, webhook_as: str,
           link: str) -> None:
    """Take pushed snapshots and write them as audits.

    Without a further word it listens; token, hosts and revoke say who may push."""
    ctx.obj = _folder(state)
    if ctx.invoked_subcommand is not None:
        only_above(ctx, "state")
        return
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise UsageError("tunecheck ingest needs starlette and uvicorn; in the checkout of tunecheck run: pip install "
                         "'.[ingest]'", Misuse.NOT_HERE) from None
    from tunecheck.util.durations import seconds

    from ..hooks import hook_of, outputs
    from ..ingest.limits import Limits
    from ..ingest.serve import Listen, serve
    from ..ingest.tokens import Tokens

    host, _, port = bind.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--bind {bind}: expected an address and a port, as 127.0.0.1:8733 or [::]:8733",
                         Misuse.MALFORMED)
    then = outputs({"html": html_to, "prometheus": prometheus_to}, hook_of(webhook, webhook_secret, webhook_as, link))
    listen = Listen(host.removeprefix("[").removesuffix("]"), int(port), cert, key, client_ca, behind_proxy)
    tokens = Tokens(ctx.obj / "hosts.json")
    if not tokens.hosts():
        click.echo("ingest: nobody may push yet; tunecheck ingest token HOST makes a token, now or later", err=True)
    if inventory is None:
        click.echo("ingest: no -i INVENTORY: a box is judged by the spec that it sends itself, and counts as unknown",
                   err=True)
    ends = "; Ctrl-C ends it" if sys.stderr.isatty() else ""
    serve(listen, ctx.obj, tokens, store, seconds("--window", window), Limits(),
          lambda place: click.echo(f"ingest: listening on {place}{ends}", err=True), inventory, then)


@ingest.command()
@click.argument("host")
@click.option("--group", default="", metavar="NAME", help="What it is compared with: its group in the inventory.")
@click.option("--certificate", is_flag=True, help="Make no token: the host shows a certificate (--client-ca).")
@_kept_in
@click.pass_obj
def token(folder: Path, host: str, group: str, certificate: bool, state: str | None) -> None:
    """Let HOST push; print its token, once.

    Only a digest is kept. A second token leaves the one before valid, for the change; a third ends the first."""
    from tunecheck.util.whole_file import emit

    from ..ingest.tokens import add

    made = add(_of(folder, state) / "hosts.json", host, group, not certificate)
    if made:
        emit(made + "\n")


@ingest.command()
@click.argument("host")
@_kept_in
@click.pass_obj
def revoke(folder: Path, host: str, state: str | None) -> None:
    """Forget HOST and its tokens; at once, also where ingest runs."""
    from tunecheck.util.whole_file import emit

    from ..ingest.tokens import remove

    remove(_of(folder, state) / "hosts.json", host)
    emit(f"{host} is forgotten: what it pushes is refused from now on\n")


@ingest.command()
@_kept_in
@click.pass_obj
def hosts(folder: Path, state: str | None) -> None:
    """List who may push: host, group, tokens, last change."""
    from tunecheck.util.whole_file import emit

    from ..ingest.tokens import Tokens

    found = Tokens(_of(folder, state) / "hosts.json").hosts().values()
    if not found:
        emit("no host has a token yet; tunecheck ingest token HOST makes one\n")
        return
    emit("host\tgroup\ttokens\tlast change\n" + "".join(
        f"{each.host}\t{each.group}\t{len(each.tokens)}\t{each.made}\n" for each in found))


def _of(folder: Path, state: str | None) -> Path:
    return _folder(state) if state is not None else folder


def _folder(given: str | None) -> Path:
    import os
    from pathlib import Path

    if given is not None:
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/lib/tunecheck-fleet/ingest")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "tunecheck/ingest"
