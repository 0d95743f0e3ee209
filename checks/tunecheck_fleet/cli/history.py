"""``tunecheck history``: everything that ever changed on a host."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tunecheck.cli import completed

from .shared_options import listed, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Thing
    from ..outputs.rows import DifferRow, FoundRow
    from ..store import Store
    from ..store.rows import ProblemSince

__all__ = ["history"]


@click.command()
@click.option("--host", metavar="HOST", shell_complete=completed.hosts, help="Whose history.")
@click.option("--gpu", metavar="SERIAL", help="In place of a host: where this GPU was, by serial number or UUID.")
@click.option("--fact", metavar="FACT", help="Only this fact, or check; a family ends in a dot (kernel.cmdline.).")
@click.option("--since", metavar="TIME", help="Only what came later: 7d, 36h, 2026-11-01, or audit:12.")
@click.option("--all", "everything", is_flag=True, help="Also values that the host had when it was first seen.")
@listed
@stored
def history(host: str | None, gpu: str | None, fact: str | None, since: str | None, everything: bool,
            json_to: str | None, store_url: str | None) -> None:
    """Show all that ever changed on one host, oldest first, each with its interval; also what checks found, and until
    when.

    Also when a value was another one than most of its group have, how the host answered, what it was called, and the
    incidents of what it serves. With --gpu: the hosts that a GPU was in."""
    from tunecheck.errors import Misuse, UsageError

    from .. import lookup
    from ..judge.shared.history import shared_history
    from ..outputs.rows import HistoryRow
    from ..own_command import own_command
    from .shared_options import check_list, opened
    from .shared_options import history as show
    from .time_options import since as moment

    check_list(json_to)
    if (host is None) == (gpu is None):
        raise UsageError("--host and --gpu exclude each other: drop one of them", Misuse.DOES_NOT_BELONG) if host else \
            UsageError("whose history? Give a host, or a GPU by its serial number: "
                       f"`{own_command('history --host box1')}` or `{own_command('history --gpu 1650924012345')}`; "
                       f"`{own_command('fleet hosts')}` lists the hosts",
                       Misuse.LEFT_OUT)
    if gpu is not None:
        if fact is not None or since is not None:
            raise UsageError("--fact and --since are for --host; leave them out with --gpu", Misuse.DOES_NOT_BELONG)
        with opened(store_url) as store:
            boards = store.board(gpu)
        show(f"GPU {gpu}, oldest first", [HistoryRow(f"{each.host} {each.fact}", each.value, each.since, each.before,
                                                     each.until, each.until_at) for each in boards],
             json_to, "history", "no host ever told of it", gpu=gpu)
        return
    assert host is not None
    begin = moment(since, "--since", time.time()) if since is not None else None
    with opened(store_url) as store:
        lookup.host(store, host)
        if fact is not None and fact not in lookup.PRESENCE and not lookup.check(fact):
            lookup.fact(store, fact, host)
        never = ""
        after = store.audit(begin).started if isinstance(begin, int) else begin
        spans = [span for span in store.history(host, fact, after)
                 if everything or fact is not None or not span.baseline]
        if fact is None or fact.startswith("host."):
            spans_of_host = store.presence(host)
            answers = [span.value for span in spans_of_host if span.fact == "host.answer"]
            silent = not {"ok", "partial"} & set(answers)
            never = lookup.never_answered(store, host) if silent else ""
            presence = [span for span in spans_of_host if (everything or not span.baseline or silent)
                    and (after is None or span.since.seen_at >= after) and (fact is None or span.fact.startswith(fact))]
            shared = [span for span in shared_history(store, host) if (after is None or span.since.seen_at >= after)
                      and (fact is None or span.fact.startswith(fact))]
            spans = [*spans, *presence, *shared]
        known = lookup.known_from(store, host)
        found = [] if fact is not None and not lookup.check(fact) else \
            _found(store, host, fact, everything or fact is not None, after)
        differed = _differed(store, host, fact, everything or fact is not None, after)
        dark = store.facts_last_known(host, {
            *(span.fact for span in spans if span.until is None and _told(span.fact)),
            *(row.fact for row in differed if row.gone is None)})
        differed = [replace(row, known=dark[row.fact][0], dark=dark[row.fact][1])
                    if row.gone is None and row.fact in dark else row for row in differed]
    rows: list[HistoryRow | FoundRow | DifferRow] = [
        HistoryRow(span.fact, span.value, span.since, span.before, span.until, span.until_at,
                   *dark.get(span.fact, (None, None)) if span.until is None else ()) for span in spans]
    rows = [replace(row, since=row.since.known_from(known)) for row in (*rows, *found, *differed)]
    rows.sort(key=lambda row: row.since.seen)
    title = f"{host}{f'  {fact}' if fact else ''}, oldest first{f'; {never}' if never else ''}"
    show(title, list(rows), json_to, "history", lookup.no_values(fact or "", host, "nothing changed" + (
             "" if everything else " (--all shows what it had from the beginning)")),
         host=host, fact=fact, since=since)


def _told(fact: str) -> bool:
    """Whether the host itself tells it: how it answered, and what it is called, is ours to say."""
    from .. import lookup

    return fact not in lookup.PRESENCE


def _differed(store: Store, host: str, fact: str | None, everything: bool, after: float | None) -> list[DifferRow]:
    """Each time that a value of the host was another one than most of its group have. Without ``everything`` only what
    came when the host was known already."""
    from ..fleet_report import Since
    from ..outputs.rows import DifferRow

    when = {head.id: head.started for head in store.audits()}
    rows = [DifferRow(each.fact, value, each.since or Since(each.told, when.get(each.told, 0.0)), each.began, each.over,
                      None if each.over is None else when.get(each.over))
            for each, value in store.differed(host)
            if fact is None or each.fact == fact or (fact.endswith(".") and each.fact.startswith(fact))]
    return [row for row in rows if (everything or row.since.after is not None)
            and (after is None or row.since.seen_at >= after)]


def _found(store: Store, host: str, check: str | None, everything: bool, after: float | None) -> list[FoundRow]:
    """What checks found on the host, open and over, each thing and each outcome of it by itself. Without ``everything``
    only what fails or warns, and came when the host was known already."""
    from ..model import subject_key
    from ..outputs.rows import FoundRow

    answers = [span.since.seen for span in store.presence(host)
               if span.fact == "host.answer" and span.value in ("ok", "partial")]
    first = min(answers, default=0)
    when = {head.id: head.started for head in store.audits()}
    there = [*store.problems_resolved(None, None, [host], of="span"), *store.ended_with_machine(host),
             *store.problems_since(None, None, [host])]
    dark = _cannot_be_told(store, host)
    untold = {(row.check, row.subject, row.code, row.outcome) for row in there if row.until is None
              and row.outcome != "unknown" and dark((row.check, subject_key(row.subject), row.code))}
    known = store.findings_last_known(host, untold)

    def of(row: ProblemSince) -> FoundRow:
        name = row.check, row.subject, row.code, row.outcome
        told = FoundRow(row.check, row.subject, row.outcome, row.since, code=row.code)
        if row.until is not None:
            return replace(told, gone=row.until, gone_at=when.get(row.until))
        return replace(told, now="unknown" if name in untold else row.outcome,
                       **known[name]._asdict() if name in untold else {})

    return [of(row) for row in there if check in (None, row.check) and (after is None or row.since.seen_at >= after)
            and (everything or (row.outcome != "unknown" and row.since.seen > first))]


def _cannot_be_told(store: Store, host: str) -> Callable[[Thing], bool]:
    """Whether what is open on the host cannot be told now, as `fleet` and `drift` have it: the check says so of it, or
    of something else and nothing of it."""
    from ..judge.found.problems import problems_of, told_as
    from ..which_audit import newest_with

    audit = store.audit(newest_with(store, host))
    rows = store.problems_since(audit.id, hosts=[host])
    now = [problem for state in store.hosts(audit.id, only=[host]) for problem in problems_of(state, audit, rows)]
    dark = {problem.check for problem in now if problem.outcome == "unknown"}
    told = {each for problem in now if problem.outcome != "unknown" for thing in problem.things
            for each in told_as(*thing)}
    return lambda name: name[0] in dark and name not in told
