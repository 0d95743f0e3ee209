"""From the id of a finding, as a report names it, to what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.suggestions import did_you_mean, nearest

from .entries import Entry, entries
from .fleet_report import Cause, Decision
from .outputs.text import kind
from .own_command import own_command

if TYPE_CHECKING:
    from .fleet_report import FleetReport
    from .store import Store

__all__ = ["decide", "finding_of", "shown_in"]


def shown_in(store: Store, wanted: Sequence[str], audit_id: int | None = None) -> FleetReport:
    """The report that shows all of these findings: of that audit, else the newest of any inventory. The newest of all
    where none does, so that whoever looks for them there can say what is missing."""
    from .judge import JudgeOptions, report
    from .which_audit import newest_of_each

    if audit_id is not None:
        return report(store, audit_id, JudgeOptions())
    first = None
    for head in newest_of_each(store):
        found = report(store, head.id, JudgeOptions(union=True))
        first = first or found
        if set(wanted) <= {cause.id for cause in found.causes if cause.counts}:
            return found
    return first or report(store, None, JudgeOptions(union=True))


def decide(store: Store, report: FleetReport, what: Literal["approve", "acknowledge"], wanted: Sequence[str], *,
           author: str, owner: str = "", link: str = "", note: str = "") -> list[tuple[Decision, Entry]]:
    """Say it of each of the findings ``wanted``, with all that the same thing moved. UsageError, before anything is
    written, where one of them is not there or cannot be approved."""
    wanted_entries = [finding_of(report, name) for name in wanted]
    about = [[cause for cause in (entry.lead, *entry.more) if what == "acknowledge" or _approvable(cause)]
             for entry in wanted_entries]
    for entry in wanted_entries:
        if what == "approve" and not _approvable(entry.lead):
            raise UsageError(_why(entry.lead), Misuse.DOES_NOT_BELONG)
    return [(store.decide(what, report.audit.id, entry.lead.id, f"{entry.lead.group} {entry.lead.fact}",
                          [(host, cause.fact) for cause in causes for host in cause.hosts],
                          author=author, owner=owner, link=link, note=note), entry)
            for entry, causes in zip(wanted_entries, about, strict=True)]


def finding_of(report: FleetReport, name: str) -> Entry:
    """The open finding with that id, with what the same thing moved. UsageError: there is none."""
    there = {entry.lead.id: entry for entry in entries(report.causes) if entry.lead.counts and entry.lead.id}
    # What is folded may be named on its own.
    there = {cause.id: Entry(cause) for cause in report.causes if cause.counts and cause.id} | there
    if name in there:
        return there[name]
    over = next((cause for cause in report.causes if cause.id == name), None)
    if over is not None:
        raise UsageError(f"{name}: is {kind(over)} in audit #{report.audit.id}; nothing is to be said of it",
                         Misuse.OVER)
    meant = did_you_mean(nearest(name, there, 3)) or f"`{own_command('fleet')}` shows them with their ids"
    raise UsageError(f"audit #{report.audit.id} has no open finding {name[:40]!r}; {meant}", Misuse.NO_SUCH)


def _approvable(cause: Cause) -> bool:
    """What changed, differs from the others, or is another machine; no clone, and nothing that the desired state asks
    for."""
    if cause.authority == "identity":
        return cause.before != cause.value or cause.value is None
    return cause.authority in ("previous", "majority")


def _why(cause: Cause) -> str:
    if cause.authority == "identity":
        return (f"{cause.id}: {cause.fact} can be one host's alone, which nobody can approve; give the clone an id of "
                f"its own, or waive it: {_waive(cause)}")
    return (f"{cause.id}: {cause.fact} is asked for by the desired state; change box_spec in the inventory, or: "
            f"{_waive(cause)}")


def _waive(cause: Cause) -> str:
    return own_command("waive {fact} --host {host} --until 30d --reason WHY", fact=cause.fact, host=cause.hosts[0])
