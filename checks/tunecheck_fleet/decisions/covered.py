"""What a decision covers besides the finding that it names, in the words of waive, approve and acknowledge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..fleet_report import Cause, Decision, FleetReport
from ..judge.rows import named_as, names_as, said_as
from ..outputs.text import titled

if TYPE_CHECKING:
    from ..store import Store, Waiver

__all__ = ["Covered", "by_decision", "by_waiver", "over"]

#: Inventories whose newest audit is looked at for what a waiver covers.
_LOOKED = 3


class Covered(NamedTuple):
    """What a waiver covers in the newest audit that shows anything of it: ``own`` is what it names, ``besides`` what
    the same thing had moved."""

    audit: int
    own: tuple[str, ...]
    besides: tuple[str, ...]


def by_waiver(store: Store, waivers: Sequence[Waiver]) -> dict[int, Covered]:
    """Waiver -> what it covers; none where nothing of it is shown. The history notes which ones covered something."""
    from ..judge import JudgeOptions, matched, report
    from ..which_audit import newest_of_each, newest_with

    left, found = {each.id for each in waivers}, dict[int, Covered]()
    host = waivers[0].host if len(waivers) == 1 else None
    if host is not None and not set(host) & set("*?["):
        number = newest_with(store, host)
        # One host alone is judged at once, where a report of 10,000 takes seconds.
        if matched(store, number, host):
            return _of(report(store, number, JudgeOptions(), about=host), left)
    for head in newest_of_each(store)[:_LOOKED] if left else ():
        found |= _of(report(store, head.id, JudgeOptions(union=True)), left - found.keys())
        if left <= found.keys():
            break
    return found


def _of(report: FleetReport, wanted: Iterable[int]) -> dict[int, Covered]:
    causes: dict[int, list[Cause]] = {number: [] for number in wanted}
    for cause in report.causes:
        if cause.waived is not None and cause.waived.id in causes:
            causes[cause.waived.id].append(cause)
    return {number: Covered(report.audit.id, *(
        tuple(dict.fromkeys(titled(each) for each in those if each.waived and each.waived.follows == follows))
        for follows in (False, True))) for number, those in causes.items() if those}


def by_decision(decisions: Iterable[Decision], names: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    """Decision -> what it covers besides the finding in its title. ``names``: under which each is kept."""
    return {each.id: [" ".join(part for part in names_as(name)[:2] if part) for name in names.get(each.id, ())
                      if not _names(each, name)] for each in decisions}


def over(store: Store, decisions: Iterable[Decision]) -> dict[int, int | None]:
    """Acknowledgement of which nothing is open any more -> the audit in which the last of it was over; None: that is
    not known. Of a host that no report has nobody can say so."""
    from ..judge import JudgeOptions, report
    from ..which_audit import newest_of_each

    left = {each.id: each for each in decisions if each.kind == "acknowledge" and each.ended is None}
    heads = newest_of_each(store) if left else []
    if not heads:
        return {}
    about: dict[int, set[tuple[str, str]]] = {}
    for row in store.decided(heads[0].id):
        if row.decision.id in left:
            about.setdefault(row.decision.id, set()).add((row.host, row.name))
    hosts: set[str] = set()
    still: dict[tuple[str, str], int] = {}      # since which audit: of what came after it a decision says nothing
    acknowledged: set[int] = set()
    for head in heads:
        found = report(store, head.id, JudgeOptions(union=True))
        hosts |= {row.host for row in found.hosts}
        for cause in found.causes:
            if cause.state != "resolved":
                for wave in cause.all_waves:
                    for each in ((host, name) for host in wave.hosts for name in said_as(cause)):
                        since = wave.since.seen if wave.since is not None else 0
                        still[each] = min(since, still.get(each, since))
                acknowledged |= {cause.acknowledged.id} if cause.acknowledged is not None else set()
    ended: dict[int, int | None] = {}
    for number, pairs in about.items():
        asked = left[number].audit
        if number in acknowledged or any(still.get(each, asked + 1) <= asked for each in pairs) or not {
                host for host, _ in pairs} <= hosts:
            continue
        resolved = [row for row in store.problems_resolved(asked, None, {host for host, _ in pairs})
                    if row.since.seen <= asked]
        ended[number] = max((row.until for row in resolved if row.until is not None and pairs & {
            (row.host, name) for name in (named_as(row.check, row.subject, row.code),
                                          named_as(row.check, row.subject))}), default=None)
    return ended


def _names(decision: Decision, name: str) -> bool:
    """Whether the title of the decision is of that: "GROUP FACT", "GROUP CHECK SUBJECT"; earlier ones have no
    subject."""
    fact, _, subject = decision.title.partition(" ")[2].partition(" ")
    about = names_as(name)[:2]
    return name == fact or about == names_as(named_as(fact, subject))[:2] or (not subject and about[0] == fact)
