"""What most hosts have, as a draft of what should be: YAML, group by group."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .model import AuditHead

if TYPE_CHECKING:
    from .store import CensusRow

__all__ = ["text"]

_LEAST = 5


def text(census: Iterable[CensusRow], audit: AuditHead, share: float) -> str:
    """Group -> hardware -> fact -> value, for every config fact that ``share`` of at least 5 hosts agree on. JSON
    scalars are YAML."""
    from tunecheck.facts.registry import entry_of

    counts: dict[tuple[str, str, str], list[tuple[int, str, Any]]] = defaultdict(list)
    for row in census:
        counts[row.group, row.hardware, row.fact].append((row.count, json.dumps(row.value, sort_keys=True), row.value))
    when = time.strftime("%Y-%m-%d", time.gmtime(audit.started))
    lines = [f"# What at least {share:.0%} of the hosts of a group and hardware have in audit #{audit.id} ({when}).",
             "# A majority can be wrong: read it, then state what you want in box_spec."]
    at: tuple[str, str] | None = None
    left = 0
    for (group, hardware, fact), found in sorted(counts.items()):
        entry = entry_of(fact)
        if entry is not None and entry.kind != "config":
            continue
        total = sum(count for count, _, _ in found)
        count, value, _ = min(found, key=lambda each: (-each[0], each[1]))
        if total < _LEAST or count < share * total or value == "null":
            left += total < _LEAST or count < share * total
            continue
        if (group, hardware) != at:
            lines += [f"{json.dumps(group)}:"] if at is None or at[0] != group else []
            lines.append(f"  {json.dumps(hardware)}:")
            at = (group, hardware)
        lines.append(f"    {json.dumps(fact)}: {value}  # {count} of {total}")
    if at is None:
        lines.append(f"{{}}  # no group has {_LEAST} hosts that agree")
    if left:
        lines.append(f"# {left} facts have no such majority, or fewer than {_LEAST} hosts: not listed")
    return "\n".join(lines) + "\n"
