"""Silent hosts count as they were last heard, and a host that cannot read a fact any more as it read it last: who says
nothing has not mended anything, and has not changed what most of the others have.

That holds only where most had theirs already then: that the others moved since is no difference that was seen, and
nobody knows whether the silent host moved with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from ..model import AuditHead
from ..store.rows import CensusRow, Outlier
from .options import SPLIT, JudgeOptions
from .view import canon
from .view_rows import Host

if TYPE_CHECKING:
    from ..store import Store

__all__ = ["without_left"]


def without_left(store: Store, hosts: Iterable[Host], census: list[CensusRow], outliers: list[Outlier],
                 audit: AuditHead, options: JudgeOptions,
                 still: Collection[tuple[str, str]] = ()) -> tuple[list[CensusRow], list[Outlier]]:
    """The census and the outliers, without the silent hosts in those facts in which the others left them.
    ``still``: (host, fact) that differed before already, and did so whatever the others have now."""
    heard = {host.host: host.last_ok for host in hosts if not host.answered and host.last_ok is not None}
    silent: dict[tuple[str, str, str], list[tuple[Outlier, int]]] = defaultdict(list)
    for row in outliers:
        last = row.told or heard.get(row.host)
        if last is not None:
            silent[row.group, row.hardware, row.fact].append((row, last))
    left: Counter[tuple[str, str, str, str]] = Counter()
    gone = set()
    for key, rows in silent.items():
        one = rows[0][0]
        share = options.share if one.count >= options.share * one.total else SPLIT
        changes = store.changes(min(last for _, last in rows), audit.id, {key[2]})
        for row, last in rows:
            moved = {change.host for change in changes if change.since.seen > last
                     and change.group == row.group and canon(change.value) == canon(row.majority)}
            if row.count - len(moved) < share * row.total and (row.host, row.fact) not in still:
                left[(*key, canon(row.value))] += 1
                gone.add((row.host, row.fact))
    if not gone:
        return census, outliers
    counted = (row._replace(count=row.count - left[row.group, row.hardware, row.fact, canon(row.value)])
               for row in census)
    return ([row for row in counted if row.count],
            [row for row in outliers if (row.host, row.fact) not in gone])
