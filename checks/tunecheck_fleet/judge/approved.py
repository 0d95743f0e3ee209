"""What a box's own spec allows: a host that is declared to be different does not drift from the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .authority import JUDGED, judged
from .view_rows import Host

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["MOST", "apart", "approved"]

#: A document takes some 20 ms to judge. Where more hosts than that have specs of their own, the rest goes by majority.
MOST = 50


def approved(store: Store, hosts: Iterable[Host], differing: Iterable[tuple[str, str]]
             ) -> frozenset[tuple[str, str]]:
    """Those (host, fact) of ``differing``, which differ from the majority, that pass a check by a spec that the
    majority does not have."""
    those = apart(hosts)
    facts: dict[str, list[str]] = defaultdict(list)
    for name, fact in differing:
        if name in those:
            facts[name].append(fact)
    found: set[tuple[str, str]] = set()
    for name in sorted(facts)[:MOST]:
        found.update((name, fact) for fact in _passing(store.newest_document(name), facts[name]))
    return frozenset(found)


def apart(hosts: Iterable[Host]) -> set[str]:
    """Hosts with a spec that most of their like do not have."""
    by_name = {host.host: host for host in hosts if host.answered or host.last_ok is not None}
    specs: dict[tuple[str, str], Counter[str | None]] = defaultdict(Counter)
    for host in by_name.values():
        if host.answered:
            specs[host.group, host.cohort][host.spec] += 1
    most = {key: min(counts, key=lambda spec: (-counts[spec], spec or "")) for key, counts in specs.items()}
    return {name for name, host in by_name.items()
            if host.spec is not None and host.spec != most.get((host.group, host.cohort), host.spec)}


def _passing(document: bytes, facts: list[str]) -> set[str]:
    """Those of the facts that a check of the document passes. A document that cannot be read approves nothing."""
    from tunecheck.facts.snapshot_file import unpack
    from tunecheck.rules import judge
    from tunecheck.rules.context import Case

    try:
        stored = unpack(document)
        findings = [finding for finding in judge(Case(stored.snapshot, stored.frozen), "preflight")
                    if finding.id in JUDGED and finding.outcome == "pass"] if stored.frozen else []
    except Exception:       # a stranger's: whatever it provokes, it is one host's
        return set()
    return {fact for finding in findings for fact in judged(finding.id, finding.subject, facts)}
