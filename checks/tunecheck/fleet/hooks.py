"""The webhook of a verb: its options, and the news of an audit sent once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .outputs.webhook import Hook
    from .store import Store
    from .verdict import FleetReport

__all__ = ["hook_of", "hooked", "outputs", "posted"]

_OPTIONS = (
    click.option("--webhook", metavar="URL", envvar="TUNECHECK_WEBHOOK", help="Post news and what is resolved there, "
                 "once for each audit. In $TUNECHECK_WEBHOOK nobody sees it in ps; its secret in "
                 "$TUNECHECK_WEBHOOK_SECRET."),
    click.option("--webhook-secret", metavar="FILE",
                 help="The secret from a file: a bearer token, or a header line."),
    click.option("--webhook-as", type=click.Choice(["auto", "slack", "json"]), default="auto", show_default=True,
                 help="Slack's manner, or the event as JSON."),
    click.option("--link", default="", metavar="URL", help="Where readers of the webhook find the HTML page."),
)


def hooked(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a webhook: of audit, fleet and ingest."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def hook_of(url: str | None, secret: str | None, manner: str, link: str) -> Hook | None:
    """Refused here, before any box is asked, where it could not be used afterwards."""
    if link:
        from .outputs.webhook import check_link

        check_link(link)
    if url is None:
        return None
    from .outputs.webhook import Hook, check_hook, secret_of

    hook = Hook(url, manner, secret_of(secret), link)
    check_hook(hook)
    return hook


def posted(hook: Hook | None, report: FleetReport, store: Store, say: Callable[[str], None]) -> list[str]:
    """A note about what was sent. An audit is told once to one address; what could not be delivered is tried again by
    who asks next, and changes nothing about the audit."""
    from ..errors import ProbeError

    if hook is None:
        return []
    place = hashlib.sha256(hook.url.encode("utf-8", "replace")).hexdigest()
    if not store.fresh(place, report.audit.id):
        return []
    from .outputs.webhook import post

    try:
        note = post(hook, report)
    except ProbeError as error:
        say(str(error))
        return []
    store.tell(place, report.audit.id)
    return [note] if note else []


def outputs(wanted: dict[str, str | None], hook: Hook | None) -> Callable[[Store, int], None]:
    """What a receiver does with each audit that it wrote: the same files, and the same news, as after an audit that
    asked. UsageError, now, where they could not be written."""
    from ..report.outputs import check_outputs

    check_outputs(wanted)

    def write(store: Store, audit_id: int) -> None:
        from .judge import report
        from .outputs import write_outputs

        if not any(wanted.values()) and hook is None:
            return
        found = report(store, audit_id)
        write_outputs(wanted, found)
        posted(hook, found, store, lambda line: click.echo(f"ingest: {line}", err=True))

    return write
