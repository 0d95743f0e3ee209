"""Who the boxes are: two that say they are one (a cloned image), and one name that is another machine now."""

from __future__ import annotations

from collections import defaultdict

from .rows import RANK, Row
from .view import Kept, View, canon

__all__ = ["identity", "replaced"]

KEY = "host.key"


def replaced(view: View) -> frozenset[str]:
    """Names behind which another machine stands now."""
    return frozenset(event.host for event in view.events if event.kind == "replaced")


def identity(view: View) -> list[Row]:
    keys: dict[str, set[str]] = defaultdict(set)
    for host in view.hosts:
        if host.key:
            keys[host.key].add(host.host)
    fresh = set()
    for event in view.events:
        if event.kind == "duplicate":
            if view.previous is None or event.audit > view.previous.id:
                fresh.add(event.host)
            key = next((host.key for host in view.hosts if host.host == event.other and host.key), event.other)
            keys[key] |= {event.host, event.other}
    groups = {host.host: host.group for host in view.hosts}
    rows = [Row("identity", "medium", KEY, groups.get(name, ""), name, expected="the machine of before", fix="none",
                value=None, text="replaced: another machine has this name now; its values are compared from here on",
                same="replaced") for name in sorted(replaced(view))]
    shared = [Kept(KEY, key, tuple(sorted(names))) for key, names in sorted(keys.items()) if len(names) > 1]
    # Cloned images share more than one thing: the same hosts are one finding, by the first that gives them away.
    also: dict[tuple[str, ...], list[str]] = {kept.hosts: [] for kept in shared}
    for kept in sorted(view.shared, key=lambda kept: (RANK[view.of(kept.fact).severity], kept.fact, canon(kept.value))):
        if kept.hosts in also:
            also[kept.hosts].append(kept.fact)
        else:
            also[kept.hosts] = []
            shared.append(kept)
    for kept in shared:
        more = sorted({*also[kept.hosts]} - {kept.fact})
        alike = f"; they share {', '.join(more[:3])} too" if more else ""
        severity = "high" if kept.fact == KEY else view.of(kept.fact).severity
        # One of them may be no host of this audit (--limit).
        group = next((groups[name] for name in kept.hosts if name in groups), "")
        for name in kept.hosts:
            known = not fresh & set(kept.hosts) and view.previous is not None
            rows.append(Row(
                "identity", severity, kept.fact, group, name,
                expected="one host", fix="hands-on", value=kept.value, before=kept.value,
                state="known" if known else "new",
                text=f"{len(kept.hosts)} hosts have what only one can have: {_names(kept.hosts)}{alike}",
                same=canon(kept.value)))
    return rows


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
