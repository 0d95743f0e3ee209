"""Who differed from most of its like before the audit that is judged, and since when, out of the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...model import AuditHead
from ..options import JudgeOptions
from ..view import Differing

if TYPE_CHECKING:
    from ...store import Store

__all__ = ["Differed", "differed"]


class Differed(NamedTuple):
    """What is kept of that: ``last`` is the audit before, of the same inventory and limit. ``kept``: that it is known
    of the audit itself, and ``followed``: of the one before."""

    rows: dict[tuple[str, str], Differing]
    last: AuditHead | None
    kept: bool
    followed: bool

    @property
    def facts(self) -> frozenset[str]:
        return frozenset(fact for _, fact in self.rows)

    def of(self, host: str) -> set[str]:
        return {fact for name, fact in self.rows if name == host}

    def then(self, store: Store, facts: Collection[str], options: JudgeOptions) -> dict[tuple[str, str], Differing]:
        """The same of these facts, also where no report kept it (a history of an older version): who had another value
        than most in the audit before, since it has that."""
        if self.kept or self.followed or self.last is None:
            return self.rows
        found = {(row.host, row.fact): Differing(
            row.host, row.fact, row.since,
            "changed" if row.since is not None and row.since.after is not None else "first", self.last.id,
            kept=False)
            for row in store.differing_then(self.last.id, facts, options.share, options.at_least)}
        return {**found, **self.rows}


def differed(store: Store, audit: AuditHead, compared: Iterable[int]) -> Differed:
    """``compared``: the audits that hosts are compared with."""
    last = store.previous(audit.id)
    kept = store.differing_known(audit.id)
    first = min([last.id if last is not None else audit.id, *compared])
    rows = {(row.host, row.fact): row for row in store.differing(audit.id, first)}
    return Differed(rows, last, kept, last is not None and store.differing_known(last.id))
