"""``tunecheck fleet``: the newest audit's report again, and what the history knows of the fleet as a whole."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ..hooks import hooked
from .shared_options import judged, listed, only_above, stored_below

if TYPE_CHECKING:
    from ..store.rows import Volatile

__all__ = ["fleet"]


@click.group(invoke_without_command=True)
@click.option("--audit", "audit_id", type=click.IntRange(1), metavar="N", help="Of this audit; default: the newest.")
@hooked
@judged
def fleet(audit_id: int | None, webhook: str | None, webhook_secret: str | None, webhook_as: str, link: str,
          store_url: str | None, baseline: str, verbose: bool, fail_on: tuple[str, ...],
          max_missing: str, **outputs: Any) -> None:
    """Show the report of one audit again, the newest: how the fleet is now, compared with the audit before. No box is
    asked.

    After an audit with --limit also the hosts of the inventory that earlier audits heard last, as they were then, and
    how old that is.

    Exit codes as those of audit."""
    context = click.get_current_context()
    context.obj = store_url
    if context.invoked_subcommand is not None:
        only_above(context, "store_url")
        return
    from ..hooks import hook_of, posted
    from ..judge import JudgeOptions, allowed_missing, report
    from ..judge.said.decisions import about
    from ..which_audit import newer_than, newest_heard
    from .shared_options import check_places, finish, opened

    wanted = check_places(outputs)
    allowed_missing(max_missing, 1)
    hook = hook_of(webhook, webhook_secret, webhook_as, link)
    options = JudgeOptions(baseline=baseline, union=audit_id is None)
    with opened(store_url) as store:
        chosen, notes = newest_heard(store) if audit_id is None else (
            audit_id, newer_than(store, audit_id, about(store, audit_id)))
        found = report(store, chosen, options)
        found = replace(found, notes=(*notes, *found.notes))
        finish(found, wanted, verbose, fail_on, max_missing, lambda: posted(
            hook, found, store, lambda line: click.echo(f"tunecheck: {line}", err=True),
            store.beside(found.audit.id) if audit_id is None else ()))


@fleet.command()
@listed
@stored_below
@click.pass_obj
def hosts(outer: str | None, store_url: str | None, json_to: str | None) -> None:
    """List the hosts of the newest audit: who answered, who drifted, who was last heard when."""
    from ..judge import JudgeOptions, report
    from ..outputs.checks_of_hosts import checks_of_hosts
    from ..outputs.counts import of_hosts
    from ..outputs.rows import FleetRow
    from ..which_audit import newest_heard
    from .shared_options import check_list, history, opened

    check_list(json_to)
    with opened(store_url or outer) as store:
        found = report(store, newest_heard(store)[0], JudgeOptions(union=True))
        about = {state.host: state for state in store.hosts(found.audit.id, store.beside(found.audit.id))}
        checks = checks_of_hosts(store, found)
    counts = of_hosts(found)
    rows = [FleetRow(row.host, row.group, row.status, row.reason, row.hardware, row.drifted,
                     sum(each.outcome != "warn" for each in row.problems), row.last_ok, row.last_ok_at,
                     about[row.host].tunecheck if row.host in about else "",
                     about[row.host].spec if row.host in about else None,
                     **checks[row.host]._asdict(), **counts.get(row.host, {}))
            for row in found.hosts]
    history(f"{len(rows)} host{'s' * (len(rows) != 1)}, audit #{found.audit.id}", list(rows), json_to, "fleet",
            audit=found.audit.id)


@fleet.command()
@click.option("--from-majority", is_flag=True, required=True, help="Take what most hosts have.")
@click.option("--share", type=click.FloatRange(0.5, 1.0), default=0.8, show_default=True, metavar="PART",
              help="How many of a group and hardware have to agree.")
@stored_below
@click.pass_obj
def baseline(outer: str | None, store_url: str | None, from_majority: bool, share: float) -> None:
    """Print as YAML what most hosts of each group and hardware have: a first draft of what should be."""
    from tunecheck.util.whole_file import emit

    from ..baseline import text
    from .shared_options import opened

    with opened(store_url or outer) as store:
        head = store.audit()
        drafted = text(store.census(head.id), head, share)
    emit(drafted)


@fleet.command()
@click.option("--last", type=click.IntRange(2, 1000), default=10, show_default=True, metavar="N",
              help="Over how many audits.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@stored_below
@click.pass_obj
def volatility(outer: str | None, store_url: str | None, last: int, as_json: bool) -> None:
    """List the facts that changed most; those that look like a gauge or counter first: they would be noise.

    How often a fact changed is counted of all hosts that answered in these audits, also of those that do not have it.
    """
    from tunecheck.util.whole_file import emit

    from .shared_options import opened

    with opened(store_url or outer) as store:
        found = sorted(store.volatility(last), key=lambda each: (not each.suspicious, -each.change_rate, each.fact))
    if as_json:
        from tunecheck.report.plain import to_text

        from ..outputs.rows import list_document

        emit(to_text(list_document("fleet volatility", found, last=last)))
        return
    emit("".join(f"{_restless(each)}\n" for each in found) or f"no fact changed in the last {last} audits\n")


def _restless(each: Volatile) -> str:
    """Two things of a fact, each with what it is counted of: how often it changed, and what it is now."""
    from ..outputs.entry_words import plural

    values = plural(round(each.distinct_share * each.hosts), "value")
    return (f"{each.fact}: changed on {each.change_rate:.1%} of the {plural(each.heard, 'host')} that answered, from "
            f"one audit to the next, on average; today {values} on {plural(each.hosts, 'host')}"
            f"{f'; SUSPICIOUS: {each.why}' if each.suspicious else ''}")


@fleet.command()
@click.option("--hosts", "count", type=click.IntRange(1), default=100, show_default=True, metavar="N",
              help="How many boxes to reckon with.")
def doctor(count: int) -> None:
    """Say whether ssh's key exchange makes audits from this machine slow, and what may be done about it."""
    from tunecheck.util.whole_file import emit

    from ..collect.kex import advice, client

    ssh = client()
    first = ssh.first or "an unknown key exchange"
    emit((advice(ssh, count) or f"{ssh.version} begins with {first}: nothing to gain") + "\n")


@fleet.command()
@click.option("--keep", required=True, metavar="TIME", help="How much history to keep: 400d, 52w.")
@stored_below
@click.pass_obj
def prune(outer: str | None, store_url: str | None, keep: str) -> None:
    """Forget what ended longer ago. What holds now stays, however old it is."""
    from .shared_options import opened
    from .time_options import ago

    before = ago(keep, "--keep", time.time(), "400d or 52w")
    with opened(store_url or outer) as store:
        pruned = store.prune(before)
    click.echo(f"forgot {pruned.spans} values and {pruned.audits} audits"
               + (f"; the oldest audit is #{pruned.first_kept}" if pruned.first_kept is not None else ""))
