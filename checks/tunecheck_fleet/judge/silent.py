"""Silent hosts count as they were last heard: who says nothing any more has not mended anything, and has not changed
what most of the others have.

That holds only where most had theirs already then: that the others moved since is no difference that was seen, and
nobody knows whether the silent host moved with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..model import AuditHead
from ..store.rows import CensusRow, Outlier
from .options import SPLIT, JudgeOptions
from .view import Host, canon

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["without_left"]


def without_left(store: Store, hosts: Iterable[Host], census: list[CensusRow], outliers: list[Outlier],
                 audit: AuditHead, options: JudgeOptions) -> tuple[list[CensusRow], list[Outlier]]:
    """The census and the outliers, without the silent hosts in those facts in which the others left them."""
    last = {host.host: host.last_ok for host in hosts if not host.answered and host.last_ok is not None}
    silent: dict[tuple[str, str, str], list[Outlier]] = defaultdict(list)
    for row in outliers if last else ():
        if row.host in last:
            silent[row.group, row.hardware, row.fact].append(row)
    left: Counter[tuple[str, str, str, str]] = Counter()
    gone = set()
    for key, rows in silent.items():
        share = options.share if rows[0].count >= options.share * rows[0].total else SPLIT
        changes = store.changes(min(last[row.host] for row in rows), audit.id, {key[2]})
        for row in rows:
            moved = {change.host for change in changes if change.since.seen > last[row.host]
                     and change.group == row.group and canon(change.value) == canon(row.majority)}
            if row.count - len(moved) < share * row.total:
                left[(*key, canon(row.value))] += 1
                gone.add((row.host, row.fact))
    if not gone:
        return census, outliers
    counted = (row._replace(count=row.count - left[row.group, row.hardware, row.fact, canon(row.value)])
               for row in census)
    return ([row for row in counted if row.count],
            [row for row in outliers if (row.host, row.fact) not in gone])
