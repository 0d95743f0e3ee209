"""A lost GPU that somebody has acknowledged stays acknowledged when something else tells of it: a board that does not
answer is told by its address, and after the reboot that takes it out of the PCI tree by the number of GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..events.folds import FOLDS, LOST
from ..fleet_report import Decision
from ..model import AuditHead
from .rows import Row, named_as, names_as
from .view_rows import Carried

if TYPE_CHECKING:
    from ..store import Store
    from ..store.rows import Decided

__all__ = ["carried_on", "told_before"]

#: Checks and facts any of which may be the one that tells that a GPU is lost.
_TELL = frozenset(name for fold in FOLDS if fold.what == LOST for name in fold.leads)
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def carried_on(store: Store, decided: Iterable[Decided], audit: AuditHead) -> Mapping[tuple[str, int], Carried]:
    """(host, audit) -> what was acknowledged there and ended, or began, in that audit, so that what tells of a lost GPU
    since then is the same thing."""
    said = {(row.host, row.name): row.decision for row in decided
            if row.decision.kind == "acknowledge" and names_as(row.name)[0] in _TELL}
    if not said:
        return {}
    over = store.problems_resolved(min(each.audit for each in said.values()), audit.id, {host for host, _ in said})
    found: dict[tuple[str, int], Carried] = {}
    for row in sorted(over, key=lambda row: (row.since.seen, row.until or 0)):
        if row.check not in _TELL or row.outcome == "unknown" or row.until is None:
            continue
        own = said.get((row.host, named_as(row.check, row.subject, row.code))) or said.get(
            (row.host, named_as(row.check, row.subject)))
        earlier = found.get((row.host, row.since.seen))
        if own is not None and row.since.seen <= own.audit:
            carried = Carried(own, _addresses(row.subject))
        elif earlier is not None and _same_gpu(earlier, row.subject):
            carried = Carried(earlier.decision, earlier.addresses | _addresses(row.subject))
        else:
            continue
        found[row.host, row.since.seen] = found[row.host, row.until] = carried
    return found


def told_before(carried: Mapping[tuple[str, int], Carried], row: Row) -> Decision | None:
    """What was said of the lost GPU that the row tells of, when something else told of it."""
    if row.since is None or row.fact not in _TELL:
        return None
    found = carried.get((row.host, row.since.seen))
    return found.decision if found is not None and _same_gpu(found, row.subject) else None


def _same_gpu(carried: Carried, subject: str) -> bool:
    """Whether the subject can be the same GPU."""
    addresses = _addresses(subject)
    return not addresses or not carried.addresses or bool(addresses & carried.addresses)


def _addresses(subject: str) -> frozenset[str]:
    return frozenset(_ADDRESS.findall(subject))
