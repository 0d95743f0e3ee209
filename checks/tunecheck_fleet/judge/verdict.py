"""The verdict over a fleet: all judgements of one audit, each in its place: desired > waiver > majority > previous.

judge() makes the causes, outcome() the word. Which cause is drift: Cause.drifts in ../fleet_report.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

from tunecheck.errors import UsageError
from tunecheck.model.command import of_inventory
from tunecheck.rules.codes import NOT_DECLARED

from ..entries import entries
from ..fixes import Step
from ..fleet_report import Cause, FleetReport, HostRow
from ..model import Problem
from ..scope import inventory_of
from ..uncollected import uncollected
from .asked import asked
from .authority import judged
from .carried_on import told_before
from .causes import causes
from .desired import desired
from .identity import identity, replaced
from .like.majority import Compared, majority
from .like.splits import splits
from .moves import net, rollouts
from .notes import notes
from .options import JudgeOptions
from .previous import previous
from .put_back import with_play
from .reference import reference
from .roles import roles
from .rows import Row, said_as
from .said.waivers import waive
from .view import View
from .volatile import volatile_facts
from .votes import Vote, votes

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["judge", "matched", "outcome", "report"]


def outcome(report: FleetReport) -> Literal["drift", "clean", "unknown"]:
    """The verdict in a word. Unknown where no host answered, whatever earlier audits saw, and where nothing drifted and
    something could not be judged."""
    if not report.answered:
        return "unknown"
    return "drift" if report.drift else "unknown" if report.open else "clean"


def report(store: Store, audit_id: int | None = None, options: JudgeOptions | None = None,
           about: str | None = None, listed: bool = True) -> FleetReport:
    """What the audit (None: the newest finished one) comes to. UsageError: no such audit, host or baseline.
    ``about``: no more than focus() needs to tell of this host; not ``listed``: without what else was judged."""
    from .load_host_view import host_view
    from .load_view import view

    options = options or JudgeOptions()
    with uncollected():
        seen = host_view(store, audit_id, options, about, listed) if about is not None else None
        seen = seen or view(store, audit_id, options)
        found, numbers, compared = _verdict(seen, options, about)
        if about is None:
            _note(store, seen, numbers)
            _keep(store, seen, compared, options)
        del seen        # before the collector may look at all of it
    return found


def matched(store: Store, audit_id: int | None, host: str) -> bool:
    """Note in the store which waivers of this host alone cover something in the audit (None: the newest finished one).
    False: only a report can tell. It judges this host alone, as a report of 10,000 hosts takes seconds."""
    from .load_host_view import host_view

    with uncollected():
        seen = host_view(store, audit_id, JudgeOptions(), host, listed=False)
        if seen is None:
            return False
        _, numbers = judge(seen, JudgeOptions(), host)
    own = {waiver.id for waiver in seen.waivers if waiver.host == host}
    _note(store, seen, [number for number in numbers if number in own])
    return True


def _note(store: Store, seen: View, numbers: list[int]) -> None:
    """A look back at an older audit, or a second look, leaves no trace."""
    last = {waiver.id: waiver.last_matched or 0 for waiver in seen.waivers}
    fresh = [number for number in numbers if last[number] < seen.audit.id]
    if fresh:
        store.matched(fresh, seen.audit.id)


def _keep(store: Store, seen: View, compared: Compared, options: JudgeOptions) -> None:
    """Keep who differs from the others, so that the next audit knows since when. Only of what is asked every time: a
    look that compares otherwise leaves no trace."""
    usual = JudgeOptions(union=options.union, now=options.now, claims=options.claims, entries=options.entries)
    if options == usual and not seen.before and seen.audit.finished is not None and not seen.kept:
        with suppress(UsageError):      # a history that cannot be written can be read all the same
            store.keep_differing(seen.audit.id, compared.open, compared.ended)


def judge(view: View, options: JudgeOptions, about: str | None = None) -> tuple[FleetReport, list[int]]:
    """The report, and which waivers covered something. Pure: equal views give equal reports. ``about``: as in
    report(). Its causes and rows are of this host alone; what causes are called depends on all hosts."""
    found, numbers, _ = _verdict(view, options, about)
    return found, numbers


def _verdict(view: View, options: JudgeOptions, about: str | None) -> tuple[FleetReport, list[int], Compared]:
    """The same, and who differs from the others."""
    another = replaced(view)
    moves = net(move for move in view.moves if move.host not in another)
    volatile = volatile_facts(view, moves.moves)
    skip = {fact.fact for fact in volatile if fact.left_out}
    wanted, settled, checks, unjudged, unsaid = desired(view, moves, about)
    rolled = rollouts(view, moves, options.rollout)
    found = votes(view, moves, options)
    ruled = _ruled(view, settled)
    compared = majority(view, moves, found, rolled, ruled, skip, options)
    outliers, voted = compared.rows, compared.settled
    # Where only the previous audit is asked for, the majority has not said anything yet.
    done = settled | voted if options.judges("majority") and options.judges("previous") else settled
    # What differs from the others is told as that, also where a check that stays open says nothing of the change.
    told = done - settled
    changed = previous(view, moves, found, rolled, done, skip, another,
                       {each: check for each, check in unsaid.items() if each not in told})
    rows = [*wanted, *outliers, *changed, *identity(view), *roles(view, options.claims),
            *reference(view, settled, skip)]
    del wanted, outliers, changed, ruled, done, told        # of 10,000 hosts some 30 MiB, for the causes to take
    rows, waived, matched = waive(view, _decided(view, _flapping(view, _known_from(view, asked(view, rows)))))
    rows = [row for row in with_play(view, _as_heard(view, rows)) if options.judges(row.authority)]
    names = {(row.group, row.fact) for row in rows} | checks
    if about is not None:
        own = {row.fact for row in rows if row.host == about}
        rows = [row for row in rows if row.fact in own]
    found_causes = causes(rows, about, view.wordings)
    undecided = splits(view, moves, found, _of_groups(view, settled), skip, options, about)
    path = inventory_of(view.audit.scope)
    return FleetReport(
        audit=view.audit, previous=view.previous,
        hosts=_in_inventory(_hosts(view, found_causes, unjudged, about), path),
        causes=tuple(_each_fix_with_inventory(cause, path) for cause in found_causes),
        splits=undecided if options.judges("majority") else (), timeline=view.timeline,
        judged=_judged(view, found, names), baseline=options.baseline,
        over_audits=options.since is not None and view.previous is not None,
        notes=(*waived, *compared.notes, *notes(view, volatile, moves.back, unjudged, about))), matched, compared


_Told = TypeVar("_Told", Cause, Problem)


def _with_inventory(told: _Told, path: str) -> _Told:
    """The same with the inventory of this audit in its plays ("": none is known)."""
    if not path or not any(each.fill_in for each in told.commands):
        return told
    remedy, commands = _of_inventory(told.remedy, told.commands, path)
    return replace(told, remedy=remedy, commands=commands)


def _each_fix_with_inventory(cause: Cause, path: str) -> Cause:
    cause = _with_inventory(cause, path)
    return replace(cause, fixes=tuple(replace(fix, steps=tuple(
        Step(*_of_inventory(step.remedy, step.commands, path)) for step in fix.steps)) for fix in cause.fixes)) \
        if path and cause.fixes else cause


#: Many hosts have the same few fixes.
_of_inventory = lru_cache(4096)(of_inventory)


def _in_inventory(hosts: tuple[HostRow, ...], path: str) -> tuple[HostRow, ...]:
    return tuple(replace(row, problems=tuple(_with_inventory(problem, path) for problem in row.problems))
                 for row in hosts) if path else hosts


def _judged(view: View, found: Mapping[tuple[str, str, str], Vote],
            judged: set[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """What was held against something, with or without a cause. ``judged``: (group, fact or check) of every
    cause."""
    names = {(group, fact) for group, _, fact in found} | judged | view.judged
    return tuple(sorted(names | {(tally.group, tally.fact) for tally in view.tallies
                                 if view.previous is not None or view.before}))


def _of_groups(view: View, settled: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """(group, fact) of (host, fact)."""
    facts: dict[str, list[str]] = {}
    for name, fact in settled:
        facts.setdefault(name, []).append(fact)
    return {(host.group, fact) for host in view.hosts for fact in facts.get(host.host, ())}


def _ruled(view: View, settled: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """(host, fact) with a desired value: where the check of one host spoke of it, it has judged every host with the
    same specification."""
    specs = {host.host: host.spec for host in view.hosts}
    spoken: dict[str, set[str]] = {}
    for name, fact in settled:
        spec = specs.get(name)
        if spec:
            spoken.setdefault(spec, set()).add(fact)
    same = {(host.host, fact) for host in view.hosts for fact in spoken.get(host.spec or "", ())}
    return settled | view.approved | same


def _flapping(view: View, rows: list[Row]) -> list[Row]:
    """Also where a check tells of the value: it is the facts that the check judges that go there and back."""
    of_host: dict[str, list[str]] = {}
    for host, fact in view.flaps:
        of_host.setdefault(host, []).append(fact)
    return [row._replace(flapping=True) if row.host in of_host and (
        row.fact in of_host[row.host] or any(judged(row.fact, row.subject, of_host[row.host]))) else row
        for row in rows] if of_host else rows


def _as_heard(view: View, rows: list[Row]) -> list[Row]:
    """What is told of a silent host is as it was last heard."""
    silent = {host.host: (host.last_ok, host.last_ok_at or 0.0) for host in view.hosts
              if not host.answered and host.last_ok is not None}
    return [row._replace(heard=silent[row.host]) if row.host in silent else row for row in rows] if silent else rows


def _known_from(view: View, rows: list[Row]) -> list[Row]:
    """What was so from the start was not seen at the first look where the host was known before, and could not tell."""
    first = {host.host: host.first for host in view.hosts}
    # A row that stays as it is stays the same one: there are half a million, of 400 bytes each.
    return [row if row.since is None or row.since.after is not None
            or (since := row.since.known_from(first.get(row.host, 0))) is row.since
            else row._replace(since=since) for row in rows]


def _decided(view: View, rows: list[Row]) -> list[Row]:
    """What somebody said of each. A value that differs from the others may be approved; a change that is approved is
    none any more, and what the desired state asks for is waived, or changed there."""
    if not view.decided:
        return rows
    done = []
    for row in rows:
        approved = view.approval(row.host, row.fact, row.value, row.since) if row.state != "resolved" else None
        if approved is not None and row.authority == "previous" and row.state != "new" \
                and approved.audit < view.audit.id:
            continue        # the baseline since an earlier audit; in the one as of which that was said it is shown
        if row.authority not in ("majority", "previous"):
            approved = None
        open_since = row.state == "known" or (row.state == "new" and row.since is not None)
        known = next((found for name in said_as(row) if open_since and (
            found := view.decision("acknowledge", row.host, name, row.since)) is not None), None)
        if known is None and open_since and view.carried:
            known = told_before(view.carried, row)
        done.append(row._replace(approved=approved, acknowledged=known))
    return done


def _hosts(view: View, found: tuple[Cause, ...], unjudged: Mapping[tuple[str, str], str],
           about: str | None) -> tuple[HostRow, ...]:
    lost: dict[str, dict[str, str]] = {}
    for (name, check), code in unjudged.items():
        lost.setdefault(name, {})[check] = code
    drifted = Counter(host for entry in entries(found) if entry.lead.drifts for host in entry.lead.hosts)
    return tuple(HostRow(
        host=host.host, group=host.group, hardware=host.hardware, status=host.status, reason=host.reason,
        outcomes=host.outcomes, drifted=drifted[host.host], unknown=host.unknown, problems=host.problems,
        last_ok=host.last_ok, last_ok_at=host.last_ok_at, in_change=host.host in view.in_change,
        waits=host.waits, specified=host.spec is not None, dark=host.dark,
        called_now=view.called_now.get(host.host, ""),
        skipped={**dict.fromkeys(sorted(host.unasked), NOT_DECLARED), **host.skipped, **lost.get(host.host, {})})
        for host in view.hosts if about is None or host.host == about)
