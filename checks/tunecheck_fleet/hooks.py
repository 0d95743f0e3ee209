"""The webhook of a verb: its options, and the news of an audit sent once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tunecheck.errors import Misuse, UsageError

if TYPE_CHECKING:
    from .fleet_report import FleetReport, Wave
    from .outputs.webhook import Hook
    from .store import Store

__all__ = ["hook_of", "hooked", "outputs", "posted", "unposted"]

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
        if secret is not None:
            raise UsageError("--webhook-secret is of a webhook, and none is given: add --webhook URL, or leave it out",
                             Misuse.DOES_NOT_BELONG)
        return None
    from .outputs.webhook import Hook, check_hook, secret_of

    hook = Hook(url, manner, secret_of(secret), link)
    check_hook(hook)
    return hook


def posted(hook: Hook | None, report: FleetReport, store: Store, say: Callable[[str], None],
           beside: Collection[int] = ()) -> list[str]:
    """A note about what was sent. An address is told the news of each inventory and limit once; what could not be
    delivered goes with the next audit of it, or with `tunecheck fleet`, and changes nothing about the audit.
    ``beside``: other audits of the inventory that the report shows as well."""
    if hook is None:
        return []
    import hashlib  # start-up time: the list of verbs needs this module, too

    from tunecheck.errors import ProbeError

    scopes = {head.id: head.scope for head in store.audits()}
    # One that was cut off may go on: its news are told once it is finished.
    done = {head.id for head in store.audits() if head.finished is not None} | {report.audit.id}
    shown = {scopes[number]: number for number in (*sorted(beside), report.audit.id) if number in scopes.keys() & done}
    places = {scope: hashlib.sha256(f"{hook.url}\0{scope}".encode("utf-8", "replace")).hexdigest() for scope in shown}
    posted_until = {scope: store.last_posted(place) for scope, place in places.items()}
    if all((posted_until[scope] or 0) >= number for scope, number in shown.items()):
        return []
    from .outputs.webhook import post

    try:
        note = post(hook, unposted(report, {number: posted_until.get(scope) for number, scope in scopes.items()}))
    except ProbeError as error:
        say(str(error))
        return []
    for scope, number in shown.items():
        store.set_posted(places[scope], number)
    return [note] if note else []


def unposted(report: FleetReport, posted_until: Mapping[int, int | None]) -> FleetReport:
    """The report with that as new which was not posted yet. ``posted_until``: audit -> up to which audit its inventory
    and limit were posted; None: never, then what is new in the report is."""
    answered_in = {row.host: row.last_ok or report.audit.id for row in report.hosts}
    found = []
    for cause in report.causes:
        if cause.state == "resolved":
            seen = {host: answered_in.get(host, report.audit.id) for host in cause.hosts}
            left = {host for host in cause.hosts if (last := posted_until.get(seen[host])) is None or last < seen[host]}
            found += [cause.on(left)] if left else []
            continue
        waves = tuple(part for wave in cause.all_waves
                        for part in _parts(wave, posted_until, frozenset(cause.covered)))
        states = {wave.state for wave in waves}
        found.append(replace(cause, waves=waves, state="grown" if len(states) > 1 else waves[0].state))
    return replace(report, causes=tuple(found))


def _parts(wave: Wave, posted_until: Mapping[int, int | None], covered: frozenset[str]) -> tuple[Wave, ...]:
    """What was acknowledged since is no news any more."""
    last = posted_until.get(wave.since.seen) if wave.since is not None else None
    if wave.since is None or last is None or wave.state == "resolved":
        return (wave,)
    if wave.since.seen <= last:
        return (replace(wave, state="known"),)
    known = tuple(host for host in wave.hosts if host in covered)
    fresh = tuple(host for host in wave.hosts if host not in covered)
    return tuple(replace(wave, hosts=hosts, state=state) for hosts, state in ((known, wave.state), (fresh, "new"))
                 if hosts)


def outputs(wanted: dict[str, str | None], hook: Hook | None) -> Callable[[Store, int], None]:
    """What a receiver does with each audit that it wrote: the same files, and the same news, as after an audit that
    asked. UsageError, now, where they could not be written."""
    from tunecheck.report.exporters import check_outputs

    check_outputs(wanted)

    def write(store: Store, audit_id: int) -> None:
        from .judge import report
        from .outputs import write_outputs

        found = report(store, audit_id)     # also where nobody reads it: it keeps who differs from the others
        write_outputs(wanted, found)
        posted(hook, found, store, lambda line: click.echo(f"ingest: {line}", err=True))

    return write
