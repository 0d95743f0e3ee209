"""From the id of a finding, as a report names it, to what is said of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.suggestions import did_you_mean, nearest

from ..entries import Entry
from ..fleet_report import Cause, Decision
from ..model import fault_of
from ..outputs.entry_words import title
from ..outputs.text import clock, kind, lasts
from ..own_command import own_command
from ..whole_causes import each_cause
from .numbers import numbers_text

if TYPE_CHECKING:
    from ..fleet_report import FleetReport
    from ..store import Store

__all__ = ["Said", "covers", "decide", "finding_of", "shown_in", "whole_id"]

#: So many characters of an id are enough, where they begin no other one.
_SHORTEST = 4


class Said(NamedTuple):
    """A decision that was made. ``in_place_of``: acknowledgements of the same things, which held until now, and hold
    again when this one is taken back."""

    decision: Decision
    entry: Entry
    in_place_of: tuple[Decision, ...] = ()


def shown_in(store: Store, wanted: Sequence[str], audit_id: int | None = None) -> FleetReport:
    """The report that shows all of these findings: of that audit, else the newest of any inventory. The newest of all
    where none does, so that whoever looks for them there can say what is missing."""
    from ..judge import JudgeOptions, report
    from ..which_audit import newest_of_each

    if audit_id is not None:
        return report(store, audit_id, JudgeOptions())
    first = None
    for head in newest_of_each(store):
        found = report(store, head.id, JudgeOptions(union=True))
        first = first or found
        there = {cause.id for cause in found.causes if cause.counts}
        if all(whole_id(name, there) in there for name in wanted):
            return found
    return first or report(store, None, JudgeOptions(union=True))


def decide(store: Store, report: FleetReport, what: Literal["approve", "acknowledge"], wanted: Sequence[str], *,
           author: str, owner: str = "", link: str = "", note: str = "") -> list[Said]:
    """Say it of each of the findings ``wanted``, with all that the same thing moved. UsageError, before anything is
    written, where one of them is not there or cannot be approved. One that is named twice is meant once."""
    from ..judge.rows import decided_as

    found = [finding_of(report, name, store.decisions()) for name in wanted]
    for entry in found:
        if what == "approve" and not _approvable(entry.lead):
            raise UsageError(_why(entry.lead), Misuse.DOES_NOT_BELONG)
    # Of two acknowledgements as of one audit the later one holds; one as of a later audit holds beside this one.
    held = {(row.host, row.name): row.decision for row in store.decided(report.audit.id)
            if what == "acknowledge" == row.decision.kind and row.decision.audit <= report.audit.id}
    said = []
    for entry in {each.lead.id: each for each in found}.values():
        about = covers(what, entry)
        things = [(host, decided_as(cause)) for cause in about for host in cause.hosts]
        before = {each.id: each for cause in about for each in _said_before(cause, held)} if held else {}
        made = store.decide(what, report.audit.id, entry.lead.id,
                            f"{entry.lead.group.replace(' ', '')} {title(entry)}", things,
                            author=author, owner=owner, link=link, note=note)
        said.append(Said(made, entry, tuple(before[number] for number in sorted(before))))
        if what == "acknowledge":
            held |= dict.fromkeys(things, made)
    return said


def _said_before(cause: Cause, held: Mapping[tuple[str, str], Decision]) -> Iterator[Decision]:
    """The acknowledgements that hold of it until now; one that was made before it came says nothing of it. ``held``:
    (host, name) -> the newest."""
    from ..judge.rows import said_as

    for wave in cause.all_waves:
        for host in wave.hosts:
            known = (held[host, name] for name in said_as(cause) if (host, name) in held)
            own = next((each for each in known if wave.since is None or wave.since.seen <= each.audit), None)
            # Of a lost GPU it may be said of what told of it then.
            if own is None and host in cause.covered:
                own = cause.acknowledged
            if own is not None:
                yield own


def covers(what: Literal["approve", "acknowledge"], entry: Entry) -> list[Cause]:
    """The causes of the entry of which it can be said, the one that leads first."""
    return [cause for cause in (entry.lead, *entry.more) if what == "acknowledge" or _approvable(cause)]


def whole_id(name: str, ids: Collection[str]) -> str:
    """The id that is meant by it in capitals, or by its beginning where no other one begins so; else the name."""
    low = name.lower()
    found = [each for each in ids if each.startswith(low)] if len(low) >= _SHORTEST else []
    return low if low in ids else found[0] if len(found) == 1 else name


def finding_of(report: FleetReport, name: str, decisions: Iterable[Decision] = ()) -> Entry:
    """The open finding with that id, with what the same thing moved. UsageError: there is none; where somebody has
    approved it, by whom."""
    # What is folded may be named on its own, and is meant on all hosts that the id stands for.
    there = {entry.lead.id: entry for entry in each_cause(report.causes) if entry.lead.counts and entry.lead.id}
    if (whole := whole_id(name, there)) in there:
        return there[whole]
    done = [each for each in decisions if each.kind == "approve" and each.ended is None]
    whole = whole_id(name, {each.finding for each in done})
    approved = next((each for each in reversed(done) if each.finding == whole), None)
    if approved is not None:
        raise UsageError(f"{whole}: approved already (by {approved.author}, {clock(approved.created)}); to take that "
                         f"back: {own_command('approve --end {id}', id=approved.id)}", Misuse.ALREADY)
    whole = whole_id(name, {cause.id for cause in report.causes})
    if settled := [cause for cause in report.causes if cause.id == whole]:
        if settled[0].waived:       # the same thing may be waived on other hosts by another waiver
            settled = [cause for cause in report.causes if cause.waived and _same(cause, settled[0])]
        raise UsageError(f"{whole}: in audit #{report.audit.id} {_settled(settled)}", Misuse.OVER)
    meant = did_you_mean(nearest(name, there, 3)) or f"`{own_command('fleet')}` shows them with their ids"
    raise UsageError(f"audit #{report.audit.id} has no open finding {name[:40]!r}; {meant}", Misuse.NO_SUCH)


def _same(one: Cause, other: Cause) -> bool:
    return (one.authority, one.fact, one.subject, fault_of(one.fact, one.code), one.value) == (
        other.authority, other.fact, other.subject, fault_of(other.fact, other.code), other.value)


def _settled(causes: Sequence[Cause]) -> str:
    """Why nothing can be said of a finding that does not count, and the command that makes it count again, where there
    is one."""
    first = causes[0]
    if waived := {cause.waived.id: cause.waived for cause in causes if cause.waived}:
        numbers = numbers_text(waived)
        by, word = waived[min(waived)], "waivers" if len(waived) > 1 else "waiver"
        return (f"it is waived {lasts(by)} by {by.author} ({word} {numbers}: {by.reason}); end that first: "
                f"{own_command('waive --end {numbers}', numbers=numbers)}")
    return {"resolved": "it is resolved: nothing of it is left",
            "standing": "it is a warning that stands, and no drift: nothing of it has to be approved or waived",
            "intended": "our own roles changed it, and it is no drift: that is its approval",
            "approved": "it is approved already; to take that back: " + own_command(
                "approve --end {id}", id=first.approved.id if first.approved else 0)}[kind(first)]


def _approvable(cause: Cause) -> bool:
    """What changed, differs from the others, or is another machine; no clone, and nothing that the desired state asks
    for."""
    if cause.authority == "identity":
        return cause.before != cause.value or cause.value is None
    return cause.authority in ("previous", "majority")


def _why(cause: Cause) -> str:
    if cause.authority == "identity":
        return (f"{cause.id}: {cause.fact} can be one host's alone, which nobody can approve; mend it as its fix "
                f"says, or waive it: {_waive(cause)}")
    # With a specification or without one: most checks ask for what holds of every box.
    return (f"{cause.id}: {cause.fact} is what a check asks for, which nobody can approve; mend it as its fix says. "
            f"Where the host's specification asks for it, change box_spec in the inventory. To let it be for a time: "
            f"{_waive(cause)}")


def _waive(cause: Cause) -> str:
    return own_command("waive {id} --until 30d --reason WHY", id=cause.id)
