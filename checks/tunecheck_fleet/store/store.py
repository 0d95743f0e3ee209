"""The one class that callers hold. Each method is a short door to the file that knows how."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from tunecheck.report.words.fleet_words import FLAP_DAYS

from ..fleet_report import Decision, Since
from ..model import AuditHead, Problem, Seen
from . import (
    audits,
    census,
    changes,
    claims,
    decisions,
    differing,
    history,
    hosts,
    one_host,
    parquet,
    retention,
    unapproved,
    volatility,
    waivers,
)
from . import (
    write_host as put,
)
from .found import findings, judged_by, last_known, last_words, open_findings, told_spans
from .found.last_known import LastKnown
from .groups import group_moves, members
from .groups.group_moves import GroupMove
from .names import renamed, settle
from .open_history import OpenHistory
from .rows import (
    CensusRow,
    ChangeRow,
    Claim,
    Decided,
    Differing,
    DiffRow,
    Flap,
    HostState,
    IdentityEvent,
    OpenFinding,
    Outlier,
    ProblemSince,
    Pruned,
    Renamed,
    Span,
    Stored,
    TimelineRow,
    Volatile,
    Waiver,
)

__all__ = ["Store"]


class Store(OpenHistory):
    """The fleet's history. Every method raises UsageError with a sentence where the database cannot be used. Safe to
    use from several threads; writes take turns, also between processes."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives the lock back where an audit was not finished, so that it can be resumed."""
        try:
            audits.let_go(self)
        finally:
            self.db.close()

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self, scope: str, asked: Sequence[tuple[str, str]], trigger: Literal["pull", "push"] = "pull",
              note: str = "") -> AuditHead:
        """A new audit of the hosts ``asked``, as (host, group). One of each trigger at a time: UsageError says who
        has the turn. A dead process's turn is taken over. A push audit may be open beside pull audits."""
        return audits.begin(self, scope, asked, trigger, note)

    def resume(self, scope: str, younger_than_s: float) -> AuditHead | None:
        """The newest pull audit of ``scope`` that was not finished, began less than ``younger_than_s`` ago and whose
        process is gone; it is ours then, and its hosts that gave no answer are pending
        again. None where there is none, where it was read with another catalogue, and where a later audit has heard of
        a host that is left."""
        return audits.resume(self, scope, younger_than_s)

    def pending(self, audit_id: int) -> list[tuple[str, str]]:
        """The (host, group) that were asked and have no row in this audit; by name."""
        return audits.pending(self, audit_id)

    def running(self, audit_id: int) -> float | None:
        """Since when (seconds since 1970) a process is at work on the audit; None: none is."""
        return audits.running(self, audit_id)

    def put(self, audit_id: int, seen: Seen) -> Stored:
        """Keep what one host said (or that it said nothing) in this audit. When this returns it is committed: a kill
        loses nothing of it. A host is put once an audit; a second time changes nothing."""
        return put.put(self, audit_id, seen)

    def finish(self, audit_id: int) -> None:
        """The audit is over; the turn is free."""
        audits.finish(self, audit_id, settle.settle)

    def prune(self, older_than: float) -> Pruned:
        """Forget what ended before the time ``older_than`` (seconds since 1970). What holds now is never touched."""
        return retention.prune(self, older_than)

    # -- audits and hosts ---------------------------------------------------------------------------------------------

    def audits(self, last: int | None = None) -> list[AuditHead]:
        """The newest ``last`` audits (None: all), oldest first, also unfinished ones."""
        return audits.listed(self, last)

    def audit(self, audit_id: int | None = None) -> AuditHead:
        """That audit; None: the newest finished one, or where none is finished the newest. UsageError: there is
        none."""
        return audits.head(self, audit_id)

    def previous(self, audit_id: int) -> AuditHead | None:
        """What ``audit_id`` is compared with: the last finished one of its scope, else the last with a host of it."""
        return audits.previous(self, audit_id)

    def beside(self, audit_id: int) -> dict[int, int | None]:
        """Earlier audits of the same inventory whose hosts stand as they heard them, each with the one that it is
        compared with, where ``audit_id`` is the newest of that inventory; else none."""
        return audits.beside(self, audit_id)

    def survey(self, share: float, at_least: int, audit_id: int, also: Collection[int] = (),
               few: Collection[str] = ()) -> tuple[list[CensusRow], list[Outlier], dict[str, str]]:
        """``census``, ``outliers`` and ``classes`` at once; with the hosts that were last heard in one of ``also``, and
        with those that are silent, as they were last heard. ``few``: facts of which fewer than ``at_least`` count."""
        return census.survey(self, share, at_least, audit_id, also, few)

    def hosts(self, audit_id: int | None = None, also: Collection[int] = (), only: Collection[str] | None = None,
              bare: bool = False, gauges: Collection[str] | None = None) -> list[HostState]:
        """Every host that has a row in the audit (None: as in ``audit``), by name; ``pending`` has the others. Of
        volatile facts those of ``gauges`` (None: all)."""
        return hosts.hosts(self, audit_id, also, only, bare, gauges)

    def names(self, audit_id: int, also: Collection[int] = (), answered: bool = False) -> set[str]:
        """The names of ``hosts``; with ``answered`` of those alone that answered."""
        return hosts.names(self, audit_id, also, answered)

    def one_host(self, name: str, audit_id: int) -> one_host.OneHost:
        """The host in that audit, with what a report of it alone needs of the others."""
        return one_host.OneHost(self, name, audit_id)

    def last_audit_with(self, name: str) -> int | None:
        """The newest finished audit that has a row of the host of that name; None: there is none."""
        return audits.last_with(self, name)

    def known_hosts(self) -> list[str]:
        """Every host's name, also of those that no audit asks any more."""
        return hosts.known_hosts(self)

    def timeline(self, last: int | None = 30) -> list[TimelineRow]:
        """Per audit the facts that changed and the hosts that answered, oldest first."""
        return changes.timeline(self, last)

    def group_moves(self, after: int, audit_id: int) -> list[GroupMove]:
        """The hosts of the audit that the inventory has in another group than up to the other one."""
        return group_moves.between(self, after, audit_id)

    def identity_events(self, audit_id: int | None, upto: int | None = None) -> list[IdentityEvent]:
        """Who was renamed, replaced or cloned in this audit; None: in all ``upto`` one, of hosts that are there."""
        return hosts.identity_events(self, audit_id, upto)

    def mended(self, audit_id: int) -> list[IdentityEvent]:
        """Who shared a key (``other``) and told one of its own since, up to that audit, of hosts that are there."""
        return hosts.identity_events(self, None, audit_id, mended=True)

    def renamed(self, audit_id: int, fact: str) -> list[Renamed]:
        """Machines that have another name in that audit than they had once, with every name of before. ``fact``: under
        which somebody approves that."""
        return renamed.renamed(self, audit_id, fact)

    def claims(self, audit_id: int) -> list[Claim]:
        """Who tells a key that another host had first, as of that audit: clones, or renamed."""
        return claims.claims(self, audit_id)

    # -- what is and was ----------------------------------------------------------------------------------------------

    def current(self, host: str) -> dict[str, tuple[Any, Since]]:
        """fact -> (value, since when). A fact that went away has the value None. UsageError: no such host."""
        return history.current(self, host)

    def at(self, host: str, audit_id: int) -> dict[str, Any]:
        """fact -> value as it was known at that audit; absent facts are left out."""
        return history.at(self, host, audit_id)

    def held(self, facts: Iterable[str], audit_id: int) -> dict[str, dict[str, tuple[Any, Since]]]:
        """host -> fact -> (value, since when), of these facts alone and of every host that has one."""
        return history.held(self, facts, audit_id)

    def history(self, host: str, fact: str | None = None, since: float | None = None) -> list[Span]:
        """The host's spans, oldest first; of one fact, or of a family where ``fact`` ends in a dot; with ``since``
        (time) those that began then or later."""
        return history.spans(self, host, fact, since)

    def presence(self, host: str) -> list[Span]:
        """How the host answered (host.answer), what it was called (host.name), in which group it was (host.group), and
        host.incident, oldest first."""
        return hosts.presence(self, host)

    def board(self, serial: str) -> list[Span]:
        """On which hosts a GPU was, by serial number or UUID, oldest first."""
        return history.board(self, serial)

    def boards_elsewhere(self, host: str, boards: Collection[str]) -> set[str]:
        """Those of the boards that another host had, at any time."""
        return history.boards_elsewhere(self, host, boards)

    def blame(self, fact: str, host: str) -> list[Span]:
        """The spans of one fact of one host, newest first: since when it is so, and what it was before."""
        return history.spans(self, host, fact, None)[::-1]

    def changes(self, after_audit: int | None, upto_audit: int | None = None, facts: Collection[str] | None = None,
                host: str | None = None) -> list[ChangeRow]:
        """Every change seen after the one audit (None: from the beginning) up to the other (None: the newest). First
        sights and re-baselined values are no changes."""
        return changes.changes(self, after_audit, upto_audit, facts, host)

    def unapproved(self, audit_id: int, but: Collection[str] = (), facts: Collection[str] | None = None,
                   host: str | None = None) -> tuple[list[ChangeRow], set[tuple[str, str]]]:
        """The changes that are so at that audit and that nobody approved (those that came with our own roles are
        approved by that), and the (host, fact) that changed back to what they were; not of the facts ``but``."""
        return unapproved.unapproved(self, audit_id, but, facts, host)

    def approved_values(self, audit_id: int, by: int | None = None) -> dict[tuple[str, str], Any]:
        """(host, fact) -> the value that was approved there last, by that audit, whatever the host has."""
        return unapproved.approved_values(self, audit_id, by)

    def diff(self, audit_a: int, audit_b: int) -> list[DiffRow]:
        """What was not the same in the two audits. Hosts and facts seen first in between, and values re-baselined in
        between, cannot be compared and are left out."""
        return changes.diff(self, audit_a, audit_b)

    def problems_since(self, audit_id: int | None = None, checks: Collection[str] | None = None,
                       hosts: Collection[str] | None = None) -> list[ProblemSince]:
        """Every finding (fail, warn) as of that audit, with since when it is so."""
        return findings.since(self, audit_id, checks, hosts)

    def open_findings(self, audit_id: int | None = None) -> dict[str, tuple[OpenFinding, ...]]:
        """Host -> every finding as of that audit. Hosts that have the same ones since the same audits share them."""
        return open_findings.open_findings(self, audit_id)

    def problems_resolved(self, after_audit: int | None, upto_audit: int | None = None,
                          hosts: Collection[str] | None = None, told: bool = False,
                          of: Literal["thing", "subject", "span"] = "thing") -> list[ProblemSince]:
        """The findings that went away after the one audit up to the other; ``told``: with their words. ``of``: a
        "subject" of which nothing is found any more; each "span", also where it went on as another outcome."""
        return findings.resolved(self, after_audit, upto_audit, hosts, told, of)

    def ended_with_machine(self, host: str) -> list[ProblemSince]:
        """What was found on machines that had this name before, each until another one had it."""
        return findings.ended_with_machine(self, host)

    def last_words(self, wanted: Mapping[str, Collection[tuple[str, str, str, str]]],
                   audit_id: int) -> dict[tuple[str, str, str, str], Problem]:
        """(host, check, subject's key, code) -> how the host told it the last time, of host -> (check, subject, code,
        outcome)."""
        return last_words.last_words(self, wanted, audit_id)

    def told_spans(self, wanted: Mapping[str, Collection[str]],
                   audit_id: int) -> list[tuple[str, Problem, int, int | None]]:
        """(host, problem, from audit, until audit) of host -> checks: how each was told, as of that audit."""
        return told_spans.told_spans(self, wanted, audit_id)

    def facts_last_known(self, host: str, facts: Collection[str]) -> dict[str, LastKnown]:
        """Those of the facts that the host could not tell when it answered last, each with until when it could."""
        return last_known.of_facts(self, host, facts)

    def findings_last_known(self, host: str, found: Collection[tuple[str, str, str, str]]
                            ) -> dict[tuple[str, str, str, str], LastKnown]:
        """Until when the host told these findings (check, subject, code, outcome), which it cannot tell now."""
        return last_known.of_findings(self, host, found)

    def judged_by(self, wanted: Collection[tuple[str, int]], audit_id: int) -> dict[tuple[str, int], str | None]:
        """(host, audit) -> the digest of the specification by which the host was judged then; None: without one."""
        return judged_by.judged_by(self, wanted, audit_id)

    def newest_document(self, host: str) -> bytes:
        """The snapshot of the host's newest answer. UsageError: no such host, or it never answered."""
        return hosts.newest_document(self, host)

    # -- the fleet as a whole -----------------------------------------------------------------------------------------

    def census(self, audit_id: int | None = None) -> list[CensusRow]:
        """How many hosts have which value, per group, hardware and fact, as of that audit."""
        return census.census(self, audit_id)

    def classes(self, audit_id: int | None = None) -> dict[str, str]:
        """Host -> the hardware that the hosts it is compared with have, of every host that answered that audit."""
        return members.classes(self, audit_id)

    def differing(self, audit_id: int, after: int) -> list[Differing]:
        """Who differs from most of its like up to that audit, and did after the audit ``after``, as reports told."""
        return differing.standing(self, audit_id, after)

    def differed(self, host: str) -> list[tuple[Differing, Any]]:
        """Each time that the host differed from most of its like, with its value, oldest first."""
        return differing.of_host(self, host)

    def differing_known(self, audit_id: int) -> bool:
        """Whether it was kept who differed in that audit."""
        return differing.is_kept(self, audit_id)

    def differing_then(self, audit_id: int, facts: Collection[str], share: float, at_least: int) -> list[Outlier]:
        """``outliers`` of these facts, of an audit of which it was not kept."""
        return differing.among(self, audit_id, facts, share, at_least)

    def keep_differing(self, audit_id: int, rows: Iterable[Differing], ended: Iterable[tuple[str, str]]) -> None:
        """Keep who differs in the newest audit, and whose finding was over in it; once."""
        differing.keep(self, audit_id, rows, ended)

    def outliers(self, share: float = 0.8, at_least: int = 5, audit_id: int | None = None) -> list[Outlier]:
        """Every host that differs from at least ``share`` of the at least ``at_least`` hosts of its group and
        hardware that know the fact."""
        return census.outliers(self, share, at_least, audit_id)

    def flaps(self, days: float = FLAP_DAYS, audit_id: int | None = None,
              facts: Collection[str] | None = None) -> list[Flap]:
        """Facts that went back to a value they had left, in the last ``days`` (before that audit); most changes
        first."""
        return volatility.flaps(self, days, audit_id, facts)

    def volatility(self, last: int = 10, audit_id: int | None = None, restless: bool = False) -> list[Volatile]:
        """The facts that changed in the last audits (up to that one), most restless first; ``suspicious`` ones are
        wrongly kept as history. ``restless``: no others than may be that."""
        return volatility.volatility(self, last, audit_id, restless)

    # -- waivers ------------------------------------------------------------------------------------------------------

    def waivers(self, expired: bool = True) -> list[Waiver]:
        """Every waiver, oldest first; without ``expired`` only those that still hold."""
        return waivers.listed(self, expired)

    def waive(self, fact: str, *, reason: str, author: str, until: float | None, host: str | None = None,
              group: str | None = None, value: str | None = None, kind: Literal["waive", "accept"] = "waive") -> Waiver:
        """Add one; the arguments are as in Waiver. Only an accepted state may be ``until`` None."""
        return waivers.waive(self, fact, reason=reason, author=author, until=until, host=host, group=group, value=value,
                             kind=kind)

    def unwaive(self, *waiver_ids: int) -> list[Waiver]:
        """Take them away; returns what they were. UsageError, and all stay: no such waiver."""
        return waivers.unwaive(self, waiver_ids)

    def matched(self, waiver_ids: Iterable[int], audit_id: int) -> None:
        """Note that these waivers covered something in that audit."""
        waivers.matched(self, waiver_ids, audit_id)

    # -- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, kind: Literal["approve", "acknowledge"], audit_id: int, finding: str, title: str,
               about: Iterable[tuple[str, str]], *, author: str, owner: str = "", link: str = "",
               note: str = "") -> Decision:
        """Approve or acknowledge a finding as of that audit; ``about``: every (host, fact or check) of it."""
        return decisions.decide(self, kind, audit_id, finding, title, about, author=author, owner=owner, link=link,
                                note=note)

    def end_decision(self, number: int) -> Decision:
        """It holds no longer. UsageError: no such decision."""
        return decisions.end(self, number)

    def decisions(self) -> list[Decision]:
        """All of them, the oldest first, also those that were ended."""
        return decisions.listed(self)

    def decided_names(self) -> dict[int, list[str]]:
        """Decision -> the names of the facts and checks that it covers."""
        return decisions.names(self)

    def decided(self, audit_id: int) -> list[Decided]:
        """Every (host, fact or check) of which somebody has said something that holds, of the hosts of that audit, the
        oldest first."""
        return decisions.decisions(self, audit_id)

    def last_posted(self, place: str) -> int | None:
        """The newest audit that was posted to a webhook; None: none."""
        return decisions.last_posted(self, place)

    def set_posted(self, place: str, audit_id: int) -> None:
        """It was posted there now."""
        decisions.set_posted(self, place, audit_id)

    # -- export -------------------------------------------------------------------------------------------------------

    def export_parquet(self, folder: str | Path) -> list[Path]:
        """spans, values, facts, hosts, snaps and audits as Parquet files in ``folder`` (created, 0700). UsageError
        where pyarrow is missing or the folder cannot be written."""
        return parquet.export(self, Path(folder))

